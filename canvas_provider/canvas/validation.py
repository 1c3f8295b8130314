"""Whether an input fits its schema, decided as the runtime does: draft-07.

It knows the rule and the place of each problem, and keeps the value out of every text: inputs are
written by a model or typed by a person, and error texts end up in logs.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from canvas_provider.canvas.fastcheck import compile_check
from canvas_provider.canvas.surrogates import HalfPair
from canvas_provider.errors import InvalidInput
from canvas_provider.types import JSONValue

__all__ = ["InputRefused", "Problem", "Validator", "to_place"]

_SHOWN: Final = 10
"""So many problems are spelled out in one answer."""

_LONGEST: Final = 64
"""Characters of a field's name that are repeated: an unknown one is the caller's own text."""


class Problem(NamedTuple):
    """Where (a JSON pointer into the input) and what."""

    place: str
    text: str


class InputRefused(Exception):
    """Problems found after the schema was satisfied, by a type's own checks."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(problems)
        self.problems = problems

    def at(self, name: str) -> "InputRefused":
        """Return the same, one field further out."""
        prefix = to_place([name])
        inside = ("" if place == _ROOT else place for place, _ in self.problems)
        texts = (text for _, text in self.problems)
        return InputRefused([Problem(prefix + p, t) for p, t in zip(inside, texts, strict=True)])


_ROOT: Final = "(root)"
_HALF: Final = HalfPair((), in_key=False)


def to_place(path: Iterable[str | int]) -> str:
    """Write a path as a JSON pointer (RFC 6901); the root is `(root)`, as the runtime writes it."""
    parts = [str(part)[:_LONGEST].replace("~", "~0").replace("/", "~1") for part in path]
    return "/" + "/".join(parts) if parts else _ROOT


class Validator:
    """One schema, compiled once. `subject` says whose input it is: `action "move_card"`."""

    def __init__(self, schema: JSONValue, subject: str) -> None:
        self._schema = schema
        self._subject = subject
        fits = compile_check(schema)
        # Where a `HalfPair` would fit, as anything does, the slow way is to find it.
        self._fits = None if fits is not None and fits(_HALF) else fits
        self._explain: Callable[[JSONValue], list[Problem]] | None = None

    def check(self, value: JSONValue) -> None:
        """Accept `value`.

        Raises:
            InvalidInput: it does not fit; the text names every field that does not.
        """
        try:
            if self._fits is not None and self._fits(value):
                return
            problems = self.problems(value)
        except RecursionError:
            problems = [Problem(_ROOT, "is nested too deeply")]
        if problems:
            raise self.refuse(problems)

    def problems(self, value: JSONValue) -> list[Problem]:
        """Return all that is wrong with `value`, as jsonschema sees it."""
        if isinstance(value, HalfPair):
            # Only a parser makes one, in the place of a whole input: never within JSON.
            what = "has a key" if value.in_key else "is text"
            text = f"{what} with half of a surrogate pair, which is not Unicode"
            return [Problem(to_place(value.path), text)]
        if self._explain is None:
            # jsonschema costs tens of milliseconds: only a process that needs it pays.
            from canvas_provider.canvas.complaint import create_explain

            self._explain = create_explain(self._schema)
        return self._explain(value)

    def refuse(self, problems: Sequence[Problem]) -> InvalidInput:
        """Return the answer that spells `problems` out."""
        said = [f"{place}: {text}" for place, text in problems[:_SHOWN]]
        if len(problems) > _SHOWN:
            said.append(f"and {len(problems) - _SHOWN} more")
        return InvalidInput(f"Invalid input for {self._subject}: {'; '.join(said)}.")
