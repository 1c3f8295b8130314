"""A revision and its epoch, as text."""

import pytest

from canvas_provider.state.version import Version


@pytest.mark.parametrize(
    ("text", "number", "epoch"),
    [("0", 0, None), ("7", 7, None), ("7-1f0e3dad", 7, "1f0e3dad"), ("0012-a_b", 12, "a_b")],
)
def test_a_version_reads_what_it_writes(text: str, number: int, epoch: str | None) -> None:
    version = Version.parse(text)
    assert version is not None
    assert (int(version), version.epoch) == (number, epoch)
    assert Version.parse(str(version)) == version


@pytest.mark.parametrize(
    "text", ["", "-", "7-", "-7", "-7-a", "x", "1.5", "9" * 19, "\u00b2", "7 ", "7-\u00e9", "7-a b"]
)
def test_other_texts_are_no_version(text: str) -> None:
    assert Version.parse(text) is None
