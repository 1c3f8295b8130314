"""What an author hands to `install`: which files are the extension, and what it is called."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from canvas_provider.errors import CanvasProviderError

__all__ = [
    "SCRIPT",
    "SHIM",
    "InstallError",
    "checked_name",
    "default_name",
    "is_our_shim",
    "read_source",
    "wanted_files",
]

SHIM: Final = "extension.mjs"
SCRIPT: Final = "extension.py"

MARK: Final = "// Installed by canvas-provider"
"""How each of our shims begins."""


class InstallError(CanvasProviderError):
    """The extension cannot be installed as asked; nothing was changed."""


def default_name(source: Path) -> str:
    """The file's name for `board.py`; the folder's for `board/` and `board/extension.py`."""
    if source.suffix == ".py" and source.name != SCRIPT:
        return source.stem
    folder = source.parent if source.name == SCRIPT else source
    return folder.resolve().name


def checked_name(name: str) -> str:
    """Refuse what is no name of a visible folder on some system. Copilot takes all others."""
    is_plain = name.isprintable() and not set(name) & set('/\\:*?"<>|')
    if not is_plain or not name.strip() or name.startswith(".") or name.endswith((".", " ")):
        raise InstallError(f"{name!r} cannot be an extension's name: choose one with --name.")
    return name


def read_source(source: Path, destination: Path, *, link: bool) -> dict[str, Path]:
    """What to place: the POSIX path within the extension, and where it is now.

    Empty where the source is in place already. With `link`, folders are entries of their own.

    Raises:
        InstallError: there is no extension, or it cannot go there.
    """
    if source.is_file() and source.suffix == ".py":
        _check_syntax(source)
        in_place = source.resolve() == (destination / SCRIPT).resolve()
        return {} if in_place else {SCRIPT: source}
    if not source.is_dir():
        what = "is no .py file" if source.exists() else "does not exist"
        raise InstallError(f"{source} {what}: name a .py file, or a folder with {SCRIPT}.")
    if not (source / SCRIPT).is_file():
        raise InstallError(f"{source} has no {SCRIPT}: name the .py file itself, or rename it.")
    if (source / SHIM).exists() and not is_our_shim(source / SHIM):
        raise InstallError(f"{source / SHIM} is not ours, and ours has to have that name: move it.")
    _check_syntax(source / SCRIPT)
    real, target = source.resolve(), destination.resolve()
    if real == target:
        return {}
    if target.is_relative_to(real) or real.is_relative_to(target):
        raise InstallError(f"{source} and {destination} are one inside the other: move the source.")
    if link:
        return {path.name: path for path in source.iterdir() if _is_wanted(path)}
    return dict(wanted_files(source))


def wanted_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Every file of an extension: its POSIX path within `folder`, and its path."""
    yield from _walk(folder, PurePosixPath(), frozenset({folder.resolve()}))


def is_our_shim(path: Path) -> bool:
    try:
        return path.read_bytes().startswith(MARK.encode())
    except OSError:
        return False


def _walk(
    folder: Path, prefix: PurePosixPath, inside: frozenset[Path]
) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.iterdir()):
        if not _is_wanted(path):
            continue
        if path.is_file():
            yield str(prefix / path.name), path
        elif path.is_dir():
            real = path.resolve()
            if real in inside:
                raise InstallError(f"{path} is a link to a folder that it is in: remove it.")
            yield from _walk(path, prefix / path.name, inside | {real})
        elif path.is_symlink():
            raise InstallError(f"{path} is a link that leads nowhere: mend or remove it.")


def _is_wanted(path: Path) -> bool:
    """Leave out what is hidden (caches and secrets often are), generated, or ours to write."""
    if path.name.startswith(".") or path.name in (SHIM, "__pycache__", "node_modules"):
        return False
    return path.suffix != ".pyc" and not (path / "pyvenv.cfg").exists()


def _check_syntax(script: Path) -> None:
    try:
        compile(script.read_bytes(), str(script), "exec", dont_inherit=True)
    except SyntaxError as exc:
        raise InstallError(f"{script}, line {exc.lineno}: {exc.msg}.") from None
    except ValueError as exc:
        raise InstallError(f"{script} is no Python source: {exc}.") from None
