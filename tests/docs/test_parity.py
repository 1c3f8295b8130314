"""The parity table names all that the Node SDK has, and nothing of ours that is not there."""

import inspect
import re
from pathlib import Path
from typing import Any, Final

import pytest

import canvas_provider
from canvas_provider import Tool
from canvas_provider.canvas.view import ModelOptions, SendOptions
from canvas_provider.errors import Unsupported
from canvas_provider.session.options import JoinOptions
from tests.support.copilot import create_cli
from tests.support.declarations import event_names, exports, members, read
from tests.support.extension import write_extension
from tests.support.require import ROOT, require_node_sdk

PAGE: Final = (ROOT / "docs" / "reference" / "parity.md").read_text(encoding="utf-8")
SECTIONS: Final = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
ROW: Final = re.compile(r"^\| (`.+?`) \| (.+?) \| (.*?) ?\|$", re.MULTILINE)
STATUS: Final = {"have", "differs", "as it is", "no"}

TYPES: Final = {
    "joinSession": ("SessionConfigBase", "ResumeSessionConfig"),
    "Hooks": ("SessionHooks",),
    "session.ui": ("SessionUiApi",),
    "Messages": ("MessageOptions",),
    "Tools": ("Tool",),
    "ToolInvocation": ("ToolInvocation",),
    "Tool results": ("ToolResultObject",),
    "Commands": ("CommandDefinition", "CommandContext"),
}
"""Which types of `types.d.ts` a section is about."""

OPTIONS: Final = {
    "join_session": JoinOptions.__annotations__,
    "Session.send": SendOptions.__annotations__,
    "Session.set_model": ModelOptions.__annotations__,
    "tool": inspect.signature(Tool).parameters,
}
"""Keyword arguments that are declared apart from the function."""

FUNCTIONS: Final = {"join_session", "run", "create_canvas", "tool", "command"}

WHERE = """
import os
from canvas_provider import create_canvas, run

canvas = create_canvas(id="where", display_name="Where", description="Says where the SDK is.")

@canvas.action
async def sdk() -> str:
    "Name the folder."
    return os.environ["COPILOT_SDK_PATH"]

if __name__ == "__main__":
    run(canvas)
"""


def rows(section: str) -> list[tuple[list[str], str, str]]:
    found = ROW.findall(SECTIONS[section])
    return [(re.findall(r"`(\w+)`", names), status, here) for names, status, here in found]


def named(section: str) -> set[str]:
    return {name for names, _, _ in rows(section) for name in names}


def missing(sdk: Path) -> dict[str, set[str]]:
    """What an SDK has and the page does not name, by section."""
    types = read(sdk, "types.d.ts")
    extension = read(sdk, "extension.d.ts")
    wanted = {
        section: set().union(*(members(types, name) for name in names))
        for section, names in TYPES.items()
    }
    wanted["joinSession"] |= members(extension, "JoinSessionConfig")
    wanted["Exports"] = exports(extension)
    wanted["CopilotSession"] = members(read(sdk, "session.d.ts"), "CopilotSession")
    left = {section: names - named(section) for section, names in wanted.items()}
    events = event_names(read(sdk, "generated/session-events.d.ts"))
    left["Events"] = events - set(re.findall(r"`([\w.]+)`", SECTIONS["Events"]))
    return {section: names for section, names in left.items() if names}


@pytest.mark.copilot
@pytest.mark.process
async def test_the_table_names_everything_that_the_clis_own_sdk_has(tmp_path: Path) -> None:
    async with create_cli(tmp_path) as cli:
        cli.install(write_extension(tmp_path, "where", WHERE))
        session = await cli.create_session()
        await session.wait_listed("where")
        await session.open("where", "one")
        sdk = Path(await session.invoke("one", "sdk"))
    assert missing(sdk) == {}


def test_the_table_names_everything_that_npms_sdk_has() -> None:
    assert missing(require_node_sdk()) == {}


def test_each_row_is_decided_and_says_why() -> None:
    for section in SECTIONS:
        for names, status, here in rows(section):
            assert names and status in STATUS, (section, names)
            assert here or status == "as it is", (section, names)


def ours() -> set[str]:
    """Every name of ours that the table promises: `Session.send`, `tool(name=)`, and so on."""
    promised = (here for section in SECTIONS for _, _, here in rows(section))
    names = {name for here in promised for name in re.findall(r"`([\w.]+(?:\(\w+=\))?)`", here)}
    # What else is set as code is lower case: a word of the wire, or a method of `session.ui`.
    return {name for name in names if name[0].isupper() or "(" in name or name in FUNCTIONS}


@pytest.mark.parametrize("name", sorted(ours()))
def test_what_the_table_names_of_ours_is_there(name: str) -> None:
    path, _, argument = name.partition("(")
    found: Any = Unsupported if path == "Unsupported" else canvas_provider
    for part in path.split(".") if found is canvas_provider else ():
        assert hasattr(found, part) or part in members_of(found), name
        found = getattr(found, part, None)
    if argument:
        known = {*inspect.signature(found).parameters, *OPTIONS.get(path, ())}
        assert argument.removesuffix("=)") in known


def members_of(owner: Any) -> set[str]:
    """What is set when an object is made: it is no attribute of the class."""
    source = inspect.getsource(owner)
    return set(re.findall(r"self\.(\w+)\b", source)) | set(getattr(owner, "__annotations__", {}))
