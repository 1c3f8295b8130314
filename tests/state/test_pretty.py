"""JSON for people."""

import json
import random
from typing import Any

import pytest

from canvas_provider.state.pretty import pretty


def test_a_card_is_a_line() -> None:
    board: Any = {"cards": [{"id": str(n), "title": "A card" * 4} for n in range(3)]}
    assert pretty(board).splitlines() == [
        "{",
        '  "cards": [',
        '    {"id": "0", "title": "A cardA cardA cardA card"},',
        '    {"id": "1", "title": "A cardA cardA cardA card"},',
        '    {"id": "2", "title": "A cardA cardA cardA card"}',
        "  ]",
        "}",
    ]


@pytest.mark.parametrize("seed", range(50))
def test_any_document_comes_back(seed: int) -> None:
    source = random.Random(seed)

    def value(depth: int) -> Any:
        if depth > 4 or source.random() < 0.3:
            return source.choice([None, True, 1, 2.5, "é" * source.randrange(60), "\n\0"])
        if source.random() < 0.5:
            return [value(depth + 1) for _ in range(source.randrange(8))]
        return {str(n): value(depth + 1) for n in range(source.randrange(8))}

    document = value(0)
    assert json.loads(pretty(document)) == document
