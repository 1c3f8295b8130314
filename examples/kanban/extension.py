"""A kanban board that a person and an agent work on together.

Each action is one typed function. The agent calls it through Copilot, the page by
`canvas.actions.NAME(...)`: same code, same checks, same texts. Nothing below knows about HTTP,
JSON-RPC or files.
"""

import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict, TypeVar

from canvas_provider import (
    CanvasContext,
    CanvasError,
    JSONFileStore,
    Opened,
    RedisStore,
    RevisionConflict,
    SQLiteStore,
    create_canvas,
    run,
)

T = TypeVar("T")

TITLE_LIMIT = 200
NOTES_LIMIT = 10_000
"""In characters. Long enough for people, short enough to be read by a model."""

DEFAULT_PROJECT = "default"


# Dataclasses, because they need no pydantic: Copilot waits for every extension to start.


@dataclass
class Card:
    id: str
    title: str
    notes: str = ""
    assignee: str = ""


@dataclass
class Column:
    id: str
    title: str
    cards: list[Card] = field(default_factory=list)


def first_columns() -> list[Column]:
    return [Column("backlog", "Backlog"), Column("doing", "In progress"), Column("done", "Done")]


@dataclass
class Board:
    project: str
    columns: list[Column] = field(default_factory=first_columns)


class CardInfo(TypedDict):
    """What an action answers about a card; `columnId` can be passed on as it is."""

    id: str
    title: str
    notes: str
    assignee: str
    columnId: str
    position: int


class CardLine(TypedDict):
    """A card in an overview: a board of hundreds stays readable for a model."""

    id: str
    title: str
    assignee: str


class ColumnInfo(TypedDict):
    id: str
    title: str
    cards: list[CardLine]


class Entry(TypedDict):
    """One line of the history."""

    revision: int
    who: Literal["agent", "person", "system"]
    """system: somebody edited the file, or another program wrote it."""
    at: str
    text: str
    undoable: bool
    """False once it was undone."""


Boards = JSONFileStore | SQLiteStore | RedisStore
"""Where boards may be."""


def to_camel(name: str) -> str:
    """Call the inputs as JavaScript would: `card_id` is `cardId` for agent and page."""
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def project_of(ctx: CanvasContext) -> str:
    """Pick the document: one board per project, whatever panel shows it."""
    return ctx.input.get("project", "").strip() or DEFAULT_PROJECT


def new_board(ctx: CanvasContext) -> Board:
    return Board(project=project_of(ctx))


def read_place(place: str) -> Boards:
    """Read `KANBAN_STORE`: `json`, `sqlite`, a Redis URL, a database file, or a folder for JSON."""
    if place in STORES:
        return STORES[place]
    if place.startswith(("redis://", "rediss://", "unix://")):
        return RedisStore(place, prefix="kanban")
    path = Path(place).expanduser()
    return SQLiteStore(path) if path.suffix in (".db", ".sqlite3") else JSONFileStore(path)


# Made once each: panels that name the same one share their boards, live.
STORES: dict[str, Boards] = {
    "json": JSONFileStore(),
    "sqlite": SQLiteStore(name="boards"),
}
USUAL_STORE = read_place(os.environ.get("KANBAN_STORE") or "json")


def store_of(ctx: CanvasContext) -> Boards:
    """Keep the board where its panel asks for it. A path is the user's to give, not the agent's."""
    return STORES.get(ctx.input.get("store", ""), USUAL_STORE)


kanban = create_canvas(
    id="agentic-kanban",
    display_name="Agentic Kanban",
    description=(
        "A shared board for people and agents. Use it to plan work as cards in columns, to see"
        " who does what, and to keep track of it across sessions."
    ),
    state=new_board,
    store=store_of,
    state_key=project_of,
    person_name=os.environ.get("KANBAN_NAME") or None,
    page=Path(__file__).parent / "page",
    alias=to_camel,
)

CardId = Annotated[str, "The card's id, such as card-k7f2q; get_board lists them."]
ColumnId = Annotated[str, "The column's id, such as doing; get_board lists them."]
Position = Annotated[int | None, "The place in the column, 0 is the top. Left out: the end."]
Title = Annotated[str, "One line of text."]
Notes = Annotated[str, "More about the card, as plain text."]
Assignee = Annotated[str, "Who works on it. Empty: nobody."]


