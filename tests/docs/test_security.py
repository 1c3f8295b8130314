"""Each claim of the threat model names a test, and each test that it names is there."""

import re
from typing import Final

import pytest

from tests.support.require import ROOT

PAGE: Final = (ROOT / "docs" / "explanation" / "security.md").read_text(encoding="utf-8")
NAMED: Final = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)))


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_test_that_is_named_is_there(file: str, name: str) -> None:
    source = (ROOT / file).read_text(encoding="utf-8")
    assert re.search(rf"^(async )?def {name}\(", source, re.MULTILINE)


def test_every_row_names_its_test() -> None:
    # A header and its rule begin each table.
    tables = re.findall(r"^\|.*\n\|-.*\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    rows = [row for table in tables for row in table.splitlines()]
    assert len(rows) > 10
    assert [row for row in rows if "::test_" not in row] == []
