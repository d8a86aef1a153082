"""A closed loop of coroutines: each starts a flow, waits for its end, and starts the next."""

from __future__ import annotations

import array
import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .._async.client import AsyncClient
from .._models import Wait
from ..errors import Busy, TallystickError
from ..flows import AUTO
from ..retry import Retry

__all__ = ["Load", "Run", "Tally"]

#: Maximum number of latencies in memory, 8 bytes each; the run ends when it is reached.
LATENCIES_MAX = 20_000_000
#: Maximum time for outstanding flows after the end of the run, in seconds.
DRAIN_S = 120.0
#: The statuses that count as success, by the awaited event.
GOOD = {
    "none": {"accepted", "running", "finalised", "delivered"},
    "finalised": {"finalised", "delivered"},
    "delivered": {"delivered"},
}


@dataclass(frozen=True)
class Load:
    """The options of a load."""

    flow: str = "document.share"
    #: The arguments of every start.
    args: dict[str, Any] = field(default_factory=dict)
    #: Values of `attachment`, one for each start in turn; empty for none.
    attachments: tuple[str, ...] = ()
    #: Whether each attachment is used once and the run ends when all are used. Otherwise they are used cyclically.
    once: bool = False
    concurrency: int = 100
    #: Maximum number of starts; None for no limit.
    count: int | None = None
    #: Duration of the starts in seconds, without the warm-up; None for no limit.
    seconds: float | None = None
    #: Duration of the warm-up in seconds. Flows that end in it are not counted.
    warmup_s: float = 0.0
    wait: Wait = "delivered"
    #: Maximum time for one flow, in seconds.
    timeout_s: float = 300.0
    #: Whether each start has a client id.
    exactly_once: bool = False

    def starts(self) -> Iterator[dict[str, Any]]:
        """Yields the arguments of each start. A placeholder `{n}` in text is replaced by its number."""
        number = 0
        while self.count is None or number < self.count:
            if self.attachments and self.once and number >= len(self.attachments):
                return
            args = {key: _numbered(value, number) for key, value in self.args.items()}
            if self.attachments:
                args["attachment"] = self.attachments[number % len(self.attachments)]
            yield args
            number += 1


@dataclass
class Tally:
    """The results of a run."""

    began: float = 0.0
    ended: float = 0.0
    cpu_s: float = 0.0
    busy: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    #: Latencies of successful flows, in milliseconds.
    latencies_ms: array.array[float] = field(default_factory=lambda: array.array("d"))
    warmup: int = 0
    abandoned: int = 0


class Run:
    """One run of a load against one node."""

    def __init__(self, client: AsyncClient, load: Load) -> None:
        self._client = client
        self._load = load
        self._starts = load.starts()
        self._stopped = False
        self._counted_from = 0.0
        self._until = float("inf")
        self.tally = Tally()

    def stop(self) -> None:
        """Prevents further starts."""
        self._stopped = True

    async def go(self) -> Tally:
        tally, load = self.tally, self._load
        now = time.monotonic()
        self._counted_from = tally.began = now + load.warmup_s
        if load.seconds is not None:
            self._until = tally.began + load.seconds
        cpu = time.process_time()
        loops = [asyncio.ensure_future(self._loop()) for _ in range(load.concurrency)]
        longest = None if load.seconds is None else load.warmup_s + load.seconds + DRAIN_S
        done, late = await asyncio.wait(loops, timeout=longest)
        for loop in late:
            loop.cancel()
        tally.abandoned = len(late)
        await asyncio.gather(*late, return_exceptions=True)
        for loop in done:
            loop.result()
        tally.cpu_s = time.process_time() - cpu
        if tally.ended == 0.0:
            tally.ended = time.monotonic()
        return tally

    async def _loop(self) -> None:
        for args in self._starts:
            began = time.monotonic()
            if self._stopped or began >= self._until or len(self.tally.latencies_ms) >= LATENCIES_MAX:
                return
            await self._one(args, began)

    async def _one(self, args: dict[str, Any], began: float) -> None:
        load = self._load
        try:
            status = await self._started(args)
        except TallystickError as error:
            status = "failed"
            if self._counts():
                self.tally.codes[error.code] += 1
                self.tally.examples.setdefault(error.code, str(error))
        ended = time.monotonic()
        if not self._counts():
            self.tally.warmup += 1
            return
        # Flows that end after the last start count too. Otherwise the rate would be of a window that is not full.
        self.tally.ended = ended
        self.tally.statuses[status] += 1
        if status in GOOD[load.wait]:
            self.tally.latencies_ms.append((ended - began) * 1000)

    def _counts(self) -> bool:
        return time.monotonic() >= self._counted_from

    async def _started(self, args: dict[str, Any]) -> str:
        load = self._load
        deadline = time.monotonic() + load.timeout_s
        while True:
            try:
                client_id = AUTO if load.exactly_once else None
                if load.wait == "none":
                    return (await self._client.start(load.flow, args, client_id=client_id)).outcome.status
                left_s = max(deadline - time.monotonic(), 0.0)
                outcome = await self._client.run(load.flow, args, wait=load.wait, timeout_s=left_s, client_id=client_id)
                return outcome.status
            except Busy as error:
                self.tally.busy += 1
                wait_s = Retry().wait_s(error, spent_s=0.0, losses=1, repeatable=True)
                if wait_s is None or time.monotonic() + wait_s > deadline:
                    raise
                await asyncio.sleep(wait_s)


def _numbered(value: Any, number: int) -> Any:
    return value.replace("{n}", str(number)) if isinstance(value, str) else value
