"""A closed loop of coroutines that start flows through the HTTP API: `python -m tallystick.load --help`.

Each of N coroutines starts a flow, waits for its end, and starts the next. A start that a busy node refuses is repeated
after the time that the node gives, and this wait counts: a latency is the time that a caller waits for one flow. Standard
output gets one line of JSON.
"""

from .run import Load, Run, Tally
from .summary import summary

__all__ = ["Load", "Run", "Tally", "summary"]
