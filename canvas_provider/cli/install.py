"""`canvas-provider install`: put an extension where Copilot finds it."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

import click

from canvas_provider.cli.installation import Installed, git_root, install_extension
from canvas_provider.cli.source import SHIM, InstallError
from canvas_provider.config import copilot_home

__all__ = ["install"]

FOLDER = click.Path(file_okay=False, exists=True, path_type=Path)


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--project", type=FOLDER, help="The project to install into. [default: this one]")
@click.option("--user", is_flag=True, help="Install for all your projects instead.")
@click.option("--link", is_flag=True, help="Link the files: edits show at the next reload.")
@click.option("--force", is_flag=True, help="Replace what we did not install, and keep a copy.")
@click.option("--name", help="The extension's name. [default: that of the folder or file]")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def install(
    path: Path,
    project: Path | None,
    user: bool,
    link: bool,
    force: bool,
    name: str | None,
    as_json: bool,
) -> None:
    """Install PATH, a .py file or a folder with extension.py, as a Copilot extension.

    It is copied into .github/extensions/NAME of the project, beside a small extension.mjs that
    starts it with the Python that runs this command. Install again to update it.
    """
    if user and project is not None:
        raise click.UsageError("Give --project or --user, not both.")
    try:
        if not sys.executable:
            raise InstallError("This Python does not know its own path: run it by its full path.")
        installed = install_extension(
            path,
            _user_extensions() if user else _project(project) / ".github" / "extensions",
            python=sys.executable,
            name=name,
            link=link,
            force=force,
        )
    except (InstallError, OSError) as exc:
        text = f"{exc.filename or path}: {exc.strerror}." if isinstance(exc, OSError) else str(exc)
        if as_json:
            click.echo(json.dumps({"error": {"code": "not_installed", "message": text}}))
            raise SystemExit(1) from None
        raise click.ClickException(text) from None
    click.echo(_to_json(installed) if as_json else _to_text(installed, path, user=user))


def _user_extensions() -> Path:
    return copilot_home() / "extensions"


def _project(given: Path | None) -> Path:
    root = given if given is not None else git_root(Path.cwd())
    if root is None:
        raise InstallError(
            "This folder is in no git repository: name the project with --project DIR, "
            "or install for all your projects with --user."
        )
    return root


def _to_json(installed: Installed) -> str:
    return json.dumps(asdict(installed), default=str)


def _to_text(installed: Installed, path: Path, *, user: bool) -> str:
    lines = [
        f"Installed {installed.name} in {installed.folder}",
        f"It runs with {installed.python}",
    ]
    if installed.removed:
        lines.append(f"Removed, as it is no longer in the source: {', '.join(installed.removed)}")
    if installed.replaced:
        lines.append(f"Replaced: {', '.join(installed.replaced)}")
        lines.append(f"What was there is kept in {installed.backup}")
    if beside := _left_behind(path):
        lines.append(
            f"Only {path.name} was taken, not the {beside} other entries of its folder: "
            "to take them too, install the folder."
        )
    if not user and (_user_extensions() / installed.name / SHIM).exists():
        lines.append(
            f"There is a user extension {installed.name}, too: Copilot starts both, and what "
            "both declare becomes ambiguous."
        )
    where = "" if user else " in the project"
    lines.append(f"Start Copilot{where}, or have a running one reload its extensions.")
    return "\n".join(lines)


def _left_behind(path: Path) -> int:
    if not path.is_file():
        return 0
    beside = (entry.name for entry in path.absolute().parent.iterdir())
    hidden = ("__pycache__", path.name)
    return sum(not name.startswith(".") and name not in hidden for name in beside)
