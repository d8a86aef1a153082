"""The retry policy."""

from __future__ import annotations

import pytest

from tallystick import Busy, ConnectionFailed, Forbidden, NotTrusted, Problem, Retry, TallystickError, TimedOut
from tallystick.errors import problem

LOST = ConnectionFailed("gone")
CALM = Retry(chance=lambda: 0.0)


def busy(after_s: float | None) -> Busy:
    return Busy("full", code="node.busy", hint="h", status=503, retry_after_s=after_s)


@pytest.mark.parametrize(
    ("error", "spent_s", "losses", "repeatable", "wait_s"),
    [
        (busy(0.2), 0, 0, False, 0.2),
        (busy(0.0), 0, 0, False, 0.005),
        (busy(None), 0, 0, False, 0.1),
        (busy(0.2), 59.9, 0, True, None),
        (LOST, 0, 1, True, 0.1),
        (LOST, 0, 3, True, 0.4),
        (LOST, 0, 5, True, None),
        (LOST, 0, 1, False, None),
        (TimedOut("slow"), 0, 1, True, 0.1),
        (TimedOut("slow"), 0, 1, False, None),
        (NotTrusted("who?"), 0, 1, True, None),
        (Forbidden("no", code="api.forbidden", hint="h", status=403), 0, 0, True, None),
    ],
)
def test_waits_are_what_the_node_says_or_double_after_losses(
    error: TallystickError, spent_s: float, losses: int, repeatable: bool, wait_s: float | None
) -> None:
    assert CALM.wait_s(error, spent_s=spent_s, losses=losses, repeatable=repeatable) == wait_s


def test_chance_only_makes_waits_longer() -> None:
    late = Retry(chance=lambda: 1.0)
    assert late.wait_s(busy(1.0), spent_s=0, losses=0, repeatable=True) == 1.25


@pytest.mark.parametrize(
    ("status", "body", "header", "kind", "after_s"),
    [
        (503, {"code": "node.busy", "retry_after_ms": 20}, 1.0, Busy, 0.02),
        (429, {"code": "api.rate_limited"}, 3.0, Busy, 3.0),
        (429, {"code": "api.rate_limited"}, None, Busy, None),
        (403, {"code": "api.forbidden"}, None, Forbidden, None),
    ],
)
def test_a_problem_says_when_to_come_again(
    status: int, body: dict[str, object], header: float | None, kind: type, after_s: float | None
) -> None:
    found = problem(status, body, header)
    assert type(found) is kind
    assert isinstance(found, Problem)
    assert found.code == body["code"]
    assert found.retry_after_s == after_s


@pytest.mark.parametrize("body", [None, [], "text", {"retry_after_ms": "soon"}, {"retry_after_ms": -1}, {"code": None}])
def test_a_problem_that_is_none_is_still_an_error(body: object) -> None:
    assert problem(500, body).code == "client.bad_answer"
