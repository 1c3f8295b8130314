"""Place an extension where Copilot finds it, so that nothing is ever half there or lost.

The one idea: the whole new content is staged first, on the destination's file system. Then it
moves in, file by file; what it takes the place of is moved aside first, and every move is taken
back if one fails. Files that we did not put there (a store's data, an author's notes) are never
touched, and what somebody edited since is replaced only by force, with a copy kept.

What may be committed holds no path of this machine: the interpreter and the list of what was
installed are in `.canvas-provider.json`, which the `.gitignore` beside it names.
"""

import compileall
import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from pathlib import Path, PurePath, PurePosixPath
from typing import Final

from canvas_provider.cli.source import (
    SHIM,
    InstallError,
    checked_name,
    default_name,
    is_our_shim,
    read_source,
    wanted_files,
)

__all__ = ["Installed", "git_root", "install_extension"]

RECORD: Final = ".canvas-provider.json"
IGNORE: Final = ".gitignore"
BACKUPS: Final = ".replaced"
"""Beside the extensions. Copilot looks one folder deep, so nothing in it is ever started."""

ENTRIES: Final = ("extension.mjs", "extension.cjs", "extension.js")
"""What makes a folder an extension (observed with Copilot CLI 1.0.102)."""

IGNORED_HERE: Final = [
    "# Written by canvas-provider install: what belongs to this machine.",
    RECORD,
    "__pycache__/",
]
IGNORED_WHOLLY: Final = [
    "# Written by canvas-provider install: the links beside this file lead out of the project.",
    "*",
]

Files = dict[str, str]
"""Each installed path (POSIX, within the extension) and what was there: see `_fingerprint`."""


@dataclass(frozen=True, slots=True)
class Installed:
    """What an install did. Paths in the lists are within `folder`."""

    name: str
    folder: Path
    python: str
    files: list[str]
    removed: list[str]
    """Installed the last time, and no longer in the source."""
    replaced: list[str]
    """Not ours, or edited since; replaced by force."""
    backup: Path | None
    """Where the replaced is now."""


def install_extension(
    source: Path,
    extensions: Path,
    *,
    python: str,
    name: str | None = None,
    link: bool = False,
    force: bool = False,
) -> Installed:
    """Install `source` as `extensions`/`name`.

    Args:
        source: A `.py` file, which becomes `extension.py`, or a folder with `extension.py`.
        extensions: The folder in which Copilot looks for extensions.
        python: The interpreter that is to run it, an absolute path.
        name: Default: the name of the folder or file.
        link: Place symbolic links instead of copies.
        force: Replace what we did not install, and keep a copy.

    Raises:
        InstallError: the text says what is in the way and what to do.
    """
    source = source.absolute()
    name = checked_name(default_name(source) if name is None else name)
    destination = extensions.absolute() / name
    content = read_source(source, destination, link=link)
    if not content:  # in place already: the shim, the record and the byte code are renewed
        destination = destination.resolve()
    with _staging(destination.parent) as stage:
        files = _stage(content, stage, destination, link=link)
        record = files or _recorded(destination)
        _stage_own(stage, destination, python, record)
        placing = _Placing(stage, destination, files, force=force)
        placing.run()
    _compile(destination)
    return Installed(
        name=name,
        folder=destination,
        python=python,
        files=sorted(record),
        removed=placing.removed,
        replaced=placing.replaced,
        backup=placing.backup,
    )


def git_root(folder: Path) -> Path | None:
    """The root of the git work tree that `folder` is in, or None."""
    real = folder.resolve()
    return next((at for at in (real, *real.parents) if (at / ".git").exists()), None)


# Staging


