"""Canvases inside a Python app that embeds the Copilot SDK.

pip install 'canvas-provider[copilot]'

async with CopilotClient() as client, CanvasHost([board], id="app:boards") as host:
    session = await client.create_session(**host.options)
    host.attach(session)
"""

from canvas_provider.sdk.host import CanvasHost, SessionOptions

__all__ = ["CanvasHost", "SessionOptions"]
