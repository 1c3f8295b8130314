"""Names of files for keys."""

import pytest

from canvas_provider.state.filenames import LONGEST, file_name

KEYS = [
    "board", "Board", "BOARD", "board.json", "..", "../x", "a/b", "a\\b", "a b", "a%20b", "", "~",
    "con", "CON", "nul", "com1", ".hidden", "é", "e\u0301", "\ud800", "a\0b", "%", "a" * 181,
    "a" * 200, "a" * 199 + "b", "A" * 128, "x" * 180,
]  # fmt: skip


def test_no_two_keys_share_a_file_even_where_case_does_not_count() -> None:
    assert len({file_name(key).lower() for key in KEYS}) == len(KEYS)


@pytest.mark.parametrize("key", KEYS)
def test_a_name_is_safe_everywhere(key: str) -> None:
    name = file_name(key)
    assert 0 < len(name) <= LONGEST
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_%~")
    assert name not in {"con", "nul", "com1"}


def test_a_readable_key_stays_readable() -> None:
    assert file_name("2026-11-03_focus") == "2026-11-03_focus"