@contextlib.contextmanager
def _staging(extensions: Path) -> Iterator[Path]:
    """A folder on the destination's file system, two deep so that Copilot never starts from it."""
    created = [folder for folder in (extensions, *extensions.parents) if not folder.exists()]
    try:
        extensions.mkdir(parents=True, exist_ok=True)
        outer = Path(tempfile.mkdtemp(prefix=".installing-", dir=extensions))
    except OSError as exc:
        raise InstallError(f"{extensions} cannot be written: {exc.strerror}.") from exc
    try:
        (outer / "new").mkdir()
        yield outer / "new"
    except OSError as exc:
        raise InstallError(f"{exc.filename or extensions}: {exc.strerror}.") from exc
    finally:
        shutil.rmtree(outer, ignore_errors=True)
        for folder in created:
            with contextlib.suppress(OSError):
                folder.rmdir()  # succeeds only where nothing was installed


def _stage(content: Mapping[str, Path], stage: Path, destination: Path, *, link: bool) -> Files:
    for relative, path in content.items():
        target = stage / relative
        if link:
            target.symlink_to(_link_text(path, destination), target_is_directory=path.is_dir())
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)
    return {relative: _fingerprint(stage / relative) for relative in content}


def _link_text(path: Path, destination: Path) -> str:
    """Within one project a relative path, which may be committed; else an absolute one."""
    folder = destination.parent.resolve() / destination.name
    project = git_root(folder)
    if project is not None and path.resolve().is_relative_to(project):
        return os.path.relpath(path.resolve(), folder)
    return str(path)


def _stage_own(stage: Path, destination: Path, python: str, files: Files) -> None:
    """The shim, the record, and what git is to ignore (beside what an author has it ignore)."""
    shim = resources.files("canvas_provider.cli") / "shim" / SHIM
    (stage / SHIM).write_bytes(shim.read_bytes())
    record = {"format": 1, "python": python, "files": files}
    (stage / RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    leads_out = any(mark.startswith("link:") and os.path.isabs(mark[5:]) for mark in files.values())
    ours = IGNORED_WHOLLY if leads_out else IGNORED_HERE
    ignore, kept = destination / IGNORE, list[str]()
    if ignore.is_file():
        # git reads bytes, and so whatever these are: they are written back as they were.
        lines = ignore.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        kept = [line for line in lines if line not in (*IGNORED_HERE, *IGNORED_WHOLLY)]
    text = "\n".join([*kept, *ours]) + "\n"
    (stage / IGNORE).write_text(text, encoding="utf-8", errors="surrogateescape")


def _fingerprint(path: Path) -> str:
    """Tell one content of a path from another; empty where there is none."""
    if path.is_symlink():
        return f"link:{os.readlink(path)}"
    if path.is_file():
        return f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
    return "folder" if path.is_dir() else ""


def _recorded(destination: Path) -> Files:
    """What the last install put there; empty where there was none, or git did not bring it."""
    try:
        record = json.loads((destination / RECORD).read_text(encoding="utf-8"))
        files = record["files"].items()
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}
    return {path: mark for path, mark in files if isinstance(mark, str) and _is_within(path)}


def _is_within(path: str) -> bool:
    # By this system's rules: elsewhere a backslash, or a drive, leads out as well.
    parts = PurePath(path).parts
    return bool(parts) and ".." not in parts and not PurePath(path).anchor


# Placing