@kanban.on_open
async def opened(
    board: Board,
    project: Annotated[
        str, "The board to show, such as a release. Left out: the one shared by all sessions."
    ] = "",
    store: Annotated[
        Literal["", "json", "sqlite"],
        "Where the board is kept: in a JSON file of its own that people can edit, or in a database,"
        " for boards of thousands of cards. They are different boards, even under the same name."
        " Left out: as the user has set it up.",
    ] = "",
) -> Opened:
    name = "" if board.project == DEFAULT_PROJECT else f": {board.project}"
    return Opened(title=f"Agentic Kanban{name}", status="ready")


@kanban.action
async def get_board(board: Board) -> list[ColumnInfo]:
    """Show the columns and their cards, without the cards' notes."""
    return [
        {
            "id": column.id,
            "title": column.title,
            "cards": [
                {"id": card.id, "title": card.title, "assignee": card.assignee}
                for card in column.cards
            ],
        }
        for column in board.columns
    ]


@kanban.action
async def list_cards(
    board: Board,
    column_id: ColumnId | None = None,
    assignee: Annotated[str | None, "Only this person's cards; empty: only unassigned."] = None,
    text: Annotated[str | None, "Only cards whose title or notes contain it."] = None,
) -> list[CardInfo]:
    """List cards with their notes, all or some of them."""
    columns = board.columns if column_id is None else [find_column(board, column_id)]
    wanted = (text or "").casefold()
    return [
        describe(column, position)
        for column in columns
        for position, card in enumerate(column.cards)
        if (assignee is None or card.assignee.casefold() == assignee.strip().casefold())
        and wanted in f"{card.title}\n{card.notes}".casefold()
    ]


@kanban.action
async def add_card(
    board: Board,
    title: Title,
    column_id: Annotated[str | None, "Where to put it. Left out: the first column."] = None,
    notes: Notes = "",
    assignee: Assignee = "",
    position: Position = None,
) -> CardInfo:
    """Add a card to the board."""
    if not board.columns:
        raise CanvasError("no_columns", "The board has no columns: add one with add_column first.")
    column = board.columns[0] if column_id is None else find_column(board, column_id)
    card = Card(
        id=new_card_id(),
        title=one_line(title, "title"),
        notes=limited(notes, "notes", NOTES_LIMIT),
        assignee=one_line(assignee, "assignee", required=False),
    )
    return describe(column, insert(column.cards, position, card))


@kanban.action
async def edit_card(
    board: Board,
    card_id: CardId,
    title: Title | None = None,
    notes: Notes | None = None,
    assignee: Assignee | None = None,
) -> CardInfo:
    """Change a card's title, notes or assignee. What is left out stays as it is."""
    column, position = find_card(board, card_id)
    card = column.cards[position]
    if title is not None:
        card.title = one_line(title, "title")
    if notes is not None:
        card.notes = limited(notes, "notes", NOTES_LIMIT)
    if assignee is not None:
        card.assignee = one_line(assignee, "assignee", required=False)
    return describe(column, position)


@kanban.action
async def move_card(
    board: Board, card_id: CardId, column_id: ColumnId, position: Position = None
) -> CardInfo:
    """Move one card to another column, or to another place in its own."""
    target = find_column(board, column_id)
    source, old_position = find_card(board, card_id)
    if source.id == target.id and position == old_position:
        return describe(source, old_position)
    card = source.cards.pop(old_position)
    return describe(target, insert(target.cards, position, card))


@kanban.action
async def delete_card(board: Board, card_id: CardId) -> CardInfo:
    """Delete a card, and answer what it said. `undo` brings it back."""
    column, position = find_card(board, card_id)
    card = describe(column, position)
    del column.cards[position]
    return card


@kanban.action
async def add_column(
    board: Board,
    title: Title,
    position: Annotated[int | None, "0 is the first column. Left out: the last."] = None,
) -> ColumnInfo:
    """Add an empty column."""
    title = free_title(board, title)
    column_id = free_id(board, title)
    insert(board.columns, position, Column(column_id, title))
    return {"id": column_id, "title": title, "cards": []}


@kanban.action
async def rename_column(board: Board, column_id: ColumnId, title: Title) -> None:
    """Give a column another title. Its id stays."""
    find_column(board, column_id).title = free_title(board, title, column_id)


@kanban.action
async def move_column(
    board: Board, column_id: ColumnId, position: Annotated[int, "0 is the first column."]
) -> None:
    """Move a column with all its cards."""
    old_position = board.columns.index(find_column(board, column_id))
    if position != old_position:
        insert(board.columns, position, board.columns.pop(old_position))


