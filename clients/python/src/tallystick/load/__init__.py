"""A closed loop of coroutines that start flows through the HTTP API: `python -m tallystick.load --help`.

Each of N coroutines starts a flow, waits for its end, and starts the next. What a busy node refuses is started again when the
node says, and the wait counts: a latency is what whoever wants one flow done would see. On standard output there is one line of
JSON.
"""

from .run import Load, Run, Tally
from .summary import summary

__all__ = ["Load", "Run", "Tally", "summary"]
