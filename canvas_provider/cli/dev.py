"""`canvas-provider dev`: try an extension in the browser, without Copilot."""

import asyncio
import os
import signal
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

import click

from canvas_provider.cli.copilot import CopilotChoice
from canvas_provider.cli.place import Place
from canvas_provider.cli.source import SCRIPT, default_name
from canvas_provider.cli.watching import watch_folders
from canvas_provider.host.bench import Bench
from canvas_provider.host.hot_reload import HotReload
from canvas_provider.host.panel.server import PanelServer
from canvas_provider.host.workbench import Extension, Workbench
from canvas_provider.serving.server import LoopbackServers
from canvas_provider.types import JSONObject, JSONValue

__all__ = ["dev", "find_extension"]

STOP_GRACE: Final = 0.6
"""Seconds for the extension after Ctrl-C; everything together has to end within one second."""

INTERRUPTED: Final = 130


@click.command()
@click.argument("path", type=click.Path(path_type=Path, exists=True), default=".")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="The panel's. [default: any]"
)
@click.option("--no-browser", is_flag=True, help="Print the panel's address, and open nothing.")
@click.option("--no-reload", is_flag=True, help="Do not start it again when a file is saved.")
@click.option(
    "--state",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIRECTORY",
    help="Where it stores what it keeps: ~/.copilot for that of Copilot. [default: its own]",
)
@click.option(
    "--ahp",
    type=click.IntRange(0, 65535),
    is_flag=False,
    flag_value=0,
    metavar="[PORT]",
    help="Serve clients of the Agent Host Protocol, too.",
)
@click.option(
    "--runtime",
    type=click.Choice(["embedded", "copilot"]),
    default="embedded",
    help="Who runs it: a part of this, or the real Copilot CLI with its agent. [default: embedded]",
)
@click.option(
    "--script",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help="With copilot: the agent says what is in FILE, offline.",
)
@click.option("--model-url", metavar="URL", help="With copilot: a model of your own, as OpenAI's.")
@click.option("--model", metavar="NAME", help="With copilot: which model.")
@click.option(
    "--copilot-cli",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help="With copilot: the program. [default: as found]",
)
@click.option(
    "--grant",
    multiple=True,
    metavar="NAME",
    help="Let it have this variable, if it asks for it: such as GITHUB_TOKEN. Repeatable.",
)
@click.option("--fresh", is_flag=True, help="Forget which panels were open. Stored state stays.")
def dev(
    path: Path,
    port: int,
    no_browser: bool,
    no_reload: bool,
    state: Path | None,
    ahp: int | None,
    runtime: str,
    script: Path | None,
    model_url: str | None,
    model: str | None,
    copilot_cli: Path | None,
    grant: tuple[str, ...],
    fresh: bool,
) -> None:
    """Run PATH, a .py file or a folder with extension.py, and show it in the browser.

    It runs as it would in Copilot: as a child process, with the current directory as its project.
    It is started again when you save its code, and its pages are loaded again when you save them.
    Press Ctrl-C to end it.

    With --runtime copilot the real Copilot CLI runs it, with your login, with a model of your own
    (its key in CANVAS_PROVIDER_MODEL_KEY), or with a script: you prompt the agent in the panel.
    """
    extension = find_extension(path)
    copilot = None
    if runtime == "copilot":
        copilot = CopilotChoice.of(copilot_cli, model, model_url, script)
    elif script or model_url or model or copilot_cli:
        raise click.UsageError(
            "--script, --model-url, --model and --copilot-cli go with --runtime copilot."
        )
    place = Place.of(extension, Path.cwd(), state)
    if fresh:
        place.session_file.forget()
    options = _Options(port, ahp, copilot, grant, open_browser=not no_browser, reload=not no_reload)
    runner = asyncio.Runner()
    # Until the loop is closed: an impatient Ctrl-C in between would leave threads that never end.
    with _interrupts(runner.get_loop()) as stop, runner:
        runner.run(_serve(extension, place, options, stop))
    raise SystemExit(INTERRUPTED)


class _Options(NamedTuple):
    port: int
    ahp_port: int | None
    copilot: CopilotChoice | None
    granted: tuple[str, ...]
    open_browser: bool
    reload: bool


def find_extension(path: Path) -> Extension:
    """Find what a command is about.

    Raises:
        UsageError: there is no extension at `path`.
    """
    script = path / SCRIPT if path.is_dir() else path
    if not script.is_file():
        raise click.UsageError(f"{path} has no {SCRIPT}: name the .py file itself, or rename it.")
    if script.suffix != ".py":
        raise click.UsageError(f"{path} is no .py file: name one, or a folder with {SCRIPT}.")
    return Extension(script.absolute(), default_name(path.absolute()))


