"""The ASGI app of one open instance.

    GET  /TOKEN/               the page, and its files below
    GET  /TOKEN/state          {"revision": 7, "state": …}
    GET  /TOKEN/events         the event stream
    POST /TOKEN/actions/NAME   an action, called by a person
    GET  /TOKEN/canvas.js      the page's half of all this
    GET  /TOKEN/canvas.css     the host's theme, with fallbacks
    GET  /TOKEN/development.js in development only: what canvas.js then loads, too
         /TOKEN/…              the author's routes

The guards stand in front of everything, in the order of `serving.guards`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal

from starlette.types import ASGIApp, Receive, Scope, Send

from canvas_provider.canvas.threads import Workers
from canvas_provider.serving.guards import (
    BodyLimit,
    ContentTypeGuard,
    HostGuard,
    Hosts,
    OriginGuard,
    TokenGuard,
)
from canvas_provider.serving.headers import ContentPolicy, SecurityHeaders
from canvas_provider.serving.responses import NOT_FOUND, send_error, send_json, send_response
from canvas_provider.types import Token
from canvas_provider.web.actions import invoke_action
from canvas_provider.web.assets import ASSETS, DEVELOPMENT_ASSETS, Asset
from canvas_provider.web.failures import ErrorBoundary
from canvas_provider.web.feed import Feed
from canvas_provider.web.files import DefaultPage, PageFiles
from canvas_provider.web.routes import AuthorRoutes

if TYPE_CHECKING:
    from canvas_provider.canvas.instance import Instance

__all__ = ["InstanceApp", "create_app"]

READ: Final = frozenset({"GET", "HEAD"})
WRITE: Final = frozenset({"POST"})

ACTIONS: Final = "actions/"


class InstanceApp:
    """Everything at one origin. Call `bind` once its `host:port` is known, `close` at the end.

    Args:
        development: the page listens to the development host that embeds it.
    """

    def __init__(self, instance: "Instance", *, token: Token, development: bool = False) -> None:
        canvas = instance.canvas
        self._hosts = Hosts(canvas.allowed_hosts)
        policy = ContentPolicy(canvas.csp)
        self._site = _Site(instance, policy, DEVELOPMENT_ASSETS if development else ASSETS)
        app: ASGIApp = OriginGuard(self._site, self._hosts)
        app = TokenGuard(app, token)
        app = HostGuard(app, self._hosts)
        app = ErrorBoundary(app, canvas.id)
        self._app = SecurityHeaders(app, policy)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._app(scope, receive, send)

    def bind(self, host: str) -> None:
        """Answer to `host` (`127.0.0.1:PORT`). Until then every request is refused."""
        self._hosts.bind(host)

    @property
    def visited(self) -> bool:
        """Whether any request has come past the guards."""
        return self._site.visited

    def close(self, reason: Literal["closed", "shutdown"]) -> None:
        """End every event stream with `closed` and this reason. Idempotent."""
        self._site.feed.close(reason)

    def drop_streams(self) -> int:
        """Break every event stream off, and return how many. Pages come back by themselves."""
        return self._site.feed.stream.cut()


def create_app(instance: "Instance", *, token: Token, host: str) -> InstanceApp:
    """Create the app of an instance that is reached at `http://HOST/TOKEN/`."""
    app = InstanceApp(instance, token=token)
    app.bind(host)
    return app


class _Site:
    """What comes after the guards: which path is what."""

    def __init__(
        self, instance: "Instance", policy: ContentPolicy, assets: Mapping[str, Asset]
    ) -> None:
        canvas, workers = instance.canvas, Workers()
        self.feed = Feed(instance)
        self.visited = False
        self._instance = instance
        self._assets = assets
        self._files = (
            DefaultPage(canvas.display_name, policy)
            if canvas.page is None
            else PageFiles(canvas.page, policy, workers)
        )
        self._routes = AuthorRoutes(instance, policy, workers) if canvas.routes else None
        action: ASGIApp = BodyLimit(self._invoke, canvas.max_body)
        self._action = ContentTypeGuard(action)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.visited = True
        path = scope["path"].removeprefix(scope["root_path"])
        if not path:
            await self._redirect(scope, send)
            return
        path = path[1:]
        if path.startswith(ACTIONS):
            if await _takes(WRITE, scope, send):
                await self._action(scope, receive, send)
        elif path == "events":
            if await _takes(READ, scope, send):
                await self.feed.stream(scope, receive, send)
        elif path == "state":
            if await _takes(READ, scope, send):
                await self._send_state(send)
        elif path in self._assets:
            if await _takes(READ, scope, send):
                asset = self._assets[path]
                await send_response(send, 200, asset.read(), asset.content_type, asset.headers)
        else:
            await self._send_own(path, scope, receive, send)

    async def _invoke(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = scope["path"].removeprefix(f"{scope['root_path']}/{ACTIONS}")
        await invoke_action(self._instance, name, scope, receive, send)

    async def _send_state(self, send: Send) -> None:
        version, document = self.feed.document()
        etag = (b"etag", f'"{version}"'.encode())
        await send_json(send, {"revision": int(version), "state": document}, headers=[etag])

    async def _redirect(self, scope: Scope, send: Send) -> None:
        if await _takes(READ, scope, send):
            # Relative, so that it also holds behind whatever relays the page.
            location = scope["root_path"].rpartition("/")[2] + "/"
            headers = [(b"location", location.encode())]
            await send_response(send, 307, b"", b"text/plain; charset=utf-8", headers)

    async def _send_own(self, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        """The author's: a route, else a file of the page."""
        allowed: set[str] = set()
        if self._routes is not None:
            route, child_scope, allowed = self._routes.find(scope)
            if route is not None:
                await route.handle({**scope, **child_scope}, receive, send)
                return
        response = await self._files.respond(path)
        if response is not None:
            allowed |= READ
        if not allowed:
            await send_error(send, *NOT_FOUND)
        elif await _takes(allowed, scope, send) and response is not None:
            await response(scope, receive, send)


async def _takes(methods: frozenset[str] | set[str], scope: Scope, send: Send) -> bool:
    """Tell whether the method is one of `methods`; answer 405 if not."""
    if scope["method"] in methods:
        return True
    allow = ", ".join(sorted(methods))
    message = f"This address takes {allow} only."
    await send_error(send, 405, "method_not_allowed", message, headers=[(b"allow", allow.encode())])
    return False
