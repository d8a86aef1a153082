"""The vault: the node's holdings."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import frames
from .._models import Balance, FoundCount, FoundGroup, FoundState, Quarantined, SortBy, Status, VaultAnswer, VaultChange
from ..errors import BadAnswer, ConnectionFailed, TimedOut, bad_answer
from ..sse import Parser, ServerEvent
from ..where import Where, where_json
from .flow import HEARTBEAT_S
from .io import sleep
from .session import AsyncSession

if TYPE_CHECKING:
    import pandas

__all__ = ["AsyncVault"]

#: States on a page: the node's limit.
PAGE = 1000

Criterion = Mapping[str, Any]


class AsyncVault:
    """Queries of a node's vault. Fields and their values: docs/reference/vault-queries.md of the project."""

    def __init__(self, session: AsyncSession) -> None:
        self._session = session

    async def states(
        self,
        where: Where | Criterion | None = None,
        *,
        status: Status = "unconsumed",
        quarantined: Quarantined = "exclude",
        sort: Sequence[SortBy | str] = (),
        locks: bool = False,
        limit: int | None = None,
    ) -> AsyncGenerator[FoundState, None]:
        """All states that meet a criterion, page by page, at most `limit` of them. A field of `sort` with a minus before it is
        descending; with `locks` each state tells which flow holds it. States in quarantine, which cannot be spent, are left
        out unless `quarantined` is `include` or `only`."""
        after: str | None = None
        left = limit
        while left is None or left > 0:
            page = PAGE if left is None else min(left, PAGE)
            answer = await self._query(where, status, quarantined, sort=sort, locks=locks, limit=page, after=after)
            for state in answer.states:
                yield state
            left = None if left is None else left - len(answer.states)
            after = answer.next
            if after is None:
                return

    async def groups(
        self,
        group_by: Sequence[str],
        where: Where | Criterion | None = None,
        *,
        status: Status = "unconsumed",
        quarantined: Quarantined = "exclude",
    ) -> list[FoundGroup]:
        """Counts and sums of states by up to 4 fields; by none, one over all."""
        answer = await self._query(where, status, quarantined, group_by=list(group_by))
        return answer.groups

    async def count(
        self,
        where: Where | Criterion | None = None,
        *,
        status: Status = "unconsumed",
        quarantined: Quarantined = "exclude",
    ) -> FoundCount:
        """How many states meet a criterion."""
        answer = await self._query(where, status, quarantined, count=True, limit=1)
        if answer.count is None:
            raise BadAnswer("the node did not count")
        return answer.count

    async def frame(
        self,
        where: Where | Criterion | None = None,
        *,
        status: Status = "unconsumed",
        quarantined: Quarantined = "exclude",
        sort: Sequence[SortBy | str] = (),
        locks: bool = False,
        limit: int | None = None,
    ) -> pandas.DataFrame:
        """States as a pandas frame, a row each."""
        states = self.states(where, status=status, quarantined=quarantined, sort=sort, locks=locks, limit=limit)
        found = [state async for state in states]
        return frames.states_frame(found)

    async def groups_frame(
        self,
        group_by: Sequence[str],
        where: Where | Criterion | None = None,
        *,
        status: Status = "unconsumed",
        quarantined: Quarantined = "exclude",
    ) -> pandas.DataFrame:
        """Counts and sums as a pandas frame, a row for each group."""
        groups = await self.groups(group_by, where, status=status, quarantined=quarantined)
        return frames.groups_frame(groups, group_by)

    async def balances_frame(self) -> pandas.DataFrame:
        """Returns the sums of the node's holdings as a pandas frame, one row for each token."""
        answer = await self._session.json("GET", "/v1/balances")
        found = self._session.decoded(lambda value: [Balance.from_json(one) for one in value["balances"]], answer)
        return frames.balances_frame(found)

    async def changes(self, after: int | None = None) -> AsyncGenerator[VaultChange, None]:
        """Yields the changes of each transaction as it is recorded, without end; resumes after a lost connection. `after` is
        a position in the ledger (0: from the beginning, None: only new changes)."""
        losses = 0
        while True:
            try:
                async for event in self._followed(after):
                    losses = 0
                    after = int(event.id) if event.id.isdecimal() else after
                    if event.name == "start" and after is None:
                        after = int(_json(event).get("after", 0))
                    elif event.name == "change":
                        yield self._session.decoded(VaultChange.from_json, _json(event))
            except (ConnectionFailed, TimedOut) as error:
                losses += 1
                wait_s = self._session.retry.wait_s(error, spent_s=0.0, losses=losses, repeatable=True)
                if wait_s is None:
                    raise
                await sleep(wait_s)

    async def _followed(self, after: int | None) -> AsyncGenerator[ServerEvent, None]:
        parser = Parser()
        query = {"after": after}
        async with await self._session.open("GET", "/v1/vault/events", query=query, silence_s=HEARTBEAT_S) as answer:
            async for piece in answer.pieces():
                for event in parser.feed(piece):
                    if event.name == "cut":
                        raise ConnectionFailed(f"the node cut the events: {event.data}")
                    yield event
        raise ConnectionFailed("the events ended")

    async def _query(
        self,
        where: Where | Criterion | None,
        status: Status,
        quarantined: Quarantined,
        *,
        sort: Sequence[SortBy | str] = (),
        **more: Any,
    ) -> VaultAnswer:
        # Left out where it says nothing new, for nodes that do not know it.
        which = None if quarantined == "exclude" else quarantined
        body = {"status": status, "quarantined": which, "where": where_json(where), "sort": [_order(one) for one in sort], **more}
        asked = {key: value for key, value in body.items() if value is not None}
        return self._session.decoded(VaultAnswer.from_json, await self._session.json("POST", "/v1/vault/query", body=asked))


def _order(by: SortBy | str) -> dict[str, Any]:
    if isinstance(by, SortBy):
        return by.to_json()
    return {"field": by.lstrip("-"), "descending": by.startswith("-")}


def _json(event: ServerEvent) -> dict[str, Any]:
    try:
        value: dict[str, Any] = json.loads(event.data)
    except ValueError as cause:
        bad_answer(f"an event is not JSON: {cause}", cause)
    return value
