"""When to ask again, and how long to wait before: decides, and never waits itself."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from .errors import Busy, ConnectionFailed, NotTrusted, TallystickError, TimedOut

__all__ = ["Retry"]


@dataclass(frozen=True)
class Retry:
    """How patient a client is. `Retry(busy_s=0, lost=0)` asks once.

    A node that is busy says when to come again, and is asked again no earlier, with some jitter so that many clients do not
    come back together. A lost connection is a reason to repeat only what may be repeated: reads, and starts that have a
    client id.
    """

    #: How long to go on asking a node that is busy, in seconds.
    busy_s: float = 60.0
    #: How often in a row to ask again after a lost connection or a silence.
    lost: int = 4
    #: The wait after the first loss, in seconds; twice as long after each further one.
    lost_wait_s: float = 0.1
    #: No wait is longer than this, unless the node asks for it, in seconds.
    wait_s_max: float = 5.0
    #: At most this share of a wait is added to it by chance.
    jitter: float = 0.25
    #: Where chance comes from, a number from 0 to 1.
    chance: Callable[[], float] = random.random

    def wait_s(self, error: TallystickError, *, spent_s: float, losses: int, repeatable: bool) -> float | None:
        """How long to wait before asking again after `error`; None if it is final. `spent_s` is the time since the first
        try, `losses` how many in a row ended without an answer, this one included."""
        if isinstance(error, Busy):
            wait = error.retry_after_s if error.retry_after_s is not None else self._backed_off(max(losses, 1))
            # Never earlier than the node said; a zero is still some way from a busy loop.
            wait = max(wait, 0.005)
            wait += wait * self.jitter * self.chance()
            return wait if spent_s + wait <= self.busy_s else None
        if isinstance(error, NotTrusted) or not isinstance(error, (ConnectionFailed, TimedOut)):
            return None
        if not repeatable or losses > self.lost:
            return None
        wait = self._backed_off(losses)
        return wait + wait * self.jitter * self.chance()

    def _backed_off(self, times: int) -> float:
        return min(self.lost_wait_s * 2.0 ** (min(times, 32) - 1), self.wait_s_max)
