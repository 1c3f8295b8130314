"""The files of a page: what is found, and what stays hidden."""

import os
from pathlib import Path

import httpx
import pytest

from canvas_provider import Canvas, create_canvas
from canvas_provider.serving.headers import inline_hashes
from tests.support.asgi import ask
from tests.support.instances import HOST, TOKEN, open_app, open_client

INDEX = '<!doctype html><script>run()</script><p onclick="go()">index'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    page = tmp_path / "page"
    (page / "sub").mkdir(parents=True)
    (page / "index.html").write_text(INDEX)
    (page / "app.js").write_text("export {}")
    (page / "look.css").write_text("p {}")
    (page / "data.json").write_text("{}")
    (page / "pic.svg").write_text("<svg/>")
    (page / "clip.mp4").write_bytes(bytes(range(100)))
    (page / "strange.zzz").write_bytes(b"\x00")
    (page / "sp ace ü.txt").write_text("ok")
    (page / "sub" / "index.html").write_text("<p>sub")
    (page / "sub" / "note.txt").write_text("note")
    (page / ".env").write_text("SECRET")
    (page / ".git").mkdir()
    (page / ".git" / "config").write_text("SECRET")
    (tmp_path / "secret.txt").write_text("SECRET")
    (tmp_path / "page-2").mkdir()
    (tmp_path / "page-2" / "x.txt").write_text("SECRET")
    return page


def make_canvas(page: Path) -> Canvas:
    return create_canvas(id="board", display_name="Board", description="A board.", page=page)


@pytest.mark.parametrize(
    ("path", "content_type", "text"),
    [
        ("", "text/html; charset=utf-8", "index"),
        ("index.html", "text/html; charset=utf-8", "index"),
        ("app.js", "text/javascript; charset=utf-8", "export"),
        ("look.css", "text/css; charset=utf-8", "p {}"),
        ("data.json", "application/json", "{}"),
        ("pic.svg", "image/svg+xml", "svg"),
        ("strange.zzz", "application/octet-stream", ""),
        ("sp%20ace%20%C3%BC.txt", "text/plain; charset=utf-8", "ok"),
        ("sub/", "text/html; charset=utf-8", "sub"),
        ("sub/note.txt", "text/plain; charset=utf-8", "note"),
    ],
)
async def test_the_files_of_the_folder_are_served(
    folder: Path, path: str, content_type: str, text: str
) -> None:
    async with open_client(make_canvas(folder)) as (http, _):
        answer = await http.get(path)
        assert (answer.status_code, answer.headers["content-type"]) == (200, content_type)
        assert text in answer.text
        head = await http.head(path)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-length"] == str(len(answer.content))


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        ".git/config",
        "sub/../.env",
        "../secret.txt",
        "../page-2/x.txt",
        "sub/../../secret.txt",
        "..",
        ".",
        "sub/..",
        "sub/./note.txt",
        "/etc/passwd",
        "//etc/passwd",
        "sub//note.txt",
        "sub",
        "sub/note.txt/",
        "nothing.txt",
        "..\\secret.txt",
        "sub\\note.txt",
        "C:/secret.txt",
        "index.html\x00.txt",
        "x" * 5000,
        "/".join(["sub"] * 500),
    ],
)
async def test_nothing_else_is(folder: Path, path: str) -> None:
    async with open_app(make_canvas(folder)) as (app, _):
        answer = await ask(app, path=f"/{TOKEN}/{path}", headers=[("host", HOST)])
        assert answer.status == 404
        assert b"SECRET" not in answer.body


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="this system has no symlinks")
async def test_links_that_lead_out_are_not_followed(folder: Path) -> None:
    (folder / "out.txt").symlink_to(folder.parent / "secret.txt")
    (folder / "out").symlink_to(folder.parent)
    (folder / "dot.txt").symlink_to(folder / "sub" / "note.txt")
    (folder / "loop").symlink_to(folder / "loop")
    async with open_client(make_canvas(folder)) as (http, _):
        for path in ("out.txt", "out/secret.txt", "out/page-2/x.txt", "loop"):
            assert (await http.get(path)).status_code == 404
        assert (await http.get("dot.txt")).text == "note"


