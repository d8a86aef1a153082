"""A line between a client and a node that breaks at chosen points."""

from __future__ import annotations

import contextlib
import socket
import threading
from dataclasses import dataclass, replace

from tallystick import Endpoint


@dataclass
class Break:
    """Ends a connection after this many bytes to the node, or from it."""

    up: int | None = None
    down: int | None = None


class Line:
    """Passes bytes on, including TLS. Each new connection takes the next of `breaks`; without one it does not break."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._to = (endpoint.host, endpoint.port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = replace(endpoint, host="127.0.0.1", port=self._listener.getsockname()[1])
        self.breaks: list[Break] = []
        self.connections = 0
        self.bytes_up = 0
        self.bytes_down = 0
        self._ends: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            end = self.breaks.pop(0) if self.breaks else Break()
            far = socket.create_connection(self._to)
            self._ends += [near, far]
            for up in (True, False):
                thread = threading.Thread(target=self._pass_on, args=(near, far, end, up), daemon=True)
                self._threads.append(thread)
                thread.start()

    def _pass_on(self, near: socket.socket, far: socket.socket, end: Break, up: bool) -> None:
        source, sink = (near, far) if up else (far, near)
        left = end.up if up else end.down
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if left is not None:
                    data = data[:left]
                    left -= len(data)
                sink.sendall(data)
                if up:
                    self.bytes_up += len(data)
                else:
                    self.bytes_down += len(data)
                if left == 0:
                    break
        for one in (near, far):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for one in self._ends:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for one in self._ends:
            one.close()
