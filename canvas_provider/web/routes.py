"""The author's own routes: Starlette endpoints behind the same guards as everything else."""

import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.routing import Route as StarletteRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from canvas_provider.canvas.context import CanvasContext
from canvas_provider.canvas.threads import Workers
from canvas_provider.serving.guards import BodyLimit, ContentTypeGuard
from canvas_provider.serving.headers import CSP, ContentPolicy

if TYPE_CHECKING:
    from canvas_provider.canvas.declaration import Route
    from canvas_provider.canvas.instance import Instance

__all__ = ["AuthorRoutes"]


class AuthorRoutes:
    """Finds the route for a request, and the methods it would have taken."""

    def __init__(self, instance: "Instance", policy: ContentPolicy, workers: Workers) -> None:
        self._routes = [
            _create_route(route, _Endpoint(route.endpoint, instance, policy, workers), instance)
            for route in instance.canvas.routes
        ]

    def find(self, scope: Scope) -> tuple[StarletteRoute | None, Scope, set[str]]:
        """The route, what it adds to the scope, and, if none takes the method, who would."""
        allowed: set[str] = set()
        for route in self._routes:
            match, child_scope = route.matches(scope)
            if match is Match.FULL:
                return route, child_scope, set()
            if match is Match.PARTIAL:
                allowed |= route.methods or set()
        return None, {}, allowed


def _create_route(route: "Route", app: ASGIApp, instance: "Instance") -> StarletteRoute:
    app = BodyLimit(app, instance.canvas.max_body)
    app = ContentTypeGuard(app, route.content_types)
    return StarletteRoute(route.path, app, methods=route.methods, name=route.path)


class _Endpoint:
    """`endpoint(request)` or `endpoint(request, ctx)`, async or not, as an ASGI app."""

    def __init__(
        self,
        endpoint: Callable[..., object],
        instance: "Instance",
        policy: ContentPolicy,
        workers: Workers,
    ) -> None:
        self._endpoint = endpoint
        self._instance = instance
        self._policy = policy.header
        self._workers = workers
        self._takes_context = len(inspect.signature(endpoint).parameters) > 1
        self._is_async = inspect.iscoroutinefunction(endpoint)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        arguments = (request, self._context()) if self._takes_context else (request,)
        response = await self._call(*arguments)
        if not isinstance(response, Response):
            name = getattr(self._endpoint, "__qualname__", "endpoint")
            raise TypeError(
                f"The route {name} returned {type(response).__name__}: "
                "return a starlette Response, such as JSONResponse(…)."
            )
        if CSP.decode() in response.headers:
            # Two policies: a browser enforces both, so an author's own can only narrow ours.
            response.raw_headers.append((CSP, self._policy))
        await response(scope, receive, send)

    def _context(self) -> CanvasContext[Any]:
        return CanvasContext[Any](self._instance, input={}, author="person")

    async def _call(self, *arguments: object) -> object:
        if self._is_async:
            result = self._endpoint(*arguments)
            assert isinstance(result, Awaitable)
            return await result
        return await self._workers.run(partial(self._endpoint, *arguments))
