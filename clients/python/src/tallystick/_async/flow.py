"""A started flow: its outcome and its events."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from typing import Any, Literal, cast
from urllib.parse import quote

from .._models import FlowStep, Outcome, Problem, Wait
from ..errors import ConnectionFailed, FlowFailed, TimedOut, bad_answer, of_problem
from ..flows import FlowEvent, is_over, settled
from ..sse import Parser, ServerEvent
from .io import clock, sleep
from .session import AsyncSession

__all__ = ["AsyncFlow"]

#: Maximum time that one request waits for a flow, in seconds; then the next request continues the wait.
POLL_S = 30.0
#: A node sends an event or a heartbeat every 15 seconds. After this much silence the connection counts as lost.
HEARTBEAT_S = 45.0


class AsyncFlow:
    """A flow of a node."""

    def __init__(self, session: AsyncSession, outcome: Outcome) -> None:
        self._session = session
        #: The last known outcome.
        self.outcome = outcome

    @property
    def id(self) -> str:
        """The id: 32 hexadecimal digits."""
        return self.outcome.flow_id

    def __repr__(self) -> str:
        return f"<flow {self.id}: {self.outcome.status}>"

    async def refresh(self) -> Outcome:
        """Returns the current outcome. A failed or killed flow is an outcome here, and raises nothing."""
        return await self._ask("none", 0.0)

    async def result(self, wait: Wait = "finalised", timeout_s: float | None = None) -> Outcome:
        """Waits until the flow is `finalised` or `delivered`, and returns its outcome. If a participant refuses to record
        its transactions, the outcome is returned with `refused`. Raises `FlowFailed`, `FlowParked`, `TimedOut`."""
        deadline = None if timeout_s is None else clock() + timeout_s
        while not is_over(self.outcome, wait):
            left_s = POLL_S if deadline is None else min(deadline - clock(), POLL_S)
            if left_s <= 0:
                raise TimedOut(f"flow {self.id} is {self.outcome.status} after {timeout_s:g} s", hint="Ask for its result again.")
            await self._ask(wait, left_s)
        return settled(self.outcome)

    async def cancel(self) -> Outcome:
        """Asks the flow to end. If it has asked the notary, it waits for the answer first and may succeed."""
        answer = await self._session.json("POST", f"/v1/flows/{quote(self.id, safe='')}/cancel")
        self.outcome = self._session.decoded(Outcome.from_json, answer)
        return self.outcome

    async def events(self, wait: Wait = "finalised") -> AsyncGenerator[FlowEvent, None]:
        """Yields the flow's events until it is `finalised` or `delivered`; continues automatically after a lost connection.
        A flow that fails ends them with the event `failed`, after which `result` raises `FlowFailed` without a request."""
        losses = 0
        while True:
            try:
                async for event in self._followed(wait):
                    losses = 0
                    if event.outcome is not None:
                        self.outcome = event.outcome
                    yield event
                    if event.kind in ("end", "failed", "parked"):
                        return
            except (ConnectionFailed, TimedOut) as error:
                losses += 1
                wait_s = self._session.retry.wait_s(error, spent_s=0.0, losses=losses, repeatable=True)
                if wait_s is None:
                    raise
                await sleep(wait_s)

    async def _followed(self, wait: Wait) -> AsyncGenerator[FlowEvent, None]:
        query = None if wait == "none" else {"wait": wait}
        path = f"/v1/flows/{quote(self.id, safe='')}/events"
        parser = Parser()
        async with await self._session.open("GET", path, query=query, silence_s=HEARTBEAT_S) as answer:
            async for piece in answer.pieces():
                for event in parser.feed(piece):
                    read = self._read(event)
                    if read is not None:
                        yield read
        raise ConnectionFailed("the events ended before the flow")

    def _read(self, event: ServerEvent) -> FlowEvent | None:
        if event.name == "cut":
            raise ConnectionFailed(f"the node cut the events: {event.data}")
        if event.name not in ("state", "step", "end", "failed", "parked"):
            return None
        value = _json(event)
        if event.name == "failed":
            error = of_problem(self._session.decoded(Problem.from_json, value))
            if not isinstance(error, FlowFailed):
                bad_answer(f"the failure of flow {self.id} does not name the flow: {error}")
            return FlowEvent("failed", outcome=error.outcome)
        kind = cast(Literal["state", "step", "end", "parked"], event.name)
        if kind == "step":
            return FlowEvent(kind, step=self._session.decoded(FlowStep.from_json, value).step)
        outcome = self._session.decoded(Outcome.from_json, value)
        return FlowEvent(kind, outcome=outcome, step=outcome.step)

    async def _ask(self, wait: Wait, timeout_s: float) -> Outcome:
        query = {"wait": wait, "timeout_ms": int(timeout_s * 1000)} if wait != "none" else {"wait": "none"}
        try:
            answer = await self._session.json("GET", f"/v1/flows/{quote(self.id, safe='')}", query=query)
        except FlowFailed as error:
            self.outcome = error.outcome
            raise
        self.outcome = self._session.decoded(Outcome.from_json, answer)
        return self.outcome


def _json(event: ServerEvent) -> Mapping[str, Any]:
    try:
        value = json.loads(event.data)
    except ValueError as cause:
        bad_answer(f"an event is not JSON: {cause}", cause)
    return cast(Mapping[str, Any], value)
