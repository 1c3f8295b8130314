"""AHP beside the panel. A module of its own, because aiohttp takes its time to load."""

import click

from canvas_provider.ahp.development import DevelopmentChat
from canvas_provider.ahp.host import AHPHost
from canvas_provider.host.workbench import Workbench

__all__ = ["start_bridge"]


async def start_bridge(bench: Workbench, port: int) -> AHPHost:
    """Serve what the workbench shows to AHP clients, and print where.

    Raises:
        OSError: the port is taken.
    """
    host = await AHPHost.start([DevelopmentChat(bench)], port=port)
    click.echo(f"  AHP clients connect to {click.style(host.url, fg='cyan')}\n")
    return host
