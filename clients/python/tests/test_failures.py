"""A flow that fails or is killed, in each form of an answer. In all of them it is a `FlowFailed`, and it is never repeated."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from conftest import FakeNode, http, problem

from tallystick import AsyncClient, BadAnswer, Client, FlowFailed, FlowParked, Invalid, Outcome, Retry, models
from tallystick.errors import problem as exception_of
from tallystick.flows import is_over
from tallystick.load import Load, Run

REFUSED = {"transaction": "aa", "party": "O=B", "code": "tx.too_large", "message": "m", "hint": "h"}
RUNNING = {"flow_id": "0f", "status": "running", "step": "notarising"}
ACCEPTED = {"flow_id": "0f", "status": "accepted"}
DONE = {"flow_id": "0e", "status": "finalised", "result": {"n": 1}, "transactions": ["bb"]}
ERROR = {"code": "vault.insufficient_funds", "message": "too little", "hint": "issue more"}
QUICK = Retry(busy_s=5, lost=3, lost_wait_s=0.001, wait_s_max=0.01)

both = pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])


def failure(**more: Any) -> dict[str, Any]:
    """Returns the problem of a flow that failed."""
    return {
        "type": "urn:tally:error:vault.insufficient_funds",
        "title": "Unprocessable Entity",
        "status": 422,
        "detail": "too little",
        "code": "vault.insufficient_funds",
        "hint": "issue more",
        "flow_id": "0f",
        "flow_status": "failed",
        **more,
    }


def ask(fake: FakeNode, asynchronous: bool, act: Callable[[Any], Any]) -> Any:
    """Performs one call of either client."""
    if not asynchronous:
        with Client(fake.endpoint, retry=QUICK) as client:
            return act(client)

    async def go() -> Any:
        async with AsyncClient(fake.endpoint, retry=QUICK) as client:
            return await act(client)

    return asyncio.run(go())


def check(error: FlowFailed, status: str = "failed", code: str = "vault.insufficient_funds") -> None:
    assert (error.code, error.message, error.hint) == (code, "too little", "issue more")
    assert (error.outcome.flow_id, error.outcome.status, error.outcome.result) == ("0f", status, None)
    assert error.outcome.error is not None
    assert error.outcome.error.code == code


def events(*named: tuple[str, Any]) -> str:
    return http(200, "".join(f"event: {name}\nid: 3\ndata: {json.dumps(data)}\n\n" for name, data in named))


CALLS: dict[str, Callable[[Any], Any]] = {
    "run": lambda client: client.run("f"),
    "run without a client id": lambda client: client.run("f", client_id=None),
    "result": lambda client: client.flow("0f").result(),
    "generated start": lambda client: client.api.start_flow(models.StartFlow(flow="f", args={}, client_id="x")),
    "generated endpoint": lambda client: client.api.start_cash_issue(models.CashIssueArguments("GBP", 1), client_id="x"),
    "generated query": lambda client: client.api.get_flow("0f", wait="delivered"),
}


@both
@pytest.mark.parametrize("call", CALLS)
def test_a_flow_that_fails_raises_once(fake: FakeNode, asynchronous: bool, call: str) -> None:
    fake.scripts = [fake.answers(http(422, failure(transactions=["aa"], refused=[REFUSED])), http(200, DONE))]
    with pytest.raises(FlowFailed) as raised:
        ask(fake, asynchronous, CALLS[call])
    check(raised.value)
    assert raised.value.outcome.transactions == ["aa"]
    assert [one.code for one in raised.value.outcome.refused] == ["tx.too_large"]
    assert len(fake.requests) == 1


@both
def test_a_killed_flow_raises(fake: FakeNode, asynchronous: bool) -> None:
    fake.scripts = [fake.answers(http(422, failure(code="flow.killed", flow_status="killed")))]
    with pytest.raises(FlowFailed) as raised:
        ask(fake, asynchronous, CALLS["run"])
    check(raised.value, "killed", "flow.killed")


@both
@pytest.mark.parametrize("status", [422, 429, 503])
def test_a_failed_flow_is_not_repeated_whatever_its_code(fake: FakeNode, asynchronous: bool, status: int) -> None:
    busy = failure(status=status, code="notary.busy", retry_after_ms=5)
    fake.scripts = [fake.answers(http(status, busy, "retry-after: 1"), http(200, DONE))]
    with pytest.raises(FlowFailed) as raised:
        ask(fake, asynchronous, CALLS["run"])
    check(raised.value, code="notary.busy")
    assert raised.value.retry_after_s == 0.005
    assert len(fake.requests) == 1


@both
def test_a_flow_that_fails_during_a_later_wait_raises(fake: FakeNode, asynchronous: bool) -> None:
    fake.scripts = [fake.answers(http(202, RUNNING), http(422, failure()))]
    with pytest.raises(FlowFailed) as raised:
        ask(fake, asynchronous, CALLS["run"])
    check(raised.value)
    assert [request.split()[0] for request in fake.requests] == ["POST", "GET"]


def test_a_flow_keeps_its_failure(fake: FakeNode) -> None:
    fake.scripts = [fake.answers(http(202, ACCEPTED), http(422, failure()))]
    with Client(fake.endpoint, retry=QUICK) as client:
        flow = client.start("f")
        assert repr(flow) == "<flow 0f: accepted>"
        for _ in range(2):
            with pytest.raises(FlowFailed) as raised:
                flow.result()
            check(raised.value)
    assert repr(flow) == "<flow 0f: failed>"
    assert len(fake.requests) == 2


@pytest.mark.parametrize("status", ["failed", "killed"])
def test_a_query_without_a_wait_gives_the_failure_as_an_outcome(fake: FakeNode, status: str) -> None:
    fake.scripts = [fake.answers(http(200, {"flow_id": "0f", "status": status, "error": ERROR}))]
    with Client(fake.endpoint, retry=QUICK) as client:
        flow = client.flow("0f")
        outcome = flow.refresh()
        assert (outcome.status, outcome.error and outcome.error.code) == (status, "vault.insufficient_funds")
        with pytest.raises(FlowFailed) as raised:
            flow.result()
    check(raised.value, status)
    assert len(fake.requests) == 1


def test_a_cancelled_flow_is_an_outcome_until_its_result_is_asked_for(fake: FakeNode) -> None:
    killed = {"flow_id": "0f", "status": "killed", "error": {**ERROR, "code": "flow.killed"}}
    fake.scripts = [fake.answers(http(200, killed))]
    with Client(fake.endpoint, retry=QUICK) as client:
        flow = client.flow("0f")
        assert flow.cancel().status == "killed"
        with pytest.raises(FlowFailed) as raised:
            flow.result()
    check(raised.value, "killed", "flow.killed")


def test_a_start_known_as_failed_gives_its_flow(fake: FakeNode) -> None:
    fake.scripts = [fake.answers(http(422, failure()))]
    with Client(fake.endpoint, retry=QUICK) as client:
        flow = client.start("f", client_id="order-17")
        with pytest.raises(FlowFailed) as raised:
            flow.result()
    check(raised.value)
    assert len(fake.requests) == 1


@both
def test_a_batch_gives_each_failure_and_repeats_only_busy_starts(fake: FakeNode, asynchronous: bool) -> None:
    busy = {**failure(code="node.busy", status=503, retry_after_ms=5), "flow_id": None, "flow_status": None}
    unknown = {**failure(code="flow.unknown"), "flow_id": None, "flow_status": None}
    first = [
        {"status": 422, "problem": failure(code="notary.busy", retry_after_ms=5, transactions=["aa"])},
        {"status": 503, "problem": busy},
        {"status": 422, "problem": unknown},
        {"status": 422, "problem": failure(code="flow.killed", flow_status="killed")},
    ]
    second = [{"status": 200, "outcome": DONE}]
    fake.scripts = [fake.answers(http(200, {"answers": first}), http(200, {"answers": second}))]
    found = ask(fake, asynchronous, lambda client: client.run_many([(name, {}) for name in "abcd"]))
    check(found[0], code="notary.busy")
    assert found[0].outcome.transactions == ["aa"]
    assert isinstance(found[1], Outcome)
    assert isinstance(found[2], Invalid)
    check(found[3], "killed", "flow.killed")
    again = json.loads(fake.requests[1].partition("\n\n")[2])
    assert [start["flow"] for start in again["starts"]] == ["b"]


def test_a_batch_gives_the_failure_of_a_later_wait(fake: FakeNode) -> None:
    fake.scripts = [fake.answers(http(200, {"answers": [{"status": 202, "outcome": RUNNING}]}), http(422, failure()))]
    with Client(fake.endpoint, retry=QUICK) as client:
        (found,) = client.run_many([("a", {})])
    assert isinstance(found, FlowFailed)
    check(found)


@both
def test_events_of_a_flow_that_fails_end_with_its_failure(fake: FakeNode, asynchronous: bool) -> None:
    told = events(("state", RUNNING), ("step", {"step": "recording"}), ("failed", failure(transactions=["aa"])))
    fake.scripts = [fake.answers(told), fake.answers(told)]

    async def follow() -> tuple[Any, list[Any]]:
        async with AsyncClient(fake.endpoint, retry=QUICK) as client:
            flow = client.flow("0f")
            seen = [event async for event in flow.events("delivered")]
            with pytest.raises(FlowFailed) as raised:
                await flow.result()
            return raised.value, seen

    if asynchronous:
        error, seen = asyncio.run(follow())
    else:
        with Client(fake.endpoint, retry=QUICK) as client:
            flow = client.flow("0f")
            seen = list(flow.events("delivered"))
            with pytest.raises(FlowFailed) as raised:
                flow.result()
            error = raised.value
    check(error)
    assert [event.kind for event in seen] == ["state", "step", "failed"]
    assert seen[-1].outcome is error.outcome
    assert error.outcome.transactions == ["aa"]
    assert len(fake.requests) == 1


def test_a_failed_event_about_no_flow_is_a_bad_answer(fake: FakeNode) -> None:
    fake.scripts = [fake.answers(events(("failed", {**failure(), "flow_id": None})))]
    with Client(fake.endpoint, retry=QUICK) as client, pytest.raises(BadAnswer):
        list(client.flow("0f").events())


@pytest.mark.parametrize("missing", ["code", "detail", "hint"])
def test_the_failure_of_a_flow_without_its_members_is_a_bad_answer(missing: str) -> None:
    said = failure(retry_after_ms=5)
    del said[missing]
    assert isinstance(exception_of(503, said), BadAnswer)
    assert isinstance(exception_of(422, failure(refused=[{}])), BadAnswer)


def test_the_failure_of_a_flow_without_a_status_is_a_failure() -> None:
    error = exception_of(503, failure(flow_status=None, retry_after_ms=5))
    assert isinstance(error, FlowFailed)
    check(error)


def test_a_refused_start_is_no_failure_of_a_flow(fake: FakeNode) -> None:
    fake.scripts = [fake.answers(problem(422, "flow.bad_arguments"))]
    with Client(fake.endpoint, retry=QUICK) as client, pytest.raises(Invalid) as raised:
        client.run("f")
    assert raised.value.code == "flow.bad_arguments"


def test_a_success_whose_result_cannot_be_shown_says_that_it_succeeded(fake: FakeNode) -> None:
    shown = {"flow_id": "0f", "status": "delivered", "error": {**ERROR, "code": "flow.bad_output"}, "transactions": ["aa"]}
    fake.scripts = [fake.answers(http(422, failure(code="flow.bad_output", flow_status="delivered")), http(200, shown))]
    with Client(fake.endpoint, retry=QUICK) as client:
        with pytest.raises(FlowFailed) as raised:
            client.run("f")
        check(raised.value, "delivered", "flow.bad_output")
        flow = client.flow("0f")
        assert flow.refresh().transactions == ["aa"]
        with pytest.raises(FlowFailed) as raised:
            flow.result()
        check(raised.value, "delivered", "flow.bad_output")


@pytest.mark.parametrize("status", ["parked", "paused"])
def test_a_flow_that_stands_still_is_no_failure(fake: FakeNode, status: str) -> None:
    fake.scripts = [fake.answers(http(202, {"flow_id": "0f", "status": status, "step": "why"}))]
    with Client(fake.endpoint, retry=QUICK) as client, pytest.raises(FlowParked):
        client.run("f")


@pytest.mark.parametrize(
    ("status", "refused", "over"),
    [
        ("accepted", False, {"none"}),
        ("running", False, {"none"}),
        ("retrying", False, {"none"}),
        ("parked", False, {"none", "finalised", "delivered"}),
        ("paused", False, {"none", "finalised", "delivered"}),
        ("finalised", False, {"none", "finalised"}),
        ("finalised", True, {"none", "finalised", "delivered"}),
        ("delivered", False, {"none", "finalised", "delivered"}),
        ("failed", False, {"none", "finalised", "delivered"}),
        ("killed", False, {"none", "finalised", "delivered"}),
    ],
)
def test_a_wait_ends_with_the_awaited_status_or_without_hope(status: str, refused: bool, over: set[str]) -> None:
    outcome = Outcome.from_json({"flow_id": "0f", "status": status, "refused": [REFUSED] if refused else []})
    waits: tuple[models.Wait, ...] = ("none", "finalised", "delivered")
    assert {wait for wait in waits if is_over(outcome, wait)} == over


@pytest.mark.parametrize(
    ("wait", "answer", "statuses", "codes", "good"),
    [
        ("none", http(202, ACCEPTED), {"accepted": 1}, {}, 1),
        ("finalised", http(200, DONE), {"finalised": 1}, {}, 1),
        ("finalised", http(422, failure()), {"failed": 1}, {"vault.insufficient_funds": 1}, 0),
        ("finalised", http(422, failure(code="flow.killed", flow_status="killed")), {"failed": 1}, {"flow.killed": 1}, 0),
        ("finalised", http(422, failure(code="notary.busy", retry_after_ms=5)), {"failed": 1}, {"notary.busy": 1}, 0),
    ],
)
def test_a_load_counts_statuses_and_codes(
    fake: FakeNode, wait: models.Wait, answer: str, statuses: dict[str, int], codes: dict[str, int], good: int
) -> None:
    fake.scripts = [fake.answers(answer)]

    async def drive() -> Run:
        async with AsyncClient(fake.endpoint, retry=Retry(busy_s=0.0)) as client:
            run = Run(client, Load("f", count=1, concurrency=1, wait=wait, timeout_s=10))
            await run.go()
            return run

    tally = asyncio.run(drive()).tally
    assert (dict(tally.statuses), dict(tally.codes), len(tally.latencies_ms)) == (statuses, codes, good)
    assert tally.busy == 0
    assert len(fake.requests) == 1
