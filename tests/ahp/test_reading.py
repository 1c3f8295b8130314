"""What a client reads of a canvas, and by which way."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from canvas_provider.ahp.client import AHPClient
from canvas_provider.ahp.resource import Resource, resolve
from canvas_provider.errors import InvalidAnswer, NotFound, PermissionDenied, Unavailable
from canvas_provider.protocol.ahp import ROOT
from tests.support.ahp_host import (
    CANVAS,
    ScriptedHost,
    ScriptedPeer,
    begin,
    follow,
    open_scripted_host,
    state_changed,
    until,
    within,
)
from tests.support.origins import open_origin, reply

TOKEN = "tZ3mXq-9_LkW0aVfYh2RbQ7cJd5uEg8nPs1iOxTy4Kw"
FAR = f"http://127.0.0.1:4100/{TOKEN}/"


@pytest.fixture
async def host() -> AsyncIterator[ScriptedHost]:
    async with open_scripted_host() as host:
        yield host


async def show(client: AHPClient, peer: ScriptedPeer, url: str) -> None:
    """Let the client follow a canvas with this address."""
    await follow(client, peer, CANVAS)
    changes = client.changes()
    await peer.act(CANVAS, state_changed("Board", url), 100)
    await until(changes, CANVAS, url=url)


@pytest.mark.parametrize(
    ("base", "reference", "expected"),
    [
        (FAR, "", FAR),
        (FAR, "app.css", f"{FAR}app.css"),
        (FAR, "./img/../app.css?v=1#top", f"{FAR}app.css?v=1"),
        (FAR, "?after=3", f"{FAR}?after=3"),
        (FAR, "#top", FAR),
        (f"{FAR}style/app.css", "../img/a.png", f"{FAR}img/a.png"),
        (FAR, "/other", "http://127.0.0.1:4100/other"),
        (FAR, "//evil.test/x", "http://evil.test/x"),
        (FAR, "https://evil.test/x", "https://evil.test/x"),
        (FAR, " état b.png\n", f"{FAR}%C3%A9tat%20b.png"),
        (FAR, "a\\..\\b\r\nX: y", f"{FAR}a%5C..%5Cb%0D%0AX:%20y"),
        (FAR, "a%20b", f"{FAR}a%20b"),
        ("canvas-source://host/a/b", "c?d", "canvas-source://host/a/c?d"),
        ("canvas-source://host/a/b", "/c", "canvas-source://host/c"),
        ("canvas-source://host/a/b", "http://x/", "http://x/"),
        ("canvas-source://host/a/b", "other://x/", "other://x/"),
        ("nothing", "c", "c"),
    ],
)
def test_a_reference_means_what_it_means_in_a_browser(
    base: str, reference: str, expected: str
) -> None:
    assert resolve(base, reference) == expected


async def test_a_canvas_on_another_machine_is_read_through_its_host(host: ScriptedHost) -> None:
    async with host.connect(direct=False) as (client, peer):
        await show(client, peer, FAR)
        reading = begin(client.read(CANVAS))
        request = await peer.expect("resourceRead")
        assert request["params"] == {"channel": ROOT, "uri": FAR}
        page = {"data": "<h1>é</h1>", "encoding": "utf-8", "contentType": "text/html"}
        await peer.answer(request, page)
        read = await within(reading)
        assert read == Resource(FAR, "<h1>é</h1>".encode(), "text/html")
        assert (read.text, TOKEN in repr(read)) == ("<h1>é</h1>", False)

        reading = begin(client.read(CANVAS, "style/app.css"))
        request = await peer.expect("resourceRead")
        assert request["params"]["uri"] == f"{FAR}style/app.css"
        await peer.answer(request, {"data": "eA==", "encoding": "base64"})
        style = await within(reading)
        assert (style.body, style.content_type) == (b"x", None)

        reading = begin(client.read(CANVAS, "logo.png", base=style))
        request = await peer.expect("resourceRead")
        assert request["params"]["uri"] == f"{FAR}style/logo.png"
        await peer.fail(request, -32009)
        with pytest.raises(PermissionDenied):
            await within(reading)


@pytest.mark.parametrize(
    "result",
    [
        None,
        {},
        {"data": "x"},
        {"data": 7, "encoding": "utf-8"},
        {"data": "x", "encoding": "utf-16"},
        {"data": "not base64!", "encoding": "base64"},
        {"data": "eA==!", "encoding": "base64"},
        {"data": "é", "encoding": "base64"},
    ],
)
async def test_an_answer_without_a_resource_is_none(host: ScriptedHost, result: Any) -> None:
    async with host.connect(direct=False) as (client, peer):
        await show(client, peer, FAR)
        reading = begin(client.read(CANVAS))
        await peer.answer(await peer.expect("resourceRead"), result)
        with pytest.raises(InvalidAnswer):
            await within(reading)


async def test_a_canvas_on_this_machine_is_read_without_its_host(host: ScriptedHost) -> None:
    async with open_origin() as origin, host.connect() as (client, peer):
        origin.pages = {
            f"/{TOKEN}/": reply(b"page", "text/html"),
            f"/{TOKEN}/a.png": reply(b"\x89", "image/png"),
        }
        await show(client, peer, f"{origin.url}/{TOKEN}/")
        assert (await within(client.read(CANVAS))).text == "page"
        picture = await within(client.read(CANVAS, "a.png"))
        assert (picture.body, picture.content_type) == (b"\x89", "image/png")
        with pytest.raises(NotFound):
            await within(client.read(CANVAS, "nothing"))
        await peer.assert_idle()


async def test_a_page_leads_nobody_to_what_else_listens_here(host: ScriptedHost) -> None:
    async with (
        open_origin({"/": reply(b"secret")}) as other,
        open_origin() as origin,
        host.connect() as (client, peer),
    ):
        moved = reply(status="302 Found", headers={"Location": f"{other.url}/"})
        origin.pages = {f"/{TOKEN}/": moved}
        await show(client, peer, f"{origin.url}/{TOKEN}/")
        for reference in ("", f"{other.url}/"):
            reading = begin(client.read(CANVAS, reference))
            # It is the host's to decide, and to read.
            await peer.fail(await peer.expect("resourceRead"), -32009)
            with pytest.raises(PermissionDenied):
                await within(reading)
        assert other.connected == 0


async def test_what_is_not_reached_directly_is_read_through_the_host(host: ScriptedHost) -> None:
    """A tunnel makes a host look near whose canvases are not."""
    async with open_origin() as origin:
        url = f"{origin.url}/{TOKEN}/"
    async with host.connect() as (client, peer):
        await show(client, peer, url)
        reading = begin(client.read(CANVAS))
        request = await peer.expect("resourceRead")
        await peer.answer(request, {"data": "page", "encoding": "utf-8"})
        assert (await within(reading)).text == "page"


async def test_a_canvas_that_is_not_followed_has_no_source(host: ScriptedHost) -> None:
    async with host.connect() as (client, peer):
        with pytest.raises(Unavailable):
            await client.read(CANVAS)
        await peer.assert_idle()
