"""What `canvas-provider doctor` looks at: everything between an extension and a panel that works.

Each function looks at one thing and returns what it found. Nothing is changed; the extension is run
once, as Copilot would, up to its join.
"""

import asyncio
import json
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Final, NamedTuple

from canvas_provider import __version__
from canvas_provider.cli.finding import Finding
from canvas_provider.cli.installation import ENTRIES, RECORD, git_root
from canvas_provider.cli.page_lint import lint_page
from canvas_provider.cli.source import SCRIPT, SHIM, InstallError, is_our_shim, wanted_files
from canvas_provider.config import copilot_home
from canvas_provider.host.workbench import Extension, Workbench
from canvas_provider.protocol.copilot import DiscoveredCanvas

__all__ = ["examine"]

PROBE: Final = (
    "import sys, canvas_provider\n"
    "print('%d.%d.%d' % sys.version_info[:3], canvas_provider.__version__)"
)
PROBE_TIMEOUT: Final = 15.0

STOP_GRACE: Final = 1.0
"""Seconds for the end of the run; Copilot's own at a disconnect."""

SLOW_JOIN: Final = 2.0
"""Seconds. The user's first turn waits for every extension."""

MANIFEST: Final = "copilot-extension.json"
MAX_SHARED_FILE: Final = 1_000_000
MAX_SHARED: Final = 5_000_000
"""Bytes. What Copilot takes when an extension is shared as a gist."""

STDERR_LINES: Final = 8
LOG_LINES: Final = 8
LOGS_SEARCHED: Final = 50
"""The newest ones."""

TROUBLE: Final = re.compile(
    "startup-timeout|startup-failure|exited-before-ready|peer-closed-before-ready|disposition=crash"
)
"""How the log of Copilot CLI 1.0.102 marks a run that failed (observed)."""


def examine(extension: Extension) -> Iterator[Finding]:
    """Examine one extension; its `python` is what runs it where no install has recorded another."""
    folder = extension.script.parent
    python, where = _chosen_python(folder, extension.python)
    interpreter = list(_interpreter(folder, python, where))
    yield from interpreter
    yield from _shim(folder)
    canvas_ids: list[str] = []
    if all(finding.level != "error" for finding in interpreter):
        yield from _dry_run(replace(extension, python=python), canvas_ids)
    yield from _scopes(extension, canvas_ids)
    yield from _page(extension.script)
    yield from _folders(extension)
    yield from _sharing(folder)
    yield from _log(folder)


# The interpreter


