"""The command `python -m tallystick.load`."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import pathlib
import signal
import sys
from typing import Any

from .._async.client import AsyncClient
from ..errors import TallystickError
from ..retry import Retry
from .run import Load, Run, Tally
from .summary import summary

__all__ = ["main"]


async def drive(load: Load, where: dict[str, Any]) -> Tally:
    """Runs a load. An interrupt ends the starts, and the outstanding flows are awaited."""
    async with AsyncClient(**where, retry=Retry(busy_s=0.0), connections_max=max(load.concurrency, 1)) as client:
        run = Run(client, load)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            # Without signal handlers, as on Windows, an interrupt ends the program.
            with contextlib.suppress(NotImplementedError):
                loop.add_signal_handler(number, run.stop)
        teller = asyncio.ensure_future(tell(run)) if sys.stderr.isatty() else None
        try:
            return await run.go()
        finally:
            if teller is not None:
                teller.cancel()
                print(file=sys.stderr)
            for number in (signal.SIGINT, signal.SIGTERM):
                with contextlib.suppress(NotImplementedError):
                    loop.remove_signal_handler(number)


async def tell(run: Run) -> None:
    """Prints the progress once a second."""
    while True:
        await asyncio.sleep(1.0)
        tally = run.tally
        good = len(tally.latencies_ms)
        bad = sum(tally.statuses.values()) - good
        print(f"\r{good} good, {bad} not, {tally.busy} times busy", end="", file=sys.stderr, flush=True)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tallystick.load",
        description="Keeps N coroutines starting flows through the HTTP API, and prints what they came to as one line of JSON.",
        epilog="Exit codes: 0 all went well, 1 some flows did not, 2 nothing could be done.",
    )
    at = parser.add_argument_group("the node")
    at.add_argument("--node", metavar="DIR", help="the node's folder")
    at.add_argument("--url", help="its API, https://host:port; with --root and --token-file")
    at.add_argument("--root", metavar="FILE", help="the network's root certificate")
    at.add_argument("--token-file", metavar="FILE", help="a file with a token")
    what = parser.add_argument_group("what is started")
    what.add_argument("--flow", default="document.share", help="its name (%(default)s)")
    what.add_argument(
        "--args", default="{}", metavar="JSON", help="arguments of every start; {n} in a text becomes the start's number"
    )
    what.add_argument("--to", metavar="PARTY", help='the same as "to" in --args')
    what.add_argument("--title", metavar="TEXT", help='the same as "title" in --args (document.share: "document {n}")')
    what.add_argument(
        "--attachment", metavar="HASH", action="append", default=[], help="an attachment, one a start in turn; repeatable"
    )
    what.add_argument("--attachments", metavar="FILE", help="a file with a hash a line, - for standard input")
    what.add_argument("--once", action="store_true", help="use each attachment once, then end")
    how = parser.add_argument_group("how")
    how.add_argument("--concurrency", type=int, default=100, metavar="N", help="coroutines (%(default)s)")
    how.add_argument("--count", type=int, metavar="N", help="starts in all")
    how.add_argument("--seconds", type=float, metavar="S", help="how long there are starts")
    how.add_argument(
        "--warmup-s", type=float, default=0.0, metavar="S", help="what ends in the first so many seconds is not counted"
    )
    how.add_argument(
        "--wait", choices=["none", "finalised", "delivered"], default="delivered", help="what a start waits for (%(default)s)"
    )
    how.add_argument("--timeout-s", type=float, default=300.0, metavar="S", help="how long one flow may take (%(default)s)")
    how.add_argument("--exactly-once", action="store_true", help="give each start a client id")
    how.add_argument("--latencies", metavar="FILE", help="write the latencies there, in milliseconds, one a line")
    return parser


def read(parser: argparse.ArgumentParser, words: list[str] | None) -> tuple[Load, dict[str, Any], str | None]:
    """Parses the command line; ends the program if it is invalid."""
    given = parser.parse_args(words)
    if (given.node is None) == (given.url is None):
        parser.error("give --node, or --url with --root and --token-file")
    if given.url is not None and (given.root is None or given.token_file is None):
        parser.error("--url needs --root and --token-file")
    try:
        args = json.loads(given.args)
    except ValueError as cause:
        parser.error(f"--args is not JSON: {cause}")
    if not isinstance(args, dict):
        parser.error("--args is no JSON object")
    if given.to is not None:
        args["to"] = given.to
    if given.title is not None:
        args["title"] = given.title
    elif given.flow == "document.share":
        args.setdefault("title", "document {n}")
    hashes = list(given.attachment)
    if given.attachments is not None:
        try:
            text = sys.stdin.read() if given.attachments == "-" else pathlib.Path(given.attachments).read_text()
        except OSError as cause:
            parser.error(str(cause))
        hashes += text.split()
    if given.once and not hashes:
        parser.error("--once needs attachments")
    if given.concurrency < 1 or (given.count is not None and given.count < 1) or given.warmup_s < 0:
        parser.error("--concurrency and --count are at least 1, --warmup-s not negative")
    if given.count is None and given.seconds is None and not given.once:
        parser.error("give --count, --seconds or --once")
    load = Load(
        given.flow,
        args,
        tuple(hashes),
        given.once,
        given.concurrency,
        given.count,
        given.seconds,
        given.warmup_s,
        given.wait,
        given.timeout_s,
        given.exactly_once,
    )
    at = {"where": given.node or given.url}
    where = at if given.node is not None else {**at, "root": given.root, "token_file": given.token_file}
    return load, where, given.latencies


def main(words: list[str] | None = None) -> int:
    """Runs the command."""
    load, where, latencies = read(arguments(), words)
    try:
        tally = asyncio.run(drive(load, where))
    except TallystickError as error:
        print(f"{error.code}: {error.message}\n  {error.hint}", file=sys.stderr)
        return 2
    if latencies is not None:
        try:
            pathlib.Path(latencies).write_text("".join(f"{value:.3f}\n" for value in tally.latencies_ms))
        except OSError as cause:
            print(f"tallystick.load: {cause}", file=sys.stderr)
            return 2
    print(json.dumps(summary(load, tally), separators=(",", ":")))
    return 0 if tally.latencies_ms and sum(tally.statuses.values()) == len(tally.latencies_ms) and not tally.abandoned else 1


if __name__ == "__main__":
    raise SystemExit(main())
