"""The only place that touches sockets, threads and clocks in the synchronous half. `_async/io.py` has the same names."""

from __future__ import annotations

import select
import socket
import ssl
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from ..errors import ConnectionFailed, NotTrusted, TimedOut

__all__ = ["Semaphore", "Stream", "call", "clock", "semaphore", "sleep"]

T = TypeVar("T")
Semaphore = threading.Semaphore
sleep = time.sleep
clock = time.monotonic

#: Maximum number of bytes per read.
READ_BYTES = 1 << 18


def semaphore(count: int) -> Semaphore:
    """Returns a semaphore for this many holders."""
    return threading.Semaphore(count)


def call(function: Callable[..., T], *arguments: Any) -> T:
    """Runs a function that may block on a disk."""
    return function(*arguments)


class Stream:
    """The bytes of a TLS connection, with a time limit for each wait."""

    def __init__(self, connected: ssl.SSLSocket) -> None:
        self._socket = connected
        self._is_over = False

    @classmethod
    def connect(cls, host: str, port: int, tls: ssl.SSLContext, server_name: str, timeout_s: float) -> Stream:
        """Opens a connection and verifies that the node belongs to the network."""
        plain = None
        try:
            plain = socket.create_connection((host, port), timeout_s)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return cls(tls.wrap_socket(plain, server_hostname=server_name))
        except socket.timeout as cause:
            error: Exception = TimedOut(f"no connection to {host}:{port} within {timeout_s:g} s")
            error.__cause__ = cause
        except ssl.SSLCertVerificationError as cause:
            error = NotTrusted(f"{host}:{port}: {cause.verify_message}")
            error.__cause__ = cause
        except OSError as cause:
            error = ConnectionFailed(f"{host}:{port}: {cause}", code="client.not_connected")
            error.__cause__ = cause
        if plain is not None:
            plain.close()
        raise error

    def read(self, timeout_s: float) -> bytes:
        """Returns some bytes; empty at the end."""
        try:
            self._socket.settimeout(timeout_s)
            return self._socket.recv(READ_BYTES)
        except OSError as cause:
            raise self._lost(timeout_s, cause) from cause

    def read_within(self, wait_s: float) -> bytes | None:
        """Like `read`, but returns None after a silence, which does not end the connection."""
        try:
            self._socket.settimeout(wait_s)
            return self._socket.recv(READ_BYTES)
        except socket.timeout:
            return None
        except OSError as cause:
            raise self._lost(wait_s, cause) from cause

    def write(self, data: bytes, timeout_s: float) -> None:
        """Sends all of `data`."""
        try:
            self._socket.settimeout(timeout_s)
            self._socket.sendall(data)
        except OSError as cause:
            raise self._lost(timeout_s, cause) from cause

    @property
    def is_stale(self) -> bool:
        """Whether the node has closed an idle connection, or sent unexpected data."""
        if self._is_over or self._socket.fileno() < 0:
            return True
        if not self._is_readable():
            return False
        # Data arrived: the end, or only TLS's own messages.
        try:
            self._socket.settimeout(0)
            self._socket.recv(1)
        except ssl.SSLWantReadError:
            return False
        except OSError:
            pass
        return True

    def _is_readable(self) -> bool:
        if not hasattr(select, "poll"):
            # Windows, where `select` has no limit on the numbers of sockets.
            return bool(select.select([self._socket], [], [], 0)[0])
        waiting = select.poll()
        waiting.register(self._socket, select.POLLIN)
        return bool(waiting.poll(0))

    def close(self) -> None:
        """Ends the connection at once."""
        self._is_over = True
        self._socket.close()

    def _lost(self, timeout_s: float, cause: OSError) -> ConnectionFailed | TimedOut:
        self._is_over = True
        if isinstance(cause, socket.timeout):
            return TimedOut(f"nothing moved for {timeout_s:g} s")
        return ConnectionFailed(str(cause) or "the connection was lost")
