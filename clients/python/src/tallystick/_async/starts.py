"""Starts of many flows, in batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .._models import BatchAnswer, BatchAnswers, Outcome, Wait
from ..errors import Busy, TallystickError, of_problem
from ..flows import AUTO, is_over, name_of_start, settled, start_of
from .flow import POLL_S, AsyncFlow
from .io import clock, sleep
from .session import AsyncSession

__all__ = ["AsyncStarts"]

#: Starts in a batch: the node's limit.
BATCH_MAX = 256


class AsyncStarts:
    """Starts flows in batches."""

    def __init__(self, session: AsyncSession) -> None:
        self._session = session

    async def run(
        self, starts: Iterable[tuple[str, Any]], wait: Wait, timeout_s: float | None
    ) -> list[Outcome | TallystickError]:
        """Starts flows in order, one batch after another, and returns the outcome or error of each."""
        deadline = None if timeout_s is None else clock() + timeout_s
        found: list[Outcome | TallystickError] = []
        for batch in _batches(starts, wait, timeout_s):
            found += await self._batch(batch, wait, deadline)
        return found

    async def _batch(self, bodies: list[dict[str, Any]], wait: Wait, deadline: float | None) -> list[Outcome | TallystickError]:
        """Starts one batch. Repeats the starts that a busy node refused, until the retry policy stops it."""
        found: dict[int, Outcome | TallystickError] = {}
        asked = list(range(len(bodies)))
        began = clock()
        while asked:
            answer = await self._session.json("POST", "/v1/flows/batch", body={"starts": [bodies[index] for index in asked]})
            answers = self._session.decoded(BatchAnswers.from_json, answer).answers
            refused: list[int] = []
            wait_s = 0.0
            for index, one in zip(asked, answers):
                came = _came_to(one)
                found[index] = came
                if isinstance(came, Busy):
                    spent_s = clock() - began
                    again_s = self._session.retry.wait_s(came, spent_s=spent_s, losses=0, repeatable=True)
                    if again_s is not None:
                        refused.append(index)
                        wait_s = max(wait_s, again_s)
            asked = refused
            if asked:
                await sleep(wait_s)
        return [await self._end(found[index], wait, deadline) for index in range(len(bodies))]

    async def _end(self, came: Outcome | TallystickError, wait: Wait, deadline: float | None) -> Outcome | TallystickError:
        if isinstance(came, TallystickError):
            return came
        try:
            if is_over(came, wait):
                return settled(came)
            left_s = None if deadline is None else max(deadline - clock(), 0.0)
            return await AsyncFlow(self._session, came).result(wait, left_s)
        except TallystickError as error:
            return error


def _batches(starts: Iterable[tuple[str, Any]], wait: Wait, timeout_s: float | None) -> Iterator[list[dict[str, Any]]]:
    first_s = POLL_S if timeout_s is None else min(timeout_s, POLL_S)
    batch: list[dict[str, Any]] = []
    for flow, args in starts:
        batch.append(start_of(flow, args, wait, first_s, name_of_start(AUTO), None).to_json())
        if len(batch) == BATCH_MAX:
            yield batch
            batch = []
    if batch:
        yield batch


def _came_to(one: BatchAnswer) -> Outcome | TallystickError:
    if one.outcome is not None:
        return one.outcome
    if one.problem is None:
        return TallystickError("neither an outcome nor a problem", code="client.bad_answer")
    return of_problem(one.problem)
