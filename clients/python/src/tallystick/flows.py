"""What both halves know of flows: how starts are told apart, and when a flow is over."""

from __future__ import annotations

import enum
import uuid
from dataclasses import dataclass
from typing import Any, Literal

from ._models import Outcome, StartFlow, Wait
from .errors import FlowFailed, FlowParked

__all__ = ["AUTO", "Auto", "FlowEvent", "is_over", "name_of_start", "settled", "start_of"]


class Auto(enum.Enum):
    """The client makes a client id, so that a start happens once however often it has to be sent."""

    AUTO = "auto"


AUTO = Auto.AUTO


@dataclass(frozen=True)
class FlowEvent:
    """News of a flow. The last one is `end`, or `parked` when the flow cannot go on by itself."""

    kind: Literal["state", "step", "end", "parked"]
    #: Where the flow stands; with all but `step`.
    outcome: Outcome | None = None
    #: What it does now. A step may be told twice.
    step: str | None = None


def name_of_start(client_id: str | Auto | None) -> str | None:
    """The client id that a start is sent with."""
    return f"py-{uuid.uuid4()}" if isinstance(client_id, Auto) else client_id


def start_of(flow: str, args: Any, wait: Wait, timeout_s: float | None, client_id: str | None, version: int | None) -> StartFlow:
    """A start. Arguments may be a model."""
    plain = args.to_json() if hasattr(args, "to_json") else args
    timeout_ms = None if timeout_s is None else max(int(timeout_s * 1000), 0)
    return StartFlow(
        flow=flow, args={} if plain is None else plain, wait=wait, timeout_ms=timeout_ms, client_id=client_id, version=version
    )


def is_over(outcome: Outcome, wait: Wait) -> bool:
    """Whether there is nothing more to wait for."""
    if outcome.status == "completed":
        # Refused deliveries are for good: it will never be `delivered`.
        return wait != "delivered" or bool(outcome.refused)
    return wait == "none" or outcome.status in ("delivered", "failed", "parked", "paused")


def settled(outcome: Outcome) -> Outcome:
    """The outcome of a flow that went well, or the exception for one that did not."""
    if outcome.status == "failed":
        raise FlowFailed(outcome)
    if outcome.status in ("parked", "paused"):
        raise FlowParked(outcome)
    return outcome