def _interpreter(folder: Path, python: str, where: str) -> Iterator[Finding]:
    check = "interpreter"
    try:
        done = subprocess.run(
            [python, "-P", "-c", PROBE],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PROBE_TIMEOUT,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = error.strerror if isinstance(error, OSError) else "it does not answer"
        fix = "Install the extension again with the Python that is to run it."
        yield Finding(check, "error", f"{python} ({where}) cannot be run: {reason}.", fix)
        return
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it failed"])[-1]
        fix = f"Run: {python} -m pip install canvas-provider (it needs Python 3.11 or newer)"
        yield Finding(check, "error", f"{python} ({where}): {last}", fix)
        return
    version, package = done.stdout.split()
    yield Finding(check, "ok", f"{python} ({where}), Python {version}.")
    if package == __version__:
        yield Finding("package", "ok", f"canvas_provider {package}.")
    else:
        text = f"It runs with canvas_provider {package}, and this is {__version__}."
        yield Finding("package", "note", text, "Install the extension again to use this one.")


def _chosen_python(folder: Path, python: str) -> tuple[str, str]:
    """The interpreter that the shim would take first, and who says so."""
    if given := os.environ.get("CANVAS_PROVIDER_PYTHON"):
        return given, "CANVAS_PROVIDER_PYTHON"
    try:
        recorded = json.loads((folder / RECORD).read_text(encoding="utf-8"))["python"]
    except (OSError, ValueError, LookupError, TypeError):
        return python, "the one that runs this command"
    return str(recorded), "recorded at the install"


def _shim(folder: Path) -> Iterator[Finding]:
    """Look at what Copilot starts."""
    others = [name for name in ENTRIES if name != SHIM and (folder / name).exists()]
    for name in others:
        text = f"Copilot may start {name} instead of {SHIM}."
        yield Finding("entry", "warning", text, f"Remove or rename {name}.")
    shim = folder / SHIM
    if not shim.exists():
        text = f"There is no {SHIM} yet, so Copilot does not find it here."
        yield Finding("entry", "note", text, "Put it into Copilot: canvas-provider install PATH")
    elif not is_our_shim(shim):
        text = f"{SHIM} is not ours: Copilot runs that, and not {SCRIPT}."
        yield Finding("entry", "error", text, "Move it, then run: canvas-provider install PATH")
    elif shim.read_bytes() != (resources.files("canvas_provider.cli") / "shim" / SHIM).read_bytes():
        text = f"{SHIM} is of another version of canvas_provider."
        yield Finding("entry", "note", text, "Renew it: canvas-provider install PATH")
    else:
        yield Finding("entry", "ok", f"{SHIM} is the one of this version.")


# The join


def _dry_run(extension: Extension, canvas_ids: list[str]) -> Iterator[Finding]:
    """Start it as Copilot does, up to the join; no canvas is opened, so nothing is stored."""
    before = time.monotonic()
    run = asyncio.run(_join(extension))
    seconds = time.monotonic() - before
    if run.failure:
        text = "\n".join([run.failure, *run.stderr[-STDERR_LINES:]])
        yield Finding("join", "error", text, "Mend that, then run this again.")
        return
    text = f"It joins a session in {seconds:.1f} s."
    if seconds > SLOW_JOIN:
        fix = "Do slow work in on_open or lifespan=: the user's first turn waits for the join."
        yield Finding("join", "warning", text, fix)
    else:
        yield Finding("join", "ok", text)
    for canvas in run.canvases:
        canvas_ids.append(canvas["canvasId"])
        number = len(canvas.get("actions") or [])
        actions = "1 action" if number == 1 else f"{number} actions"
        yield Finding("canvas", "ok", f"{canvas['canvasId']}, with {actions} for the agent.")


class _Run(NamedTuple):
    """How a start of the extension went."""

    failure: str
    """Empty where it has joined."""
    canvases: list[DiscoveredCanvas]
    stderr: list[str]


async def _join(extension: Extension) -> _Run:
    with tempfile.TemporaryDirectory(prefix="canvas-provider-") as workspace:
        bench = Workbench(extension, working_directory=str(Path.cwd()), workspace_path=workspace)
        try:
            await bench.start(open_canvas=False)
            failure = "" if bench.status.phase == "ready" else bench.status.detail
            canvases = bench.runtime.list()
        finally:
            await bench.aclose(STOP_GRACE)
    stderr = [line.text for line in bench.journal.log if line.source == "stderr"]
    return _Run(failure, canvases, stderr)


# Names


def _scopes(extension: Extension, canvas_ids: list[str]) -> Iterator[Finding]:
    """Look for other extensions of the same name, or with a canvas of the same id."""
    own = extension.script.parent.resolve()
    clashes = 0
    for scope, folder in _installed():
        if folder.resolve() == own:
            continue
        if folder.name == extension.name:
            clashes += 1
            text = f"There is a {scope} extension {extension.name}, too, in {folder}."
            fix = "Copilot starts both where it finds both: keep one."
            yield Finding("scope", "warning", text, fix)
        elif shared := sorted(_declared(folder) & set(canvas_ids)):
            clashes += 1
            text = f"The {scope} extension {folder.name} seems to declare {', '.join(shared)}, too."
            fix = "An id that two extensions declare is ambiguous for the agent: give it another."
            yield Finding("scope", "warning", text, fix)
    if not clashes:
        yield Finding("scope", "ok", "No other extension has its name or its canvases.")


def _installed() -> Iterator[tuple[str, Path]]:
    """Every extension that Copilot would find here, with its scope."""
    project = git_root(Path.cwd()) or Path.cwd()
    for scope, root in (
        ("project", project / ".github" / "extensions"),
        ("user", copilot_home() / "extensions"),
    ):
        if root.is_dir():
            for folder in sorted(root.iterdir()):
                if any((folder / entry).exists() for entry in ENTRIES):
                    yield scope, folder


def _declared(folder: Path) -> set[str]:
    """The canvas ids in an extension's source, as far as they are written out there."""
    found: set[str] = set()
    for name in (SCRIPT, *ENTRIES):
        try:
            text = (folder / name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        found.update(re.findall(r"""\bid\s*[=:]\s*["'`]([\w.-]+)["'`]""", text))
    return found


# Files and folders


def _page(script: Path) -> Iterable[Finding]:
    folder = script.parent
    if script.name != SCRIPT:
        # Whose the files beside it are, nobody knows, and an install takes none of them.
        text = f"Only {script.name} was named, so no page is looked at."
        return [Finding("page", "note", text, f"Name the folder, with the file as {SCRIPT}.")]
    try:
        return lint_page(folder, wanted_files(folder))
    except (InstallError, OSError) as error:
        return [Finding("page", "error", str(error))]


def _folders(extension: Extension) -> Iterator[Finding]:
    """Look at where stores keep their files unless they were told another place."""
    artifacts = copilot_home() / "extensions" / extension.name / "artifacts"
    there = next(at for at in (artifacts, *artifacts.parents) if at.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        text = f"{there} cannot be written, so stores without a path of their own fail."
        yield Finding("folders", "error", text, "Give yourself the right, or set COPILOT_HOME.")
    else:
        yield Finding("folders", "ok", f"Stores can write to {artifacts}.")


def _sharing(folder: Path) -> Iterator[Finding]:
    """Look at what is shared as a gist: only where there is a manifest for it."""
    path = folder / MANIFEST
    if not path.exists():
        return
    fix = f'Write {{"name": {json.dumps(folder.name)}, "version": 1}} to {MANIFEST}.'
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        name, version = manifest["name"], manifest["version"]
    except (OSError, ValueError, LookupError, TypeError):
        text = f"{MANIFEST} is no JSON object with name and version."
        yield Finding("sharing", "error", text, fix)
        return
    if type(version) is not int or not isinstance(name, str):
        # A semantic version stops the discovery.
        text = f"In {MANIFEST}, version has to be the number 1 and name a text."
        yield Finding("sharing", "error", text, fix)
        return
    troubles = list(_unshareable(folder))
    for text, remedy in troubles:
        yield Finding("sharing", "warning", text, remedy)
    if not troubles:
        yield Finding("sharing", "ok", f"It can be shared as {name}.")


def _unshareable(folder: Path) -> Iterator[tuple[str, str]]:
    total = 0
    for name, path in wanted_files(folder):
        content = path.read_bytes()
        total += len(content)
        if len(content) > MAX_SHARED_FILE:
            yield f"{name} has more than 1 MB, which a gist does not take.", "Make it smaller."
        if b"\0" in content[:8192]:
            yield f"{name} is no text, which a gist does not take.", "Write it as text, or SVG."
    if total > MAX_SHARED:
        yield "All files have more than 5 MB, which a gist does not take.", "Leave some out."


# What Copilot has logged


def _log(folder: Path) -> Iterator[Finding]:
    """Show the end of Copilot's log of the extension's last run."""
    logs = copilot_home() / "logs"
    candidates = sorted(logs.glob("process-*.log"), key=_modified, reverse=True)
    for path in candidates[:LOGS_SEARCHED]:
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        if f"module={folder / SHIM}" not in text:
            continue
        last = text.splitlines()[-LOG_LINES:]
        failed = TROUBLE.search("\n".join(last)) is not None
        shown = "\n".join([f"{path} ends with:", *last])
        yield Finding("log", "warning" if failed else "note", shown)
        return
    yield Finding("log", "note", f"Copilot has logged no run of it in {logs}.")


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
