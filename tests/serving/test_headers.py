import base64
import hashlib

import pytest
from starlette.types import Receive, Scope, Send

from canvas_provider.serving.headers import ContentPolicy, SecurityHeaders, inline_hashes
from canvas_provider.serving.responses import send_response
from tests.support.asgi import ask


def hash_of(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def parse(header: bytes) -> dict[str, list[str]]:
    parts = [part.split() for part in header.decode().split(";")]
    return {name: sources for name, *sources in parts}


BASE = {
    "default-src": ["'self'"],
    "img-src": ["'self'", "data:", "blob:"],
    "style-src": ["'self'", "'unsafe-inline'"],
    "base-uri": ["'none'"],
    "form-action": ["'self'"],
    "object-src": ["'none'"],
}


def test_the_policy_admits_the_own_origin_and_data_images() -> None:
    """As the design gives it."""
    assert ContentPolicy().header == (
        b"default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; "
        b"base-uri 'none'; form-action 'self'; object-src 'none'"
    )


@pytest.mark.parametrize(
    ("extra", "changed"),
    [
        ({"img-src": ("https://a.test",)}, {"img-src": [*BASE["img-src"], "https://a.test"]}),
        ({"connect-src": ("https://a.test",)}, {"connect-src": ["'self'", "https://a.test"]}),
        (
            {"script-src-elem": ("https://a.test",)},
            {"script-src-elem": ["'self'", "https://a.test"]},
        ),
        ({"object-src": ("https://a.test",)}, {"object-src": ["https://a.test"]}),
        ({"frame-ancestors": ("https://a.test",)}, {"frame-ancestors": ["https://a.test"]}),
        ({"sandbox": ("allow-scripts",)}, {"sandbox": ["allow-scripts"]}),
    ],
)
def test_extra_sources_are_added_to_what_a_directive_allows_anyway(
    extra: dict[str, tuple[str, ...]], changed: dict[str, list[str]]
) -> None:
    assert parse(ContentPolicy(extra).header) == {**BASE, **changed}


def test_inline_scripts_of_a_page_are_admitted_by_hash_and_no_others() -> None:
    policy = parse(ContentPolicy().for_page(["'sha256-x='"]))
    assert policy == {**BASE, "script-src": ["'self'", "'unsafe-hashes'", "'sha256-x='"]}


def test_a_page_without_inline_scripts_has_the_plain_policy() -> None:
    policy = ContentPolicy({"script-src": ("https://a.test",)})
    assert policy.for_page([]) == policy.header


def test_hashes_join_the_script_sources_that_an_author_added() -> None:
    policy = ContentPolicy({"script-src-elem": ("https://a.test",)})
    assert parse(policy.for_page(["'sha256-x='"])) == {
        **BASE,
        "script-src": ["'self'", "'unsafe-hashes'", "'sha256-x='"],
        "script-src-elem": ["'self'", "https://a.test", "'unsafe-hashes'", "'sha256-x='"],
    }


def test_hashes_do_not_switch_off_unsafe_inline_that_an_author_asked_for() -> None:
    policy = ContentPolicy({"script-src": ("'unsafe-inline'",)})
    assert parse(policy.for_page(["'sha256-x='"]))["script-src"] == ["'self'", "'unsafe-inline'"]


@pytest.mark.parametrize(
    ("html", "texts"),
    [
        ("<script>run()</script>", ["run()"]),
        ("<script type=module>\n import 'x'\n</script>", ["\n import 'x'\n"]),
        ("<SCRIPT>run()</SCRIPT >", ["run()"]),
        ("<script>a < b && c > '</div>'</script>", ["a < b && c > '</div>'"]),
        ("<script>'&amp;'</script>", ["'&amp;'"]),
        ("<script>one\r\ntwo\rthree</script>", ["one\ntwo\nthree"]),
        ('<script src="x.js"></script>', []),
        ('<script src="x.js">fallback</script><script>a</script>', ["a"]),
        ("<script></script>", [""]),
        ("<script>a</script><script>b</script><script>a</script>", ["a", "b"]),
        ('<b onclick="go(1)">x</b>', ["go(1)"]),
        ("<b ONCLICK='say(&quot;hi&quot;)'>x</b>", ['say("hi")']),
        ('<b onclick="a\r\nb">x</b>', ["a\nb"]),
        ('<img onerror=a onload="b"/>', ["a", "b"]),
        ("<b onclick>x</b><b onclick=''>x</b>", []),
        ('<p>onclick="no"</p>', []),
        ("<!-- <script>no</script> -->", []),
        ("<style>script{}</style>", []),
        ("<p>ä<script>'ä€😀'</script>", ["'ä€😀'"]),
        ("<script>never ends", []),
        ("", []),
    ],
)
def test_every_inline_script_and_handler_is_found(html: str, texts: list[str]) -> None:
    assert inline_hashes(html) == sorted({hash_of(text) for text in texts})


async def test_every_response_carries_the_security_headers() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send_response(send, 404, b"", b"text/plain")

    answer = await ask(SecurityHeaders(app, ContentPolicy()))
    assert answer["content-security-policy"] == ContentPolicy().header.decode()
    assert answer["referrer-policy"] == "no-referrer"
    assert answer["x-content-type-options"] == "nosniff"
    assert answer["cache-control"] == "no-store"
    assert b"x-frame-options" not in dict(answer.headers)


async def test_a_header_that_a_response_sets_itself_stays_alone() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-security-policy", b"default-src *"), (b"x-own", b"1")]
        await send_response(send, 200, b"", b"text/plain", headers)

    answer = await ask(SecurityHeaders(app, ContentPolicy()))
    assert (answer["content-security-policy"], answer["x-own"]) == ("default-src *", "1")