class _Placing:
    """The moves from the stage to the destination: all of them, or none."""

    def __init__(self, stage: Path, destination: Path, files: Files, *, force: bool) -> None:
        self._stage = stage
        self._destination = destination
        self._files = files
        self._force = force
        self._aside = stage.parent / "old"
        self._moved: list[tuple[Path, Path]] = []
        self.removed: list[str] = []
        self.replaced: list[str] = []
        self.backup: Path | None = None

    def run(self) -> None:
        steps = self._plan()
        try:
            for origin, target in steps:
                self._move(origin, target)
        except BaseException:
            self._take_back()
            raise

    def _plan(self) -> Iterator[tuple[Path, Path]]:
        """Decide everything before the first move."""
        if _is_foreign(self._destination):
            self._allow([f"{self._destination.name}/"], "is not an extension of ours")
            self.backup = self._new_backup()
            return iter([(self._destination, self.backup), (self._stage, self._destination)])
        if not self._destination.exists():
            return iter([(self._stage, self._destination)])
        old = _recorded(self._destination) if self._files else {}
        stale = sorted(old.keys() - self._files.keys())
        changed = {path for path in (*self._files, *stale) if self._is_changed(path, old)}
        changed |= {path for path in map(self._obstacle, self._files) if path and path not in old}
        self._allow(sorted(changed), "was changed since, or is not from us")
        if self.replaced:
            self.backup = self._new_backup()
        self.removed = [path for path in stale if path not in self.replaced]
        return self._moves()

    def _allow(self, paths: list[str], why: str) -> None:
        if paths and not self._force:
            raise InstallError(
                f"In {self._destination.parent}, {_several(paths)} {why}. "
                "Nothing was changed: choose another --name, or replace it with --force, "
                "which keeps a copy."
            )
        self.replaced = paths

    def _is_changed(self, path: str, old: Files) -> bool:
        """What is there is neither as we left it nor as we would leave it."""
        there = self._destination / path
        if self._obstacle(path):
            return False
        if there.is_dir() and not there.is_symlink():
            inside = (f"{path}/{relative}" for relative, _ in wanted_files(there))
            return any(relative not in old for relative in inside)
        return _fingerprint(there) not in ("", old.get(path), self._files.get(path))

    def _obstacle(self, path: str) -> str | None:
        """The first part of `path` that is there and is no folder."""
        parents = [str(parent) for parent in reversed(PurePosixPath(path).parents)]
        for parent in parents[1:]:
            there = self._destination / parent
            if there.is_symlink() or (there.exists() and not there.is_dir()):
                return parent
        return None

    def _moves(self) -> Iterator[tuple[Path, Path]]:
        for path in (*self.replaced, *self.removed):
            yield from self._move_aside(path, self._aside if path in self.removed else self.backup)
            _prune((self._destination / path).parent, self._destination)
        # The shim comes last: until then the old one runs the old extension.
        for path in (*self._files, IGNORE, RECORD, SHIM):
            yield from self._move_aside(path, self._aside)
            yield self._stage / path, self._destination / path

    def _move_aside(self, path: str, folder: Path | None) -> Iterator[tuple[Path, Path]]:
        there = self._destination / path
        if folder is not None and os.path.lexists(there) and self._obstacle(path) is None:
            yield there, folder / path

    def _new_backup(self) -> Path:
        stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
        backups = self._destination.parent / BACKUPS
        backups.mkdir(exist_ok=True)
        (backups / IGNORE).write_text("*\n", encoding="utf-8")
        prefix = f"{self._destination.name}-{stamp}-"
        return Path(tempfile.mkdtemp(prefix=prefix, dir=backups)) / self._destination.name

    def _move(self, origin: Path, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        os.rename(origin, target)
        self._moved.append((origin, target))

    def _take_back(self) -> None:
        for origin, target in reversed(self._moved):
            origin.parent.mkdir(parents=True, exist_ok=True)
            os.rename(target, origin)
        if self.backup is not None:
            shutil.rmtree(self.backup.parent, ignore_errors=True)


def _is_foreign(destination: Path) -> bool:
    """An extension that we did not install, or no folder at all."""
    if destination.is_symlink() or (destination.exists() and not destination.is_dir()):
        return True
    found = [destination / entry for entry in ENTRIES if (destination / entry).exists()]
    return any(not is_our_shim(entry) for entry in found)


def _several(paths: list[str]) -> str:
    shown = ", ".join(paths[:3])
    return f"{shown} and {len(paths) - 3} more" if len(paths) > 3 else shown


def _prune(folder: Path, root: Path) -> None:
    """Remove folders that have nothing left in them but byte code."""
    while folder != root:
        shutil.rmtree(folder / "__pycache__", ignore_errors=True)
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent


def _compile(destination: Path) -> None:
    """Without byte code a start takes five times as long. Failing to write it is no failure."""
    for relative, path in wanted_files(destination):
        if relative.endswith(".py"):
            compileall.compile_file(path, quiet=2)
    compileall.compile_dir(Path(__file__).parents[1], quiet=2)
