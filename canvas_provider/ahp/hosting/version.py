"""Which version of the protocol a connection speaks (versioning.md: the caret rule)."""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple, Self

from canvas_provider.protocol.ahp import ActionType
from canvas_provider.protocol.ahp_canvases import CanvasAction

__all__ = ["BASELINE", "Version", "negotiate"]

_FORM: Final = re.compile(r"(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})", re.ASCII)


class Version(NamedTuple):
    major: int
    minor: int
    patch: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `x.y.z`.

        Raises:
            ValueError: it is no version.
        """
        found = _FORM.fullmatch(text)
        if found is None:
            raise ValueError("no version")
        return cls(*map(int, found.groups()))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"

    @property
    def has_registry(self) -> bool:
        """Whether the types of canvases and the commands for them are known to it."""
        return self >= REGISTRY_SINCE

    def knows(self, action_type: object) -> bool:
        """Whether an action of this type may be sent to who speaks it."""
        return self >= INTRODUCED.get(str(action_type), BASELINE)


BASELINE: Final = Version(1, 0, 0)

REGISTRY_SINCE: Final = Version(1, 1, 0)

INTRODUCED: Final[dict[str, Version]] = {
    # Dated 0.10.0 by the protocol, which was never released: everybody here knows them.
    ActionType.CHAT_CANVASES_CHANGED: BASELINE,
    ActionType.CANVAS_STATE_CHANGED: BASELINE,
    CanvasAction.REGISTRY_CHANGED: REGISTRY_SINCE,
    CanvasAction.REGISTRY_REQUESTED: REGISTRY_SINCE,
}


def negotiate(offered: Iterable[str]) -> Version | None:
    """Choose the highest that is compatible with 1.0.0, whatever the order; None if none is.

    Raises:
        ValueError: one is no version.
    """
    versions = [Version.parse(each) for each in offered]
    return max((each for each in versions if each.major == BASELINE.major), default=None)
