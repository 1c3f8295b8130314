"""Both runtimes, for the contract that they share: `hosts`, `start` and `host`."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from canvas_provider.testing import CopilotCLI
from canvas_provider.types import JSONObject
from tests.support.hosts import TIMEOUT, CopilotHost, EmbeddedHost, Host, wait_status
from tests.support.puppets import Puppet, canvas
from tests.support.require import require_copilot_cli

Hosts = Callable[[Path, dict[str, JSONObject]], Host]
Start = Callable[..., Awaitable[Host]]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(
    scope="module",
    params=["embedded", pytest.param("copilot", marks=pytest.mark.copilot)],
)
async def hosts(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Hosts]:
    """Make sessions of a runtime; the CLI is one for all tests of a module."""
    async with AsyncExitStack() as stack:
        cli: CopilotCLI | None = None
        if request.param == "copilot":
            folder, binary = tmp_path_factory.mktemp("cli"), require_copilot_cli()
            cli = CopilotCLI(folder, binary=binary, timeout=TIMEOUT)
            await stack.enter_async_context(cli)

        def create(folder: Path, configs: dict[str, JSONObject]) -> Host:
            extensions = folder / ".github" / "extensions"
            puppets = {name: Puppet(extensions / name, it) for name, it in configs.items()}
            if cli is None:
                return EmbeddedHost(folder, puppets)
            return CopilotHost(folder, puppets, cli)

        yield create


@pytest.fixture
async def start(hosts: Hosts, tmp_path: Path) -> AsyncIterator[Start]:
    """Start a session with these puppets, by name: `await start(a={"canvases": [canvas("b")]})`.

    Those that are not told otherwise by `waiting=False` are running when it returns.
    """
    async with AsyncExitStack() as stack:

        async def begin(*, waiting: bool = True, **configs: JSONObject) -> Host:
            host = hosts(tmp_path, configs)
            await host.start()
            stack.push_async_callback(host.aclose)
            if waiting:
                for name in configs:
                    await wait_status(host, name, "running")
            return host

        yield begin


@pytest.fixture(scope="module")
async def host(hosts: Hosts, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Host]:
    """One session for every test that leaves it in order: `a` has canvas `board`, and shares
    `both` with `b`.
    """
    folder = tmp_path_factory.mktemp("shared")
    configs: dict[str, JSONObject] = {
        "a": {"canvases": [canvas("board"), canvas("both")]},
        "b": {"canvases": [canvas("both"), canvas("other")]},
    }
    host = hosts(folder, configs)
    await host.start()
    try:
        for name in configs:
            await wait_status(host, name, "running")
        yield host
    finally:
        await host.aclose()
