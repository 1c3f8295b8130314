"""The documents that are changed: one list of cards, about 120 bytes each, as three types."""

from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import BaseModel

__all__ = ["TYPES", "Kind", "board"]


class Card(BaseModel):
    id: str
    title: str
    column: str = "backlog"
    done: bool = False
    notes: str = ""


class Board(BaseModel):
    cards: list[Card] = []


@dataclass
class PlainCard:
    id: str
    title: str
    column: str = "backlog"
    done: bool = False
    notes: str = ""


@dataclass
class PlainBoard:
    cards: list[PlainCard] = field(default_factory=list)


@dataclass(frozen=True)
class Kind:
    """A type of state, and how an author writes to it."""

    state_type: Any

    def cards(self, draft: Any) -> Any:
        """Return the list."""
        return draft["cards"] if self.state_type is dict else draft.cards

    def rename(self, card: Any, title: str) -> None:
        """Make the small change."""
        if self.state_type is dict:
            card["title"] = title
        else:
            card.title = title

    def find(self, cards: Any, wanted: str) -> Any:
        """Search the list from its beginning."""
        if self.state_type is dict:
            return next(card for card in cards if card["id"] == wanted)
        return next(card for card in cards if card.id == wanted)


TYPES: Final = {
    "dict": Kind(dict),
    "dataclass": Kind(PlainBoard),
    "pydantic": Kind(Board),
}


def board(items: int) -> dict[str, Any]:
    """Return a document of so many cards."""
    return {
        "cards": [
            {
                "id": f"card-{number}",
                "title": f"Card {number}",
                "column": "backlog",
                "done": False,
                "notes": "A sentence or two.",
            }
            for number in range(items)
        ]
    }
