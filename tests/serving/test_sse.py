import subprocess
import sys

import uvicorn

from canvas_provider.serving.sse import EventSourceResponse, ServerSentEvent, encode_event


def test_an_event_is_encoded_as_the_standard_says() -> None:
    assert encode_event("patch", '{"a":1}', id="7") == b'id: 7\nevent: patch\ndata: {"a":1}\n\n'
    assert encode_event("note", "ä") == "event: note\ndata: ä\n\n".encode()


def test_a_line_break_cannot_end_an_event_early() -> None:
    frame = encode_event("note\nid: 9", "one\r\ntwo\rthree\n\nevent: evil")
    assert frame == (
        b"event: noteid: 9\ndata: one\ndata: two\ndata: three\ndata: \ndata: event: evil\n\n"
    )


def test_importing_it_leaves_other_uvicorn_servers_alone() -> None:
    """sse-starlette replaces `uvicorn.Server.handle_exit` when it is imported."""
    program = (
        "import uvicorn; before = uvicorn.Server.handle_exit\n"
        "import canvas_provider.serving.sse\n"
        "assert uvicorn.Server.handle_exit is before"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=30)
    assert uvicorn.Server.handle_exit.__module__ == "uvicorn.server"


def test_the_response_for_streams_of_ones_own_comes_from_here_too() -> None:
    assert EventSourceResponse.__module__.startswith("sse_starlette")
    assert ServerSentEvent.__module__.startswith("sse_starlette")