async def test_a_page_behind_a_link_is_served(folder: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder, target_is_directory=True)
    async with open_client(make_canvas(link)) as (http, _):
        assert (await http.get("sub/note.txt")).text == "note"


async def test_one_file_is_the_whole_page(folder: Path) -> None:
    async with open_client(make_canvas(folder / "index.html")) as (http, _):
        assert "index" in (await http.get("")).text
        assert "index" in (await http.get("index.html")).text
        for path in ("app.js", "sub/note.txt", "x/index.html"):
            assert (await http.get(path)).status_code == 404


async def test_inline_scripts_and_handlers_of_a_page_are_admitted_by_hash(folder: Path) -> None:
    async with open_client(make_canvas(folder)) as (http, _):
        policy = (await http.get("")).headers["content-security-policy"]
        hashes = " ".join(inline_hashes(INDEX))
        assert f"script-src 'self' 'unsafe-hashes' {hashes}" in policy
        assert len(hashes.split()) == 2
        assert "script-src" not in (await http.get("sub/")).headers["content-security-policy"]


async def test_an_edit_shows_at_the_next_reload(folder: Path) -> None:
    async with open_client(make_canvas(folder)) as (http, _):
        before = await http.get("")
        (folder / "index.html").write_text("<script>other()</script>")
        after = await http.get("")
        assert "other()" in after.text
        name = "content-security-policy"
        assert before.headers[name] != after.headers[name]
        (folder / "new.txt").write_text("new")
        assert (await http.get("new.txt")).text == "new"
        (folder / "new.txt").unlink()
        assert (await http.get("new.txt")).status_code == 404


async def test_bytes_and_a_mark_at_the_start_arrive_as_they_are(folder: Path) -> None:
    content = b"\xef\xbb\xbf<script>f('\xc3\xbc')</script>\xff"
    (folder / "index.html").write_bytes(content)
    async with open_client(make_canvas(folder)) as (http, _):
        answer = await http.get("")
        assert answer.content == content
        (expected,) = inline_hashes("<script>f('ü')</script>")
        assert expected in answer.headers["content-security-policy"]


async def test_a_part_of_a_file_can_be_asked_for(folder: Path) -> None:
    """Safari plays no video without."""
    async with open_client(make_canvas(folder)) as (http, _):
        part = await http.get("clip.mp4", headers={"range": "bytes=10-19"})
        assert (part.status_code, part.content) == (206, bytes(range(10, 20)))
        assert part.headers["content-security-policy"]
        wrong = await http.get("clip.mp4", headers={"range": "bytes=900-"})
        assert wrong.status_code == 416


async def test_scripts_load_even_where_the_page_cannot_work(folder: Path) -> None:
    """In a sandboxed frame without allow-same-origin, so that canvas.js can say what is wrong."""
    async with open_client(make_canvas(folder)) as (http, _):
        for path in ("canvas.js", "app.js"):
            answer = await http.get(path)
            assert answer.headers["access-control-allow-origin"] == "*"
        for path in ("", "look.css", "data.json", "state", "canvas.css", "pic.svg"):
            answer = await http.get(path)
            assert "access-control-allow-origin" not in answer.headers, path


async def test_a_file_that_cannot_be_read_is_not_found(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_bytes(self: Path) -> bytes:
        raise PermissionError

    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    async with open_client(make_canvas(folder)) as (http, _):
        assert (await http.get("index.html")).status_code == 404


async def test_the_author_sees_no_path_of_the_machine(folder: Path) -> None:
    async with open_client(make_canvas(folder)) as (http, _):
        answer: httpx.Response = await http.get("nothing.txt")
        assert str(folder) not in answer.text
