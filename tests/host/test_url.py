"""What counts as an address; on the real CLI, too: tests/contracts/test_runtime.py, rule 3.9."""

import random

import pytest

from canvas_provider.host.url import is_allowed_url


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/t/?a=1#b", " HTTPS:x", "file:", "http://[::]"])
def test_an_address_of_three_schemes_is_allowed(url: str) -> None:
    assert is_allowed_url(url)


@pytest.mark.parametrize("url", ["", "/x", "http:", "http://a b/", "http://x:65536", "http://[1]"])
def test_what_cannot_be_read_is_not_allowed(url: str) -> None:
    assert not is_allowed_url(url)


def test_no_text_is_too_odd_to_be_judged() -> None:
    letters = random.Random(7)
    for _ in range(2000):
        rest = "".join(letters.choices("http:/\\@[]?#%4a1 .\0é\udc80", k=letters.randrange(12)))
        assert is_allowed_url("http:" + rest) in (True, False)
