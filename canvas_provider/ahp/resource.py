"""What a canvas is made of, as a client has read it, and where its references lead."""

import base64
import binascii
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, urldefrag, urljoin

from canvas_provider.errors import InvalidAnswer

__all__ = ["Resource", "from_answer", "resolve"]

KEPT: Final = "-._~!$&'()*+,;=:@/?#%"
"""What stays as it is in a reference (RFC 3986, section 2); the rest is encoded, as browsers do."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A page, a style sheet, a picture."""

    url: str = field(repr=False)
    """Where it was read: what its own references are relative to. A secret."""
    body: bytes = field(repr=False)
    content_type: str | None = None
    """As the canvas has named it."""

    @property
    def text(self) -> str:
        """The body as UTF-8; what is none becomes U+FFFD."""
        return self.body.decode("utf-8", "replace")


def resolve(base: str, reference: str) -> str:
    """Return what a reference means where it stands, without its fragment."""
    reference = quote(reference.strip(), safe=KEPT)
    scheme, colon, rest = base.partition(":")
    if not colon or scheme in ("http", "https"):
        return urldefrag(urljoin(base, reference)).url
    # urljoin() joins only schemes that it knows.
    joined = urldefrag(urljoin(f"http:{rest}", reference)).url
    own = joined.startswith("http:") and not reference.startswith("http:")
    return f"{scheme}{joined.removeprefix('http')}" if own else joined


def from_answer(url: str, answer: object) -> Resource:
    """Read the answer to `resourceRead`.

    Raises:
        InvalidAnswer: it is none.
    """
    match answer:
        case {"data": str(data), "encoding": "utf-8", **rest}:
            body = data.encode("utf-8", "replace")
        case {"data": str(data), "encoding": "base64", **rest}:
            try:
                body = base64.b64decode(data, validate=True)
            except (binascii.Error, ValueError):
                raise InvalidAnswer("the host sent a resource that is no base64") from None
        case _:
            raise InvalidAnswer("the host answered a read without a resource")
    content_type = rest.get("contentType")
    return Resource(url, body, content_type if isinstance(content_type, str) else None)