@kanban.action
async def remove_column(board: Board, column_id: ColumnId) -> None:
    """Remove an empty column."""
    column = find_column(board, column_id)
    if column.cards:
        number = "1 card" if len(column.cards) == 1 else f"{len(column.cards)} cards"
        raise CanvasError(
            "column_not_empty",
            f"The column {column.title!r} still holds {number}: move or delete them first.",
        )
    board.columns.remove(column)


# Who changed what ---------------------------------------------------------------------------------


@kanban.action
async def history(
    ctx: CanvasContext[Board], limit: Annotated[int, "How many lines at most."] = 20
) -> list[Entry]:
    """Tell who changed what on the board, newest first. `undo` takes a revision from here."""
    return tell_history(ctx, limit)


@kanban.action
async def undo(
    ctx: CanvasContext[Board],
    revision: Annotated[
        int | None, "Which change, as history lists it. Left out: your own latest."
    ] = None,
) -> Entry:
    """Take one change back, as long as nobody has built on it."""
    try:
        made = await ctx.state.undo(revision, of=ctx.author if revision is None else None)
    except RevisionConflict as conflict:
        raise in_words(ctx, conflict) from conflict
    return entry_of(ctx, made.number)


@kanban.action
async def redo(ctx: CanvasContext[Board]) -> Entry:
    """Do again what your own latest undo took back."""
    try:
        made = await ctx.state.redo(of=ctx.author)
    except RevisionConflict as conflict:
        raise in_words(ctx, conflict) from conflict
    return entry_of(ctx, made.number)


def in_words(ctx: CanvasContext[Board], conflict: RevisionConflict) -> CanvasError:
    """Say what is in the way of an undo as the history does, not by numbers."""
    told = {entry["revision"]: entry for entry in tell_history(ctx)}
    wanted, other = told.get(conflict.expected), told.get(conflict.actual)
    if wanted is None or other is None:
        return conflict
    return CanvasError(
        conflict.code,
        f"This cannot be undone any more: {wanted['text']}. It has been built on since, by the"
        f" {other['who']}: {other['text']}. Undo that first (revision {other['revision']}).",
    )


def entry_of(ctx: CanvasContext[Board], revision: int) -> Entry:
    return next(entry for entry in tell_history(ctx) if entry["revision"] == revision)


def tell_history(ctx: CanvasContext[Board], limit: int | None = None) -> list[Entry]:
    """Put the latest revisions into words, newest first, on the way back from the board of now."""
    revisions = ctx.state.history()
    undone: set[int | None] = set()
    texts: dict[int | None, tuple[str, str]] = {}
    after: Any = ctx.state.document
    for one in reversed(revisions):
        before = one.before(after)
        texts[one.number] = "", what_changed(before, after)
        after = before
        if one.number not in undone:
            undone.add(one.reverts)
    for one in revisions:
        if one.reverts in texts:
            said, text = texts[one.reverts]
            texts[one.number] = ("Redid: " if said == "Undid: " else "Undid: "), text
    entries: list[Entry] = [
        {
            "revision": one.number,
            "who": one.author,
            "at": datetime.fromtimestamp(one.time, UTC).isoformat(timespec="seconds"),
            "text": "".join(texts[one.number]),
            "undoable": one.number not in undone,
        }
        for one in reversed(revisions)
    ]
    return entries[:limit]


def what_changed(before: Any, after: Any) -> str:
    """Say in one line what is different between two boards, both as JSON."""
    # What a change left alone is the same object in both.
    kept = {id(column) for column in before["columns"]} & {id(one) for one in after["columns"]}
    old = {one["id"]: one for one in before["columns"] if id(one) not in kept}
    new = {one["id"]: one for one in after["columns"] if id(one) not in kept}
    told = [*told_of_cards(old, new), *told_of_columns(old, new)]
    if not told:
        told = [text for key in old if (text := told_of_order(old[key], new[key]))]
    if not told:
        return "Changed the order of the columns"
    return told[0] if len(told) == 1 else f"{told[0]}, and {len(told) - 1} more"


