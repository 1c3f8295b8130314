"""What a host of the Copilot CLI says to it: method names, and how permission is answered.

A host starts `copilot --headless --stdio` and has sessions; an extension joins one of them
(`protocol.copilot`). Sources: copilot-sdk `python/copilot/client.py`, `api.schema.json`, and the
wire as observed with Copilot CLI 1.0.102.
"""

from enum import StrEnum
from typing import Final

__all__ = ["APPROVE", "REJECT", "HostMethod", "RequestEvent"]


class HostMethod(StrEnum):
    """What a host asks the CLI, beside what `Method` names."""

    RUNTIME_SHUTDOWN = "runtime.shutdown"
    SESSION_CREATE = "session.create"
    SESSION_DETACH = "session.detach"
    SESSION_EXTENSIONS_LIST = "session.extensions.list"
    SESSION_EXTENSIONS_RELOAD = "session.extensions.reload"
    ANSWER_PERMISSION = "session.permissions.handlePendingPermissionRequest"
    ANSWER_ELICITATION = "session.ui.handlePendingElicitation"


class RequestEvent(StrEnum):
    """The events that ask the host something: it answers with a request of its own."""

    PERMISSION = "permission.requested"
    ELICITATION = "elicitation.requested"


APPROVE: Final = {"kind": "approve-once"}
REJECT: Final = {"kind": "reject"}
