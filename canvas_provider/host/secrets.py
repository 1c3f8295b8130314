"""Variables of the host that an extension does not get unless a person grants them."""

from collections.abc import Callable, Collection, Mapping

from canvas_provider.host.process import STRIPPED
from canvas_provider.host.registry import HostRefusal
from canvas_provider.types import JSONObject

__all__ = ["Secrets"]


class Secrets:
    """What was kept back, and of that what was granted. No repr: it would show them.

    Args:
        environment: the host's.
        granted: names.
        on_denied: called with the names that were asked for in vain.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        granted: Collection[str] = (),
        on_denied: Callable[[list[str]], object] = lambda names: None,
    ) -> None:
        self._kept = {name: environment[name] for name in STRIPPED & environment.keys()}
        self._granted = frozenset(granted)
        self._on_denied = on_denied

    def grant(self, extension_id: str, params: JSONObject) -> dict[str, str]:
        """Return what `session.resume` asks for and what was kept back.

        What an extension has anyway, or what is not set, nobody is asked for.

        Raises:
            HostRefusal: not all of it was granted.
        """
        wanted = params.get("requestedEnvironmentVariables")
        names = wanted if isinstance(wanted, list) else []
        asked = sorted(self._kept.keys() & {name for name in names if isinstance(name, str)})
        if denied := [name for name in asked if name not in self._granted]:
            self._on_denied(denied)
            raise HostRefusal(
                f'Extension "{extension_id}" was denied access to sensitive environment variables '
                "and will not be loaded."
            )
        return {name: self._kept[name] for name in asked}
