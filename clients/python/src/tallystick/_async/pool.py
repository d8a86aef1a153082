"""A bounded number of connections to one node, which are used again while they are fresh."""

from __future__ import annotations

import ssl

from ..endpoint import Endpoint
from ..errors import ConnectionFailed, NotTrusted, TimedOut
from .connection import AsyncConnection
from .io import Semaphore, Stream, semaphore

__all__ = ["AsyncPool"]


class AsyncPool:
    """Lends connections. If all of them are lent, a caller waits for one."""

    def __init__(self, endpoint: Endpoint, connections_max: int, connect_s: float) -> None:
        self._endpoint = endpoint
        self._tls: ssl.SSLContext = endpoint.tls()
        self._connect_s = connect_s
        self._connections_max = connections_max
        # The place of the address that answered last.
        self._address = 0
        # Created on first use, because a semaphore belongs to the event loop that uses it.
        self._places: Semaphore | None = None  # sync: self._places: Semaphore | None = semaphore(connections_max)
        # The last used connection is taken first, so that spare connections become stale and are closed.
        self._idle: list[AsyncConnection] = []

    async def lend(self) -> AsyncConnection:
        """Returns a connection, which must be given back."""
        if self._places is None:
            self._places = semaphore(self._connections_max)
        await self._places.acquire()
        try:
            while (connection := self._taken()) is not None:
                if connection.is_usable:
                    return connection
                connection.close()
            return await self._connect()
        except BaseException:
            self._places.release()
            raise

    async def _connect(self) -> AsyncConnection:
        """Connects to the address that answered last. If it does not answer, the others are tried."""
        addresses, last = self._endpoint.addresses, self._address
        failure: ConnectionFailed | TimedOut | None = None
        for step in range(len(addresses)):
            place = (last + step) % len(addresses)
            host, port = addresses[place]
            wait_s = self._connect_s / len(addresses)
            try:
                stream = await Stream.connect(host, port, self._tls, self._endpoint.server_name, wait_s)
            except NotTrusted:
                raise
            except (ConnectionFailed, TimedOut) as error:
                # Where one was refused, nothing was sent for certain.
                failure = error if failure is None or isinstance(failure, TimedOut) else failure
            else:
                self._address = place
                return AsyncConnection(stream)
        assert failure is not None, "a node has an address"
        raise failure

    def give_back(self, connection: AsyncConnection) -> None:
        """Takes a connection back, and keeps it if it is still usable."""
        if connection.is_usable:
            self._idle.append(connection)
        else:
            connection.close()
        if self._places is not None:
            self._places.release()

    def close(self) -> None:
        """Closes all connections that are not lent."""
        while (connection := self._taken()) is not None:
            connection.close()

    def _taken(self) -> AsyncConnection | None:
        """Checks and takes in one step, because several threads may use the pool."""
        try:
            return self._idle.pop()
        except IndexError:
            return None
