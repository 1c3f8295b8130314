"""The CLI with an extension in Node, which is what it is made for: the ground we stand on.

If this fails, the CLI or the way we drive it is at fault, and no other result here says anything.
"""

import pytest

from canvas_provider.testing import CopilotCLI
from tests.support.copilot import processes, wait_no_processes

pytestmark = [pytest.mark.copilot, pytest.mark.process]

EXTENSION = """
import { joinSession, createCanvas } from "@github/copilot-sdk/extension";
await joinSession({ canvases: [createCanvas({
  id: "echo", displayName: "Echo", description: "Gives back what it gets.",
  actions: [{ name: "echo", description: "Echo.", handler: (call) => ({ got: call.input }) }],
  open: async () => ({ title: "Echo!" }),
})] });
"""


async def test_a_canvas_in_node_opens_answers_and_closes(cli: CopilotCLI) -> None:
    folder = cli.project / ".github" / "extensions" / "echo"
    folder.mkdir(parents=True)
    (folder / "extension.mjs").write_text(EXTENSION, encoding="utf-8")

    session = await cli.create_session()
    assert (await session.wait_listed("echo"))["extensionId"] == "project:echo"
    assert (await session.open("echo", "one"))["title"] == "Echo!"
    assert await session.invoke("one", "echo", {"a": 1}) == {"got": {"a": 1}}
    assert len(processes(cli)) == 1
    await session.close("one")
    assert await session.open_instances() == []

    await cli.stop()
    await wait_no_processes(cli, 5)
