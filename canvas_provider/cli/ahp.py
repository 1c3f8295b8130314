"""`canvas-provider ahp`: see, open, close and read the canvases of any AHP host."""

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

import click

from canvas_provider.ahp.client import AHPClient
from canvas_provider.ahp.resource import Resource
from canvas_provider.cli.ahp_view import ChatView, describe, plain, to_line
from canvas_provider.errors import CanvasProviderError, NotFound, Unsupported
from canvas_provider.protocol.ahp import ErrorCode
from canvas_provider.protocol.ahp_canvases import CanvasRegistry
from canvas_provider.types import JSONObject

__all__ = ["ahp"]

INTERRUPTED: Final = 130

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")


@click.group()
def ahp() -> None:
    """See, open, close and read the canvases of an Agent Host Protocol host.

    URL is the host's address, such as ws://127.0.0.1:4000/?tkn=TOKEN. Given as -, it is read from
    standard input, where no list of processes shows it.
    """


def _options(command: F) -> F:
    """What all of them take."""
    as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
    return as_json(click.argument("url")(command))


def _chat_option(command: F) -> F:
    text = "The chat's URI. [default: that of the latest session]"
    return click.option("--chat", metavar="URI", help=text)(command)


@ahp.command()
@_options
@_chat_option
@click.option("--once", is_flag=True, help="Print what there is now, and end.")
def watch(url: str, chat: str | None, once: bool, as_json: bool) -> None:
    """Print what happens to the canvases of a chat.

    A line begins with what has happened to a canvas: + (it was opened), ~ (it has changed),
    ! (its provider is gone) or - (it was closed). Press Ctrl-C to end it.
    """

    async def follow(client: AHPClient) -> None:
        changes = client.changes()
        found = chat or await client.find_chat()
        await client.follow(found)
        for canvas in client.canvases(found):
            with suppress(NotFound):
                await client.subscribe(canvas)
        view = ChatView(client, found)
        _print_rows(view.update(), as_json)
        if not once:
            async for _ in changes:
                _print_rows(view.update(), as_json)

    _run(url, follow, as_json)


@ahp.command("open")
@_options
@click.argument("canvas_id", metavar="TYPE")
@_chat_option
@click.option("--extension", metavar="ID", help="Whose TYPE it is, if several have one.")
def open_(url: str, canvas_id: str, chat: str | None, extension: str | None, as_json: bool) -> None:
    """Open a canvas of TYPE, an id as `watch` shows it, and print its URI.

    The extensions of the chat are started if they do not run.
    """

    async def open_one(client: AHPClient) -> JSONObject:
        found = chat or await client.find_chat()
        registry = await client.request_registry(found)
        owner = _find_extension(registry, canvas_id, extension)
        uri = await client.open_canvas(found, owner, canvas_id)
        return describe(uri, client.state(uri))

    shown = _run(url, open_one, as_json)
    click.echo(json.dumps(shown) if as_json else shown["canvas"])


@ahp.command()
@_options
@click.argument("canvas")
def dispose(url: str, canvas: str, as_json: bool) -> None:
    """Close CANVAS, given by its URI. One that is closed already is no error."""

    _run(url, lambda client: client.dispose_canvas(canvas), as_json)
    if as_json:
        click.echo(json.dumps({"canvas": canvas}))


@ahp.command()
@_options
@click.argument("canvas")
@click.argument("reference", default="")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where to write it. [default: standard output]",
)
@click.option("--through-host", is_flag=True, help="Let the host read it, also on this machine.")
def read(
    url: str,
    canvas: str,
    reference: str,
    output: Path | None,
    through_host: bool,
    as_json: bool,
) -> None:
    """Read the page of CANVAS, given by its URI, or what its page calls REFERENCE.

    With --json, only its size and type are printed to standard output.
    """

    async def fetch(client: AHPClient) -> Resource:
        await client.subscribe(canvas)
        return await client.read(canvas, reference)

    resource = _run(url, fetch, as_json, direct=not through_host)
    if output is not None:
        try:
            output.write_bytes(resource.body)
        except OSError as error:
            _fail("not_written", f"{output}: {error.strerror}.", as_json)
    elif not as_json:
        click.echo(resource.body, nl=False)
    if as_json:
        about = {"bytes": len(resource.body), "contentType": resource.content_type}
        click.echo(json.dumps(about))


def _find_extension(registry: CanvasRegistry | None, canvas_id: str, wanted: str | None) -> str:
    """Return whose type it is.

    Raises:
        NotFound, Unsupported: it cannot be opened; says why.
    """
    if registry is None:
        raise NotFound(ErrorCode.NOT_FOUND, "The host does not tell what can be opened.")
    found = {
        extension.extension_id: type
        for extension, type in registry
        if type.canvas_id == canvas_id and wanted in (None, extension.extension_id)
    }
    if not found:
        names = ", ".join(type.canvas_id for _, type in registry) or "nothing"
        raise NotFound(ErrorCode.NOT_FOUND, f"No such type. What can be opened: {names}.")
    if len(found) > 1:
        raise Unsupported(f"Several have it. Say which by --extension: {', '.join(found)}.")
    [(owner, type)] = found.items()
    if type.requires_input:
        raise Unsupported("It cannot be opened without an input, and AHP has none to give.")
    return owner


def _print_rows(rows: list[JSONObject], as_json: bool) -> None:
    for row in rows:
        click.echo(json.dumps(row) if as_json else to_line(row))
    sys.stdout.flush()


def _run(
    url: str,
    work: Callable[[AHPClient], Coroutine[Any, Any, R]],
    as_json: bool,
    *,
    direct: bool = True,
) -> R:
    """Connect, do it and return its result, or end with the right code."""
    address = sys.stdin.readline().strip() if url == "-" else url

    async def connected() -> R:
        async with AHPClient(address, direct=direct) as client:
            return await work(client)

    try:
        return asyncio.run(connected())
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    except TimeoutError:
        _fail("timeout", "The host did not answer in time.", as_json)
    except ValueError as error:
        # What is wrong with an address; the text has nothing of it.
        raise click.UsageError(str(error)) from None
    except CanvasProviderError as error:
        _fail(type(error).__name__, str(error), as_json)


def _fail(code: str, message: str, as_json: bool) -> NoReturn:
    text = plain(message)
    if as_json:
        click.echo(json.dumps({"error": {"code": code, "message": text}}))
        raise SystemExit(1)
    raise click.ClickException(text)
