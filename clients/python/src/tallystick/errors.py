"""The exceptions of this package. Each has a stable `code` (`domain.snake_case`), a `message` that describes this failure, and
a `hint` with the suggested action. The project's docs/errors describes the codes of nodes.

    TallystickError
    ├── Problem             the node's answer is a problem
    │   ├── Busy            the node is busy; a retry after `retry_after_s` may succeed
    │   ├── Unauthorised    no token, or an invalid one
    │   ├── Forbidden       the user lacks a permission, which the message names
    │   ├── NotFound
    │   ├── Conflict        the current state does not allow it: a name is taken, an offset differs
    │   └── Invalid         the node does not accept the request
    ├── FlowFailed          the flow failed or was killed; `outcome` has all of it
    ├── FlowParked          the flow cannot continue by itself, an operator has to decide
    ├── ConnectionFailed    no connection, or it was lost
    │   └── NotTrusted      the node's certificate is not from the network's root, or for another name
    ├── TimedOut            the time allowed is over
    ├── BadAnswer           an answer that does not match the API's description
    ├── BadEndpoint         the address of the node or the credentials are invalid
    └── TransferFailed      the bytes that arrived differ from those announced
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from . import _models as models
from ._models import FlowFailure, Outcome

__all__ = [
    "BadAnswer",
    "BadEndpoint",
    "Busy",
    "Conflict",
    "ConnectionFailed",
    "FlowFailed",
    "FlowParked",
    "Forbidden",
    "Invalid",
    "NotFound",
    "NotTrusted",
    "Problem",
    "TallystickError",
    "TimedOut",
    "TransferFailed",
    "Unauthorised",
]


class TallystickError(Exception):
    """The base class of all errors of this package."""

    code = "client.failed"
    hint = "Look at the message."

    def __init__(self, message: str, *, code: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code
        if hint is not None:
            self.hint = hint

    def __str__(self) -> str:
        return f"{self.code}: {self.message} ({self.hint})"


class Problem(TallystickError):
    """The node answered with a problem (RFC 9457)."""

    def __init__(self, message: str, *, code: str, hint: str, status: int, retry_after_s: float | None = None) -> None:
        super().__init__(message, code=code, hint=hint)
        #: The HTTP status.
        self.status = status
        #: Seconds before a retry, if a retry makes sense.
        self.retry_after_s = retry_after_s


class Busy(Problem):
    """The node refused the request for now and did nothing; it says when to retry."""


class Unauthorised(Problem):
    """The request carried no token, or one that is not valid (any more)."""


class Forbidden(Problem):
    """The token's user lacks the permission that the message names."""


class NotFound(Problem):
    """The object does not exist, or this user may not see it."""


class Conflict(Problem):
    """The object exists already, or is in another state."""


class Invalid(Problem):
    """The request does not parse, is too large, or asks for something impossible."""


class FlowFailed(TallystickError):
    """The flow has failed or was killed: `outcome.status` is `failed` or `killed`. A repeated start with the same client id
    fails in the same way and runs nothing. If the flow succeeded but its result cannot be shown, the status is `finalised`
    or `delivered`."""

    def __init__(self, outcome: Outcome) -> None:
        error = outcome.error
        if error is None:
            super().__init__("the flow failed without saying why", code="client.bad_answer")
        else:
            super().__init__(error.message, code=error.code, hint=error.hint)
        #: The outcome of the flow, with its status, its error, and the transactions that it recorded before.
        self.outcome = outcome
        #: Seconds before a retry under another client id, if a retry makes sense.
        self.retry_after_s = None if error is None or error.retry_after_ms is None else error.retry_after_ms / 1000


class FlowParked(TallystickError):
    """The flow cannot continue by itself; it is kept until an operator retries or kills it."""

    code = "flow.parked"
    hint = "An operator looks at the flow, then retries or kills it."

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(f"flow {outcome.flow_id} is {outcome.status}: {outcome.step or 'no reason is given'}")
        #: The status of the flow.
        self.outcome = outcome


class ConnectionFailed(TallystickError):
    """No connection to the node could be made, or the connection broke."""

    code = "client.connection_lost"
    hint = "Check that the node runs and is reached at this address; ask again."


class NotTrusted(ConnectionFailed):
    """The node showed a certificate that the network's root did not sign, or that is for another name."""

    code = "client.not_trusted"
    hint = "Give the root certificate of the node's own network (root.pem in its folder)."


class TimedOut(TallystickError):
    """The time allowed is over. The requested action may still happen: a start that has a client id can be repeated."""

    code = "client.timeout"
    hint = "Allow more time, or look at the node."


class BadAnswer(TallystickError):
    """The answer does not match the API's description."""

    code = "client.bad_answer"
    hint = "Check that this is a node's API, and that the package is not older than the node by far."


class BadEndpoint(TallystickError):
    """The address of the node or the credentials are invalid."""

    code = "client.bad_endpoint"
    hint = "Name a node's folder, or an https:// address with the network's root certificate and a token."


class TransferFailed(TallystickError):
    """The bytes that arrived differ from those announced."""

    code = "client.bad_answer"
    hint = "Start the transfer anew."


_KINDS: dict[int, type[Problem]] = {
    400: Invalid,
    401: Unauthorised,
    403: Forbidden,
    404: NotFound,
    405: Invalid,
    408: Invalid,
    409: Conflict,
    411: Invalid,
    412: Conflict,
    413: Invalid,
    415: Invalid,
    416: Invalid,
    422: Invalid,
    429: Busy,
}


def problem(status: int, body: object, retry_after_s: float | None = None) -> TallystickError:
    """Returns the exception for an error answer; `retry_after_s` is the value of its header. A problem that names a flow is
    the failure of that flow, whatever its status."""
    said: Mapping[str, Any] = body if isinstance(body, Mapping) else {}
    if said.get("flow_id") is not None:
        try:
            return of_problem(models.Problem.from_json(said))
        except (KeyError, TypeError, AttributeError, ValueError) as cause:
            return BadAnswer(f"the problem of flow {said['flow_id']} lacks or twists {cause}")
    later = said.get("retry_after_ms")
    if isinstance(later, (int, float)) and not isinstance(later, bool) and later >= 0:
        retry_after_s = later / 1000
    kind = _KINDS.get(status, Problem)
    if retry_after_s is not None and status >= 429:
        kind = Busy
    return kind(
        str(said.get("detail") or said.get("title") or f"the node answered {status}"),
        code=str(said.get("code") or BadAnswer.code),
        hint=str(said.get("hint") or BadAnswer.hint),
        status=status,
        retry_after_s=retry_after_s,
    )


def of_problem(said: models.Problem) -> TallystickError:
    """Returns the exception for a problem in the answer of a batch or in an event."""
    if said.flow_id is None:
        plain = {"code": said.code, "detail": said.detail, "hint": said.hint, "retry_after_ms": said.retry_after_ms}
        return problem(said.status, plain)
    failure = FlowFailure(code=said.code, message=said.detail, hint=said.hint, retry_after_ms=said.retry_after_ms)
    return FlowFailed(
        Outcome(
            flow_id=said.flow_id,
            status=said.flow_status or "failed",
            error=failure,
            transactions=said.transactions,
            refused=said.refused,
            undelivered=said.undelivered,
        )
    )


def bad_answer(what: str, cause: BaseException | None = None) -> NoReturn:
    """Raises `BadAnswer`."""
    raise BadAnswer(what) from cause
