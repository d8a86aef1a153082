"""One HTTP/1.1 connection: a request, its answer, the next request. h11 implements the protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import h11

from ..errors import BadAnswer, ConnectionFailed, TallystickError
from .io import Stream, clock

__all__ = ["AsyncBody", "AsyncConnection", "Head", "Request"]

#: Maximum idle time of a connection that is used again, in seconds. Nodes close idle connections after `api.head_s`, 10
#: seconds by default.
IDLE_S_MAX = 4.0
#: Maximum size of the head of an answer, in bytes.
HEAD_BYTES_MAX = 1 << 16
#: Maximum time to wait for the node's consent to a large body before it is sent anyway, in seconds.
CONTINUE_S = 2.0

AsyncBody = AsyncIterator[bytes]


@dataclass
class Request:
    """A request to a node."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    #: The whole body, if it is in memory.
    body: bytes = b""
    #: Maximum silence of either side, in seconds.
    silence_s: float = 60.0


@dataclass
class Head:
    """The status and headers of an answer."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)


class AsyncConnection:
    """A connection to a node's API. One request at a time."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_BYTES_MAX)
        self._used_at = clock()
        self._silence_s = 60.0
        self._is_ended = False

    @property
    def is_usable(self) -> bool:
        """Whether another request may be sent."""
        return self._http.our_state is h11.IDLE and clock() - self._used_at < IDLE_S_MAX and not self._stream.is_stale

    async def send(self, request: Request, body: AsyncBody | None = None) -> Head:
        """Sends a request and returns the answer's head. A body may come in pieces; if the node refuses such a body, its
        answer is returned before the body is sent."""
        self._silence_s = request.silence_s
        try:
            if body is None:
                head = self._http.send(self._request(request)) or b""
                if request.body:
                    head += self._http.send(h11.Data(request.body)) or b""
                await self._stream.write(head + (self._http.send(h11.EndOfMessage()) or b""), request.silence_s)
                return await self._head(request.silence_s)
            await self._stream.write(self._http.send(self._request(request)) or b"", request.silence_s)
            try:
                return await self._head(CONTINUE_S, informed=True)
            except _GoOn:
                pass
            return await self._send_pieces(body, request.silence_s)
        except h11.ProtocolError as cause:
            if self._is_ended:
                raise ConnectionFailed("the connection ended before the answer") from cause
            raise BadAnswer(f"the answer is not HTTP: {cause}") from cause

    async def _send_pieces(self, body: AsyncBody, silence_s: float) -> Head:
        try:
            async for piece in body:
                await self._stream.write(self._http.send(h11.Data(piece)) or b"", silence_s)
            await self._stream.write(self._http.send(h11.EndOfMessage()) or b"", silence_s)
        except ConnectionFailed:
            # A node may refuse the part it has seen and close the connection; its reason may already be there to read.
            self._http.send_failed()
            try:
                return await self._head(silence_s)
            except TallystickError:
                pass
            raise
        return await self._head(silence_s)

    def _request(self, request: Request) -> h11.Request:
        return h11.Request(method=request.method, target=request.target, headers=request.headers)

    async def _head(self, silence_s: float, *, informed: bool = False) -> Head:
        while True:
            event = await self._event(silence_s, may_be_silent=informed)
            if informed and event is None:
                raise _GoOn
            if isinstance(event, h11.InformationalResponse):
                if informed and event.status_code == 100:
                    raise _GoOn
            elif isinstance(event, h11.Response):
                return Head(event.status_code, {key.decode("ascii"): value.decode("latin-1") for key, value in event.headers})
            else:
                raise ConnectionFailed("the connection ended before the answer")

    async def read(self) -> bytes | None:
        """Returns some bytes of the answer's body; None at its end. Afterwards the connection may be used again."""
        try:
            event = await self._event(self._silence_s)
        except h11.ProtocolError as cause:
            raise ConnectionFailed(f"the answer was cut: {cause}") from cause
        if isinstance(event, h11.Data):
            return bytes(event.data)
        if isinstance(event, h11.EndOfMessage):
            if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
                self._http.start_next_cycle()
                self._used_at = clock()
            return None
        raise ConnectionFailed("the answer was cut")

    async def _event(self, silence_s: float, *, may_be_silent: bool = False) -> Any:
        while True:
            event = self._http.next_event()
            if event is not h11.NEED_DATA:
                return event
            if may_be_silent:
                data = await self._stream.read_within(silence_s)
                if data is None:
                    return None
            else:
                data = await self._stream.read(silence_s)
            self._is_ended = not data
            self._http.receive_data(data)

    def close(self) -> None:
        """Ends the connection at once."""
        self._stream.close()


class _GoOn(Exception):
    """Signals that the body should be sent: the node asks for it, or is silent."""
