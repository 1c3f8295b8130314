"""What a saved file means: new code, a new page, or nothing. And which folders to look at.

Decides by paths alone; only `list_folders` and `drop_bytecode` touch the disk.
"""

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from canvas_provider.types import JSONObject

__all__ = ["Changes", "Sources", "drop_bytecode", "list_folders"]

MAX_FOLDERS: Final = 500
"""Watched at most: somebody may try a file that lies in their home folder."""

SKIPPED: Final = frozenset({"__pycache__", "artifacts", "build", "dist", "node_modules"})
"""Folders without anything that an author edits; dot folders and virtual environments, too."""

PAGE_SUFFIXES: Final = frozenset(
    {".css", ".gif", ".htm", ".html", ".jpg", ".js", ".mjs", ".png", ".svg", ".webp"}
)
"""What is a page's where the extension does not tell which folder is."""


class Changes(NamedTuple):
    """Saved files that matter."""

    code: list[Path]
    pages: list[Path]


@dataclass(frozen=True, slots=True)
class Sources:
    """What an extension is made of. Every path is resolved."""

    script: Path
    modules: frozenset[Path] = frozenset()
    """What it has imported that somebody may be editing, the script included."""
    pages: tuple[Path, ...] | None = None
    """Folders and files; None: it did not tell."""

    @classmethod
    def of(cls, script: Path, told: JSONObject) -> "Sources":
        """Put together what is known: `told` is a `SourcesResult`, or empty."""
        modules, pages = told.get("modules"), told.get("pages")
        return cls(
            script.resolve(),
            frozenset(_paths(modules)),
            tuple(_paths(pages)) if isinstance(pages, list) else None,
        )

    @property
    def roots(self) -> set[Path]:
        """The folders that belong to the extension with all that is below, and single pages."""
        return {self.script.parent, *(self.pages or ())}

    @property
    def single_folders(self) -> set[Path]:
        """Folders of which only the files themselves may matter."""
        return {path.parent for path in (*self.modules, *(self.pages or ()))}

    def sort(self, paths: Iterable[Path]) -> Changes:
        """Sort out which of the saved files are code, which belong to a page, and drop the rest."""
        code, pages = [], []
        for path in sorted(paths):
            if self._is_code(path):
                code.append(path)
            elif self._is_page(path):
                pages.append(path)
        return Changes(code, pages)

    def _is_code(self, path: Path) -> bool:
        if path in self.modules:
            return True
        is_test = path.name == "conftest.py" or path.name.startswith("test_")
        is_ours = path.suffix == ".py" and path.is_relative_to(self.script.parent)
        return is_ours and not is_test and not _is_hidden(path, self.script.parent)

    def _is_page(self, path: Path) -> bool:
        if path.suffix == ".py" or path.name.endswith(("~", ".tmp", ".swp")):
            return False
        if self.pages is None:
            folder = self.script.parent
            is_below = path.is_relative_to(folder) and not _is_hidden(path, folder)
            return is_below and path.suffix in PAGE_SUFFIXES
        return any(path.is_relative_to(page) and not _is_hidden(path, page) for page in self.pages)


def list_folders(sources: Sources) -> set[Path]:
    """Return the folders in which a file may be saved that matters."""
    found: set[Path] = set()
    for root in sorted(sources.roots):
        for folder in _walk(root):
            if len(found) < MAX_FOLDERS:
                found.add(folder)
    return found | {folder for folder in sources.single_folders if folder.is_dir()}


def drop_bytecode(paths: Collection[Path]) -> None:
    """Have these modules compiled anew.

    Python takes its compiled file for up to date if the source has the same size and was changed
    in the same second, which saving twice in a row makes easy.
    """
    for path in paths:
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
            with suppress(OSError):
                compiled.unlink()


def _walk(root: Path) -> Iterator[Path]:
    """Yield `root` and what is below it, the upper folders first."""
    level = [root] if root.is_dir() else []
    while level:
        yield from level
        level = [folder for parent in level for folder in _subfolders(parent)]


def _subfolders(parent: Path) -> list[Path]:
    try:
        entries = sorted(os.scandir(parent), key=lambda entry: entry.name)
    except OSError:
        return []
    return [
        Path(entry.path)
        for entry in entries
        if entry.is_dir(follow_symlinks=False)
        and entry.name not in SKIPPED
        and not entry.name.startswith(".")
        and not os.path.exists(os.path.join(entry.path, "pyvenv.cfg"))
    ]


def _is_hidden(path: Path, root: Path) -> bool:
    parts = path.relative_to(root).parts
    return any(part.startswith(".") or part in SKIPPED for part in parts)


def _paths(given: object) -> Iterator[Path]:
    items = given if isinstance(given, list) else []
    return (Path(item).resolve() for item in items if isinstance(item, str))
