"""A revision as others remember it: its number, and which document it is a number of.

Numbers come again when a store is reset, or when a process begins with another document. So each
process gives the document that it has open an epoch, and another one at each reset.
"""

import re
from typing import Final, Self

__all__ = ["Version"]

_TEXT: Final = re.compile(r"([0-9]{1,18})(?:-([\w-]{1,64}))?", re.ASCII)


class Version(int):
    """The number of a revision, with the epoch that it is from.

    Without an epoch it trusts whoever names it. As text it is `7-1f0e3dad`, or `7`.
    """

    epoch: str | None

    def __new__(cls, number: int, epoch: str | None = None) -> Self:
        version = super().__new__(cls, number)
        version.epoch = epoch
        return version

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read what `str` wrote; `None` if it is nothing of the kind."""
        found = _TEXT.fullmatch(text)
        return None if found is None else cls(int(found[1]), found[2])

    def __str__(self) -> str:
        number = int.__repr__(self)
        return number if self.epoch is None else f"{number}-{self.epoch}"

    __repr__ = __str__
