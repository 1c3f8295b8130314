"""JSON with any part missing or of another type, as a newer or a mistaken runtime sends it."""

import copy
import random
from collections.abc import Iterator
from typing import Any, Final

__all__ = ["OTHERS", "mutations"]

OTHERS: Final[tuple[Any, ...]] = (None, True, 7, 1e300, "x", "", [], ["x"], [[]], {}, {"x": 1})


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))


def mutate(value: Any, path: tuple[Any, ...], replacement: Any) -> Any:
    """Put something else at a place; `places` itself takes it away."""
    if not path:
        return replacement
    changed = copy.deepcopy(value)
    inside = changed
    for key in path[:-1]:
        inside = inside[key]
    if replacement is places:
        del inside[path[-1]]
    else:
        inside[path[-1]] = replacement
    return changed


def mutations(value: Any) -> Iterator[Any]:
    """Every place missing or something else; then some at several places at once."""
    found = list(places(value))
    for path in found:
        for other in (*OTHERS, *((places,) if path else ())):
            yield mutate(value, path, other)
    generator = random.Random(7)
    for _ in range(50):
        changed = copy.deepcopy(value)
        for path in generator.sample(found, min(2, len(found))):
            try:
                changed = mutate(changed, path, generator.choice(OTHERS))
            except (KeyError, TypeError):
                continue  # the place went with another
        yield changed
