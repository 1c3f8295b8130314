"""The programs that some tests need: found, or the test is skipped with the reason.

With `CANVAS_PROVIDER_TESTS_MUST_RUN=1` a missing program is a failure: a green run that ran
nothing is worth nothing. npm packages are looked for in `$CANVAS_PROVIDER_NPM/node_modules`, then
in `.tools/node_modules` of the checkout, where `make test` puts them.
"""

import os
import shutil
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NoReturn

import pytest

from canvas_provider.testing import CopilotCLINotFound, find_copilot_cli

ROOT: Final = Path(__file__).parents[2]

# Read when the tests are collected: a test itself sees a clean environment.
MUST_RUN: Final = os.environ.get("CANVAS_PROVIDER_TESTS_MUST_RUN") == "1"
NPM: Final = os.environ.get("CANVAS_PROVIDER_NPM")

CHROMIUM: Final = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The shell first: the same engine without a browser around it, which starts in a third of the
time."""


def require_chromium() -> str:
    """Return the path of a Chromium, and make sure that playwright can be imported."""
    if find_spec("playwright") is None:
        _missing("playwright is not installed: pip install '.[dev]'")
    for name in CHROMIUM:
        if (path := shutil.which(name)) is not None:
            return path
    _missing("no Chromium on PATH: apt-get install chromium")


def require_node() -> str:
    """Return the path of `node`, version 20 or newer."""
    if (path := shutil.which("node")) is not None:
        return path
    _missing("no node on PATH: install Node.js 20 or newer")


def require_redis() -> str:
    """Return the path of `redis-server`."""
    if (path := shutil.which("redis-server")) is not None:
        return path
    _missing("no redis-server on PATH: apt-get install redis-server")


def require_openssl() -> str:
    """Return the path of `openssl`, which makes certificates."""
    if (path := shutil.which("openssl")) is not None:
        return path
    _missing("no openssl on PATH: apt-get install openssl")


def require_copilot_cli() -> Path:
    """Return the Copilot CLI."""
    for folder in ([Path(NPM)] if NPM else []) + [ROOT / ".tools"]:
        with suppress(CopilotCLINotFound):
            return find_copilot_cli(folder)
    _missing("there is no Copilot CLI: npm install --prefix .tools @github/copilot")


def require_node_sdk() -> Path:
    """Return the folder of the Node SDK's type declarations."""
    sdk = Path(NPM or ROOT / ".tools") / "node_modules" / "@github" / "copilot-sdk" / "dist"
    if not sdk.is_dir():
        _missing("there is no Node SDK: npm install --prefix .tools @github/copilot-sdk")
    return sdk


def _missing(reason: str) -> NoReturn:
    if MUST_RUN:
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
