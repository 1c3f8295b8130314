"""A provider where things are not as on the machine of its author."""

import asyncio
import os
import resource
import stat
from pathlib import Path
from typing import Final

import httpx
import pytest

from canvas_provider.errors import RemoteError
from tests.support.provider import Provider, provider

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(os.name == "nt", reason="POSIX surroundings"),
]

EXTENSION: Final = '''
import os, sys
from pathlib import Path
from canvas_provider import JSONFileStore, SQLiteStore, create_canvas, run

KINDS = {"json": JSONFileStore, "sqlite": SQLiteStore}

board = create_canvas(
    id="board", display_name="Bräd ☃", description="A board.", state=dict,
    page=Path(__file__).parent / "page",
    store=KINDS[os.environ.get("KIND", "json")](), state_key=lambda ctx: "board",
)

@board.action
async def add(state: dict, text: str) -> list[str]:
    """Add a line."""
    print("adding", text, file=sys.stderr, flush=True)
    state.setdefault("items", []).append(text)
    return state["items"]

run(board)
'''

TEXT: Final = "ünï ☃ 漢字 🂡"


def write(folder: Path) -> Path:
    (folder / "page").mkdir(parents=True)
    (folder / "page" / "index.html").write_text(f"<!doctype html><p>{TEXT}", encoding="utf-8")
    (folder / "extension.py").write_text(EXTENSION, encoding="utf-8")
    return folder / "extension.py"


@pytest.fixture
def extension(tmp_path: Path) -> Path:
    return write(tmp_path / "board")


def artifacts() -> Path:
    return Path(os.environ["COPILOT_HOME"]) / "extensions" / "board" / "artifacts"


async def works(it: Provider) -> None:
    """It opens, changes, stores, shows its page, and ends when told to."""
    url = str((await it.open())["url"])
    assert await it.invoke("add", {"text": TEXT}) == [TEXT]
    async with httpx.AsyncClient(trust_env=False) as http, asyncio.timeout(5):
        assert TEXT in (await http.get(url)).text
        assert (await http.get(url + "state")).json()["state"] == {"items": [TEXT]}
    await it.peer.aclose()
    assert await it.exit_code() == 0
    assert "Traceback" not in it.errors()


LOCALES: Final[list[dict[str, str]]] = [
    {"LC_ALL": "C"},
    {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
    {"LC_ALL": "en_US.ISO-8859-1", "PYTHONUTF8": "0"},
]


@pytest.mark.parametrize("locale", LOCALES, ids=lambda one: " ".join(one))
async def test_no_locale_changes_a_text(
    extension: Path, locale: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in locale.items():
        monkeypatch.setenv(name, value)
    async with provider(extension) as it:
        await works(it)
    (file,) = artifacts().glob("*.json")
    assert TEXT in file.read_text(encoding="utf-8")


FOLDERS: Final = [
    "with spaces",
    'it\'s "quoted"',
    "ünï ☃ 漢字",
    "-dash",
    "100% #1 ?x&y",
    "tab\tand\nline",
    "/".join(["a" * 45] * 4),
]


@pytest.mark.parametrize("name", FOLDERS)
async def test_any_folder_will_do(tmp_path: Path, name: str) -> None:
    async with provider(write(tmp_path / name)) as it:
        await works(it)


async def test_a_project_behind_a_link_works(tmp_path: Path) -> None:
    real = write(tmp_path / "real")
    (tmp_path / "link").symlink_to(real.parent, target_is_directory=True)
    async with provider(tmp_path / "link" / "extension.py") as it:
        await works(it)


@pytest.mark.parametrize("kind", ["json", "sqlite"])
@pytest.mark.parametrize("umask", [0o000, 0o077])
async def test_what_is_stored_is_private_under_any_umask(
    extension: Path, umask: int, kind: str
) -> None:
    before = os.umask(umask)
    try:
        async with provider(extension, KIND=kind) as it:
            await works(it)
    finally:
        os.umask(before)
    found = [artifacts(), *artifacts().rglob("*")]
    assert len(found) > 1
    for path in found:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path.name


async def test_without_a_home_the_state_goes_where_copilot_has_its_own(
    extension: Path, tmp_path: Path
) -> None:
    """COPILOT_HOME counts; HOME is not asked for."""
    async with provider(extension, HOME="", XDG_CACHE_HOME="", TMPDIR=str(tmp_path)) as it:
        await works(it)
    assert list(artifacts().glob("*.json"))


async def test_a_working_directory_that_cannot_be_written_is_left_alone(
    extension: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    project.chmod(0o500)
    monkeypatch.chdir(project)
    try:
        async with provider(extension) as it:
            await works(it)
        assert list(project.iterdir()) == []
    finally:
        project.chmod(0o700)


async def test_a_working_directory_that_is_gone_is_survived(
    extension: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    project.rmdir()
    async with provider(extension) as it:
        await works(it)


async def test_too_few_descriptors_are_told_and_the_process_lives(extension: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (40, hard))
    try:
        starting = provider(extension)
        it = await starting.__aenter__()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    try:
        opened, refused = 0, set()
        for number in range(60):
            try:
                await it.open(f"b{number}")
                opened += 1
            except RemoteError as error:
                refused.add(error.message)
        assert opened
        assert refused == {
            (
                "The page of this canvas cannot be served: Too many open files. Close panels that "
                "are not needed."
            )
        }
        for number in range(opened):
            await it.close(f"b{number}")
        await works(it)
    finally:
        await starting.__aexit__(None, None, None)
