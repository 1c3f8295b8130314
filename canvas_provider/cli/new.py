"""`canvas-provider new`: begin a canvas with one that works, is tested, and keeps its state."""

import json
import re
import shlex
import shutil
import sys
import tempfile
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Final

import click

from canvas_provider.cli.installation import install_extension
from canvas_provider.cli.source import InstallError, checked_name

__all__ = ["new"]

TEMPLATES: Final = ("blank", "board", "chart", "form")

MANIFEST: Final = "copilot-extension.json"
MANIFEST_VERSION: Final = 1
"""Of the manifest's format, not of the extension: a text such as "1.0.0" stops the discovery."""


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--template",
    type=click.Choice(TEMPLATES),
    default="blank",
    show_default=True,
    help="What to begin with.",
)
@click.option("--title", help="What people call it. [default: the folder's name in words]")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def new(path: Path, template: str, title: str | None, as_json: bool) -> None:
    """Make a folder PATH with a working canvas: code, page, test and README.

    Its name is the extension's. It can be run, tested and installed as it is. Made in
    .github/extensions of a project, it is installed already.
    """
    try:
        files = create_extension(path, template, title)
    except (InstallError, OSError) as exc:
        text = f"{exc.filename or path}: {exc.strerror}." if isinstance(exc, OSError) else str(exc)
        if as_json:
            click.echo(json.dumps({"error": {"code": "not_created", "message": text}}))
            raise SystemExit(1) from None
        raise click.ClickException(text) from None
    if as_json:
        click.echo(json.dumps({"folder": str(path.absolute()), "files": files}))
    else:
        click.echo(_to_text(path, files))


def create_extension(path: Path, template: str, title: str | None = None) -> list[str]:
    """Make the folder `path`, entirely or not at all, and return the names of its files.

    Raises:
        InstallError: its name cannot be an extension's, or there is something already.
        OSError: it cannot be written.
    """
    folder = path.absolute()
    name = checked_name(folder.name)
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise InstallError(f"{path} is there already: choose another name, or remove it.")
    shown = " ".join((title or name.replace("-", " ").replace("_", " ").capitalize()).split())
    # Each stands in Python strings, in HTML and in Markdown, so what is special there is left out.
    words = {"__ID__": _slug(name), "__NAME__": name, "__TITLE__": re.sub(r'["\\<>&|`]', "", shown)}
    with _staged(folder) as stage:
        for source in _files_of(template):
            text = source.read_text(encoding="utf-8")
            for token, word in words.items():
                text = text.replace(token, word)
            (stage / source.name).write_text(text, encoding="utf-8")
        manifest = {"name": name, "version": MANIFEST_VERSION}
        (stage / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
        # In place: the shim, and what belongs to this machine, which git is told to ignore.
        install_extension(stage, stage.parent, python=sys.executable, name=stage.name)
    return sorted(entry.name for entry in folder.iterdir() if entry.name != "__pycache__")


def _files_of(template: str) -> list[Path]:
    root = Path(str(resources.files("canvas_provider.cli"))) / "templates"
    return [root / "README.md", *(file for file in (root / template).iterdir() if file.is_file())]


@contextmanager
def _staged(folder: Path) -> Iterator[Path]:
    """A folder beside the future one, which takes its place when nothing was raised."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    outer = Path(tempfile.mkdtemp(prefix=".creating-", dir=folder.parent))
    try:
        stage = outer / folder.name
        stage.mkdir()
        yield stage
        if folder.exists():
            folder.rmdir()  # it is empty
        stage.rename(folder)
    finally:
        shutil.rmtree(outer, ignore_errors=True)


def _slug(name: str) -> str:
    """Make a canvas id: `Über board` becomes `uber-board`."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return "-".join(re.findall("[a-z0-9]+", plain)) or "canvas"


def _to_text(path: Path, files: list[str]) -> str:
    shown = ", ".join(name for name in files if not name.startswith("."))
    there = shlex.quote(str(path))
    return "\n".join(
        [
            f"Made {path} with {shown}.",
            "",
            f"  canvas-provider dev {there}        try it in the browser",
            f"  cd {there} && pytest               test it",
            f"  canvas-provider install {there}    put it into Copilot",
        ]
    )
