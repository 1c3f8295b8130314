"""The names in TypeScript declarations. Enough of a parser for what a compiler has written."""

import re
from pathlib import Path


def exports(text: str) -> set[str]:
    """What a module exports by name, types among them."""
    text = _strip(text)
    lists = re.findall(r"export (?:type )?\{([^}]*)\}", text)
    listed = {name.strip() for group in lists for name in group.split(",")}
    declared = re.findall(
        r"export (?:declare )?(?:type|function|class|const|interface) (\w+)", text
    )
    return {name.removeprefix("type ").strip() for name in listed if name} | set(declared)


def members(text: str, name: str) -> set[str]:
    """The public members of an interface, a class or an object type that is exported."""
    text = _strip(text)
    found = re.search(rf"export (?:declare )?(?:interface|type|class) {name}\b", text)
    assert found is not None, name
    depth, names = 0, set()
    for line in _block(text, found.end()).splitlines():
        member = re.match(r"\s*(?:readonly |get )?(\w+)\??\s*[:(<]", line)
        if depth == 0 and member is not None and not line.strip().startswith("private"):
            names.add(member[1])
        depth += sum(line.count(char) for char in "{([") - sum(line.count(char) for char in "})]")
    return names


def event_names(text: str) -> set[str]:
    """The `type` of each member of the union `SessionEvent`."""
    text = _strip(text)
    union = re.search(r"export type SessionEvent =(.*?);", text, re.DOTALL)
    assert union is not None
    names = set()
    for interface in re.findall(r"\w+", union[1]):
        found = re.search(rf"export interface {interface} \{{", text)
        assert found is not None, interface
        kind = re.search(r'^    type: "([^"]+)"', _block(text, found.start()), re.MULTILINE)
        assert kind is not None, interface
        names.add(kind[1])
    return names


def read(folder: Path, name: str) -> str:
    return (folder / name).read_text(encoding="utf-8")


def _strip(text: str) -> str:
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def _block(text: str, start: int) -> str:
    """What stands between the next brace and the one that closes it."""
    start = end = text.index("{", start) + 1
    depth = 1
    while depth:
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    return text[start : end - 1]
