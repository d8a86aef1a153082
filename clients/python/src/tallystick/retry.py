"""The retry policy: decides whether and when to repeat a request, and never waits itself."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from .endpoint import Endpoint
from .errors import Busy, ConnectionFailed, NotTrusted, TallystickError, TimedOut

__all__ = ["Retry"]


@dataclass(frozen=True)
class Retry:
    """The limits of retries. `Retry(busy_s=0, lost=0)` sends each request once.

    A busy node says when to retry. The client never retries earlier, and adds some jitter so that many clients do not return
    at once. After a lost connection only repeatable requests are repeated: reads, and starts that have a client id.
    """

    #: Maximum total time of retries at a busy node, in seconds.
    busy_s: float = 60.0
    #: Maximum number of consecutive retries after a lost connection or a silence.
    lost: int = 4
    #: The wait after the first loss, in seconds; it doubles after each further one.
    lost_wait_s: float = 0.1
    #: Maximum wait in seconds, unless the node asks for a longer one.
    wait_s_max: float = 5.0
    #: Maximum random share of a wait that is added to it.
    jitter: float = 0.25
    #: The random source: returns a number from 0 to 1.
    chance: Callable[[], float] = random.random

    @classmethod
    def of(cls, endpoint: Endpoint) -> Retry:
        """Returns the default limits for a node. There are more retries if it has a process on standby, which takes over after
        some seconds."""
        return cls(lost=6) if endpoint.others else cls()

    def wait_s(self, error: TallystickError, *, spent_s: float, losses: int, repeatable: bool) -> float | None:
        """Returns the wait before a retry after `error`; None if the error is final. `spent_s` is the time since the first
        try. `losses` is the number of consecutive tries without an answer, including this one."""
        if isinstance(error, Busy):
            wait = error.retry_after_s if error.retry_after_s is not None else self._backed_off(max(losses, 1))
            # Never earlier than the node asked for. A wait of zero is raised, to avoid a busy loop.
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
