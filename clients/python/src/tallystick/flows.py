"""Shared logic of both clients about flows: client ids of starts, and the end of flows."""

from __future__ import annotations

import enum
import uuid
from dataclasses import dataclass
from typing import Any, Literal

from ._models import Outcome, StartFlow, Wait
from .errors import FlowFailed, FlowParked

__all__ = ["AUTO", "Auto", "FlowEvent", "is_over", "name_of_start", "settled", "start_of"]


class Auto(enum.Enum):
    """Marks that the client generates a client id, so that a start happens once even if it is sent several times."""

    AUTO = "auto"


AUTO = Auto.AUTO


@dataclass(frozen=True)
class FlowEvent:
    """An event of a flow. The last one is `end` if the flow has succeeded, `failed` if it has failed or was killed, or `parked`
    if it cannot continue by itself."""

    kind: Literal["state", "step", "end", "failed", "parked"]
    #: The outcome so far; absent in `step` events.
    outcome: Outcome | None = None
    #: The current step. A step may be reported twice.
    step: str | None = None


def name_of_start(client_id: str | Auto | None) -> str | None:
    """Returns the client id to send with a start."""
    return f"py-{uuid.uuid4()}" if isinstance(client_id, Auto) else client_id


def start_of(flow: str, args: Any, wait: Wait, timeout_s: float | None, client_id: str | None, version: int | None) -> StartFlow:
    """Builds a start. Arguments may be a model."""
    plain = args.to_json() if hasattr(args, "to_json") else args
    timeout_ms = None if timeout_s is None else max(int(timeout_s * 1000), 0)
    return StartFlow(
        flow=flow, args={} if plain is None else plain, wait=wait, timeout_ms=timeout_ms, client_id=client_id, version=version
    )


def is_over(outcome: Outcome, wait: Wait) -> bool:
    """Whether there is nothing more to wait for."""
    if outcome.status == "finalised":
        # Refused deliveries are permanent: the flow will never be `delivered`.
        return wait != "delivered" or bool(outcome.refused)
    return wait == "none" or outcome.status in ("delivered", "failed", "killed", "parked", "paused")


def settled(outcome: Outcome) -> Outcome:
    """Returns the outcome of a flow that succeeded; raises the exception for one that did not."""
    if outcome.status in ("failed", "killed") or outcome.error is not None:
        raise FlowFailed(outcome)
    if outcome.status in ("parked", "paused"):
        raise FlowParked(outcome)
    return outcome