async def _serve(
    extension: Extension, place: Place, options: _Options, stop: asyncio.Event
) -> None:
    with tempfile.TemporaryDirectory(prefix="canvas-provider-") as workspace:
        async with AsyncExitStack() as models, AsyncExitStack() as servers:
            bench = await _create_bench(extension, place, options, Path(workspace), models)
            bench.subscribe(_Terminal(options.reload).show)
            await _start_servers(bench, place, options, servers)
            hot = HotReload(bench, watch_folders)
            if options.reload:
                hot.start()
            starting = asyncio.create_task(bench.start())
            await stop.wait()
            starting.cancel()
            await asyncio.wait([starting])
            await asyncio.gather(hot.aclose(), bench.aclose(STOP_GRACE), servers.aclose())


async def _create_bench(
    extension: Extension,
    place: Place,
    options: _Options,
    workspace: Path,
    models: AsyncExitStack,
) -> Bench:
    if options.copilot is not None:
        return await options.copilot.create_bench(extension, place, workspace, models)
    return Workbench(
        extension,
        working_directory=str(Path.cwd()),
        workspace_path=str(workspace),
        copilot_home=place.copilot_home,
        session_file=place.session_file,
        granted=options.granted,
    )


async def _start_servers(
    bench: Bench, place: Place, options: _Options, servers: AsyncExitStack
) -> None:
    """Serve the panel, and AHP clients if that is wished, and print where."""
    with _explained(options.port):
        panel = await PanelServer.start(bench, LoopbackServers(), port=options.port)
    servers.push_async_callback(panel.aclose)
    _greet(bench.extension, panel.url, place, options)
    if options.ahp_port is not None:
        servers.push_async_callback(await _start_ahp(bench, options.ahp_port))
    if options.open_browser and _has_display():
        # A daemon, because some browsers keep this call until they are closed.
        threading.Thread(target=webbrowser.open, args=(panel.url,), daemon=True).start()


async def _start_ahp(bench: Bench, port: int) -> Callable[[], Awaitable[None]]:
    """Serve AHP clients; return what ends that."""
    # It brings aiohttp, for which nobody else is to wait.
    from canvas_provider.cli.bridge import start_bridge

    with _explained(port):
        return (await start_bridge(bench, port)).aclose


@contextmanager
def _explained(port: int) -> Iterator[None]:
    """Say what to do where a port is taken."""
    try:
        yield
    except OSError as error:
        text = f"Port {port} cannot be used: {error.strerror}. "
        raise click.ClickException(text + "Choose another, or leave it out.") from None


@contextmanager
def _interrupts(loop: asyncio.AbstractEventLoop) -> Iterator[asyncio.Event]:
    """Set the event at Ctrl-C, at a request to end, and when the terminal goes away."""
    stop = asyncio.Event()

    def interrupt(*_: object) -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(stop.set)

    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {}
    for name in names:
        number = getattr(signal, name)
        before[number] = signal.signal(number, interrupt)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            # Once interrupted, only the interpreter's own end is left, which takes no interruption.
            signal.signal(number, signal.SIG_IGN if stop.is_set() else handler)


def _has_display() -> bool:
    """Whether a browser can appear here, and not take over the terminal instead."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _greet(extension: Extension, url: str, place: Place, options: _Options) -> None:
    where = "the development host" if options.copilot is None else "Copilot"
    click.echo(f"\n  {click.style(extension.name, bold=True)} in {where}\n")
    click.echo(f"  {click.style(url, fg='cyan', underline=True)}\n")
    if options.copilot is None or options.copilot.is_offline:
        click.echo(f"  What it stores is in {place.copilot_home}\n")
    click.echo("  Press Ctrl-C to end.\n")


class _Terminal:
    """Says what somebody without the panel would miss."""

    def __init__(self, reloads: bool) -> None:
        self._advice = "Fix it and save." if reloads else "Fix it, then reload it in the panel."
        self._ready: JSONValue = None

    def show(self, kind: str, data: JSONObject) -> None:
        if kind == "status" and data["phase"] == "ready":
            if data["pid"] != self._ready:
                click.secho(f"  ready (process {data['pid']})", fg="green")
            self._ready = data["pid"]
        elif kind == "status" and data["phase"] == "failed":
            click.echo(f"  {self._advice}")
        elif kind == "log" and data["source"] == "stderr":
            click.echo(f"{click.style('  │ ', dim=True)}{data['text']}", err=True)
        elif kind == "log":
            color = {"error": "red", "warning": "yellow"}.get(str(data["level"]))
            click.secho(f"  {data['text']}", fg=color, err=True)
