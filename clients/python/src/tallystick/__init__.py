"""A client of the HTTP API of Tallystick nodes: flows, the vault, attachments, events; synchronous and asynchronous.

    import tallystick

    with tallystick.Client("mynet/bank-a") as bank:
        bank.run("cash.issue", {"currency": "GBP", "quantity": 10_000})
        print(bank.vault.frame(tallystick.field("symbol") == "GBP"))

`AsyncClient` is the same with `await`. Every failure is a `TallystickError` with a stable `code`, and a `hint` with the
suggested action.
"""

from . import _models as models
from .__about__ import __version__
from ._async.client import AsyncClient
from ._async.flow import AsyncFlow
from ._models import AttachmentView, Outcome, SortBy, VaultChange
from ._sync.client import Client
from ._sync.flow import Flow
from .endpoint import Endpoint, Login
from .errors import (
    BadAnswer,
    BadEndpoint,
    Busy,
    Conflict,
    ConnectionFailed,
    FlowFailed,
    FlowParked,
    Forbidden,
    Invalid,
    NotFound,
    NotTrusted,
    Problem,
    TallystickError,
    TimedOut,
    TransferFailed,
    Unauthorised,
)
from .flows import AUTO, FlowEvent
from .retry import Retry
from .transfer import Progress
from .where import Where, field, locked

__all__ = [
    "AUTO",
    "AttachmentView",
    "AsyncClient",
    "AsyncFlow",
    "BadAnswer",
    "BadEndpoint",
    "Busy",
    "Client",
    "Conflict",
    "ConnectionFailed",
    "Endpoint",
    "Flow",
    "FlowEvent",
    "FlowFailed",
    "FlowParked",
    "Forbidden",
    "Invalid",
    "Login",
    "NotFound",
    "NotTrusted",
    "Outcome",
    "Problem",
    "Progress",
    "Retry",
    "SortBy",
    "TallystickError",
    "TimedOut",
    "TransferFailed",
    "Unauthorised",
    "VaultChange",
    "Where",
    "__version__",
    "field",
    "locked",
    "models",
]