def told_of_cards(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    old_cards = {card["id"]: (card, key) for key in old for card in old[key]["cards"]}
    new_cards = {card["id"]: (card, key) for key in new for card in new[key]["cards"]}
    for card_id, (card, key) in new_cards.items():
        if card_id not in old_cards:
            yield f"Added {quoted(card)} to {new[key]['title']}"
            continue
        old_card, old_key = old_cards[card_id]
        if old_key != key:
            yield f"Moved {quoted(card)} to {new[key]['title']}"
        edited = [name for name in ("title", "notes", "assignee") if card[name] != old_card[name]]
        if edited:
            fields = ", ".join(edited[:-1]) + " and " * (len(edited) > 1) + edited[-1]
            yield f"Edited the {fields} of {quoted(card)}"
    yield from (
        f"Deleted {quoted(card)}"
        for card_id, (card, _) in old_cards.items()
        if card_id not in new_cards
    )


def told_of_columns(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    for key, column in new.items():
        if key not in old:
            yield f"Added the column {quoted(column)}"
        elif old[key]["title"] != column["title"]:
            yield f"Renamed the column {quoted(old[key])} to {quoted(column)}"
    yield from (f"Removed the column {quoted(old[key])}" for key in old if key not in new)


def told_of_order(old: Any, new: Any) -> str:
    """Tell which card was moved within its column, if one was."""
    before, after = ([card["id"] for card in column["cards"]] for column in (old, new))
    differing = [pair for pair in zip(before, after, strict=False) if pair[0] != pair[1]]
    for card_id in differing[0] if differing else ():
        if [one for one in before if one != card_id] == [one for one in after if one != card_id]:
            card = next(one for one in new["cards"] if one["id"] == card_id)
            return f"Moved {quoted(card)} within {new['title']}"
    return f"Changed the order of the cards in {new['title']}" if differing else ""


def quoted(item: Any) -> str:
    title = str(item["title"])
    return f"“{title if len(title) <= 60 else title[:59] + '…'}”"


# What the actions are made of -------------------------------------------------------------------


def find_column(board: Board, column_id: str) -> Column:
    for column in board.columns:
        if column.id == column_id:
            return column
    known = ", ".join(column.id for column in board.columns) or "none yet"
    raise CanvasError(
        "column_not_found", f"There is no column {column_id!r}. The columns are: {known}."
    )


def find_card(board: Board, card_id: str) -> tuple[Column, int]:
    """Find a card's column and its position there."""
    for column in board.columns:
        for position, card in enumerate(column.cards):
            if card.id == card_id:
                return column, position
    raise CanvasError(
        "card_not_found", f"There is no card {card_id!r}: get_board lists the cards there are."
    )


def new_card_id() -> str:
    """Make an id that no card has or had.

    Not the next number: who counts writes to one place in each change, and then no card could be
    undone once another was added.
    """
    return "card-" + "".join(secrets.choice("23456789bcdfghjkmnpqrstvwxz") for _ in range(6))


def describe(column: Column, position: int) -> CardInfo:
    card = column.cards[position]
    return {
        "id": card.id,
        "title": card.title,
        "notes": card.notes,
        "assignee": card.assignee,
        "columnId": column.id,
        "position": position,
    }


def insert(items: list[T], position: int | None, item: T) -> int:
    """Insert where it was asked for, as near as the list allows, and say where that was."""
    index = len(items) if position is None else max(0, min(position, len(items)))
    items.insert(index, item)
    return index


def limited(text: str, name: str, limit: int) -> str:
    text = text.strip()
    if len(text) > limit:
        raise CanvasError("text_too_long", f"The {name} has {len(text)} characters, of {limit}.")
    return text


def one_line(text: str, name: str, *, required: bool = True) -> str:
    line = limited(" ".join(text.split()), name, TITLE_LIMIT)
    if required and not line:
        raise CanvasError("text_missing", f"The {name} is empty: say it in a few words.")
    return line


def free_title(board: Board, title: str, column_id: str | None = None) -> str:
    """Refuse a second column of that title: neither people nor agents could tell them apart."""
    title = one_line(title, "title")
    for other in board.columns:
        if other.id != column_id and other.title.casefold() == title.casefold():
            raise CanvasError(
                "column_exists", f"There is a column {other.title!r} already: its id is {other.id}."
            )
    return title


def free_id(board: Board, title: str) -> str:
    """Make a readable id: `In review` becomes `in-review`, a second one `in-review-2`."""
    words = "".join(c if c.isalnum() else " " for c in title.casefold()).split()
    base = "-".join(words) or "column"
    return next(name for name in numbered(base) if all(c.id != name for c in board.columns))


def numbered(base: str) -> Iterator[str]:
    yield base
    number = 2
    while True:
        yield f"{base}-{number}"
        number += 1


if __name__ == "__main__":
    run(kanban)
