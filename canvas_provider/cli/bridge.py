"""AHP beside the panel. A module of its own, because aiohttp takes its time to load."""

import click

from canvas_provider.ahp.development import DevelopmentChat, session_id_of
from canvas_provider.ahp.host import AHPHost
from canvas_provider.host.bench import Bench
from canvas_provider.types import JSONObject

__all__ = ["start_bridge"]


async def start_bridge(bench: Bench, port: int) -> AHPHost:
    """Serve what the bench shows to AHP clients, and print where.

    Raises:
        OSError: the port is taken.
    """
    host = await AHPHost.start(port=port)

    def note(kind: str, data: JSONObject) -> None:
        if kind == "session":
            host.add(DevelopmentChat(bench))

    if session_id_of(bench):
        host.add(DevelopmentChat(bench))
    else:
        # A runtime that gives it its id begins later.
        bench.subscribe(note)
    click.echo(f"  AHP clients connect to {click.style(host.url, fg='cyan')}\n")
    return host
