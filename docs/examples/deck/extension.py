"""Cards to learn with, in a deck that outlives every panel that shows it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from canvas_provider import CanvasContext, CanvasError, JSONFileStore, Opened, create_canvas, run


@dataclass
class Card:
    front: str
    back: str
    known: bool = False


@dataclass
class Deck:
    cards: list[Card] = field(default_factory=list)


def deck_of(ctx: CanvasContext) -> str:
    """Pick the document: a deck, whatever panel shows it, and in whichever session."""
    return " ".join(ctx.input.get("deck", "").casefold().split()) or "default"


cards = create_canvas(
    id="cards",
    display_name="Cards",
    description="Decks of cards to learn with. Use it to help the user remember something.",
    state=Deck,
    # The panel is closed, the session ends, the computer is off: the deck is in its file.
    store=JSONFileStore(),
    state_key=deck_of,
    page=Path(__file__).with_name("page.html"),
)


@cards.on_open
async def opened(
    state: Deck, deck: Annotated[str, "Which deck to show, such as: french verbs."] = ""
) -> Opened:
    return Opened(title=f"Cards: {deck}" if deck else "Cards", status=f"{len(state.cards)} cards")


@cards.action
async def add_card(deck: Deck, front: str, back: str) -> int:
    """Add a card to the deck, and return how many there are."""
    if any(card.front == front for card in deck.cards):
        raise CanvasError("card_exists", f"There is a card {front!r} already.")
    deck.cards.append(Card(front, back))
    return len(deck.cards)


@cards.action
async def mark(deck: Deck, front: str, known: bool) -> None:
    """Note whether the user knows a card."""
    for card in deck.cards:
        if card.front == front:
            card.known = known
            return
    raise CanvasError("card_not_found", f"There is no card {front!r}: get_deck shows them.")


@cards.action
async def get_deck(deck: Deck) -> list[Card]:
    """Read all cards, and which of them the user knows."""
    return list(deck.cards)


if __name__ == "__main__":
    run(cards)
