"""The results of a load run, in figures."""

from __future__ import annotations

import array
import platform
from typing import Any

from ..__about__ import __version__
from .run import Load, Tally

__all__ = ["percentile", "summary"]

PERCENTILES = {"p50": 50.0, "p75": 75.0, "p90": 90.0, "p95": 95.0, "p99": 99.0, "p99_9": 99.9}


def percentile(ordered: array.array[float], percent: float) -> float:
    """Returns the smallest value that at least this percentage of the values do not exceed."""
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(int(rank) - 1, 0)]


def summary(load: Load, tally: Tally) -> dict[str, Any]:
    """Returns the line to print."""
    ordered = array.array("d", sorted(tally.latencies_ms))
    seconds = max(tally.ended - tally.began, 1e-9)
    latency: dict[str, float] = {}
    if ordered:
        latency = {"min": ordered[0], "mean": sum(ordered) / len(ordered)}
        latency.update((name, percentile(ordered, percent)) for name, percent in PERCENTILES.items())
        latency["max"] = ordered[-1]
    return {
        "flow": load.flow,
        "wait": load.wait,
        "concurrency": load.concurrency,
        "seconds": round(seconds, 3),
        "good": len(ordered),
        "good_per_s": round(len(ordered) / seconds, 3),
        "statuses": dict(sorted(tally.statuses.items())),
        "codes": dict(sorted(tally.codes.items())),
        "examples": dict(sorted(tally.examples.items())),
        "busy_retries": tally.busy,
        "warmup": tally.warmup,
        "abandoned": tally.abandoned,
        "latency_ms": {name: round(value, 3) for name, value in latency.items()},
        "client_cpu_s": round(tally.cpu_s, 3),
        "client": f"tallystick-python {__version__}, {platform.python_implementation()} {platform.python_version()}",
    }
