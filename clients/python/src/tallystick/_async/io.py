"""The only place that touches sockets, tasks and clocks in the asynchronous half. `_sync/io.py` has the same names."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from typing import Any, TypeVar

from ..errors import ConnectionFailed, NotTrusted, TimedOut

__all__ = ["Semaphore", "Stream", "call", "clock", "semaphore", "sleep"]

T = TypeVar("T")
Semaphore = asyncio.Semaphore
sleep = asyncio.sleep
clock = time.monotonic

#: Maximum number of bytes per read.
READ_BYTES = 1 << 18


def semaphore(count: int) -> Semaphore:
    """Returns a semaphore for this many holders, created within the event loop that uses it."""
    return asyncio.Semaphore(count)


async def call(function: Callable[..., T], *arguments: Any) -> T:
    """Runs a function that may block on a disk in a thread, so that the event loop continues."""
    return await asyncio.get_running_loop().run_in_executor(None, function, *arguments)


class Stream:
    """The bytes of a TLS connection, with a time limit for each wait."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._loop = asyncio.get_running_loop()
        self._is_over = False

    @classmethod
    async def connect(cls, host: str, port: int, tls: ssl.SSLContext, server_name: str, timeout_s: float) -> Stream:
        """Opens a connection and verifies that the node belongs to the network."""
        try:
            reader, writer = await asyncio.wait_for(
                asyncio.open_connection(host, port, ssl=tls, server_hostname=server_name, limit=READ_BYTES), timeout_s
            )
        except asyncio.TimeoutError as cause:
            raise TimedOut(f"no connection to {host}:{port} within {timeout_s:g} s") from cause
        except ssl.SSLCertVerificationError as cause:
            raise NotTrusted(f"{host}:{port}: {cause.verify_message}") from cause
        except OSError as cause:
            raise ConnectionFailed(f"{host}:{port}: {cause}", code="client.not_connected") from cause
        return cls(reader, writer)

    async def read(self, timeout_s: float) -> bytes:
        """Returns some bytes; empty at the end."""
        timer = self._loop.call_later(timeout_s, self._expire)
        try:
            data = await self._reader.read(READ_BYTES)
        except OSError as cause:
            raise self._lost(timeout_s, cause) from cause
        finally:
            timer.cancel()
        if self._is_over:
            raise self._lost(timeout_s, None)
        return data

    async def read_within(self, wait_s: float) -> bytes | None:
        """Like `read`, but returns None after a silence, which does not end the connection."""
        try:
            return await asyncio.wait_for(self._reader.read(READ_BYTES), wait_s)
        except asyncio.TimeoutError:
            return None
        except OSError as cause:
            raise self._lost(wait_s, cause) from cause

    async def write(self, data: bytes, timeout_s: float) -> None:
        """Sends `data`; waits while too much is buffered."""
        timer = self._loop.call_later(timeout_s, self._expire)
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError as cause:
            raise self._lost(timeout_s, cause) from cause
        finally:
            timer.cancel()

    @property
    def is_stale(self) -> bool:
        """Whether the node has closed an idle connection, or sent unexpected data."""
        is_elsewhere = self._loop is not asyncio.get_running_loop()
        return self._is_over or is_elsewhere or self._reader.at_eof() or self._writer.is_closing()

    def close(self) -> None:
        """Ends the connection at once."""
        # A connection of a closed event loop is already gone.
        if not self._loop.is_closed():
            self._writer.transport.abort()

    def _expire(self) -> None:
        self._is_over = True
        self._writer.transport.abort()

    def _lost(self, timeout_s: float, cause: OSError | None) -> ConnectionFailed | TimedOut:
        if self._is_over:
            return TimedOut(f"nothing moved for {timeout_s:g} s")
        return ConnectionFailed(str(cause) or "the connection was lost")
