"""Requests and answers: authentication, retries, and the meaning of error answers."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from types import TracebackType
from typing import Any, TypeVar
from urllib.parse import urlencode

from .. import __about__
from ..endpoint import Endpoint, Login
from ..errors import BadAnswer, BadEndpoint, Busy, ConnectionFailed, TallystickError, TimedOut, Unauthorised, bad_answer, problem
from ..retry import Retry
from .connection import AsyncBody, AsyncConnection, Head, Request
from .io import Semaphore, clock, semaphore, sleep
from .pool import AsyncPool

__all__ = ["AsyncAnswer", "AsyncSession"]

T = TypeVar("T")

#: Maximum silence of either side, in seconds, in addition to the requested wait.
SILENCE_S = 60.0
#: Upper bound of a node's default wait for a flow: its `api.wait_s_max`, 300 s by default, plus a margin.
NODE_WAIT_S = 330.0
#: Maximum size of an answer that is read as a whole, in bytes.
ANSWER_BYTES_MAX = 256 << 20
#: Maximum size of a problem, in bytes.
PROBLEM_BYTES_MAX = 1 << 20


class AsyncAnswer:
    """An answer whose body is not read yet. It must be closed, as `async with` does."""

    def __init__(self, session: AsyncSession, connection: AsyncConnection, head: Head) -> None:
        self._session = session
        self._connection: AsyncConnection | None = connection
        self.status = head.status
        self.headers = head.headers
        #: The whole body, if it was requested as a whole.
        self.body = b""

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yields the body as it arrives."""
        while self._connection is not None:
            piece = await self._connection.read()
            if piece is None:
                self.close()
                return
            yield piece

    async def read(self, bytes_max: int = ANSWER_BYTES_MAX) -> bytes:
        """Returns the whole body."""
        found: list[bytes] = []
        size = 0
        async for piece in self.pieces():
            size += len(piece)
            if size > bytes_max:
                raise BadAnswer(f"the answer is larger than {bytes_max} bytes")
            found.append(piece)
        return found[0] if len(found) == 1 else b"".join(found)

    def close(self) -> None:
        """Gives the connection back; closes it if the answer was not read to its end."""
        if self._connection is not None:
            self._session.pool.give_back(self._connection)
            self._connection = None

    async def __aenter__(self) -> AsyncAnswer:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class AsyncSession:
    """Sends requests to one node, as one user."""

    def __init__(self, endpoint: Endpoint, retry: Retry, connections_max: int, connect_s: float) -> None:
        self.endpoint = endpoint
        self.retry = retry
        self.pool = AsyncPool(endpoint, connections_max, connect_s)
        self._token = endpoint.token
        # Created within the event loop, like the pool's semaphore.
        self._logging_in: Semaphore | None = None  # sync: self._logging_in: Semaphore | None = semaphore(1)
        if self._token is not None and not (self._token.isascii() and self._token.isprintable()):
            raise BadEndpoint("the token has characters that no token has")

    async def json(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, Any] | None = None,
        body: Any = None,
        repeatable: bool = True,
    ) -> Any:
        """Sends a request and reads JSON; None if the answer has no body. `repeatable` tells whether the request may be sent
        twice."""
        content = b"" if body is None else json.dumps(body, separators=(",", ":")).encode()
        typed = {"content-type": "application/json"} if body is not None else {}
        silence_s = SILENCE_S + waits_s(query, body)
        sent = {**typed, **{key: value for key, value in (headers or {}).items() if value is not None}}
        answer = await self.open(
            method, path, query=query, headers=sent, content=content, repeatable=repeatable, silence_s=silence_s, whole=True
        )
        if not answer.body:
            return None
        try:
            return json.loads(answer.body)
        except ValueError as cause:
            bad_answer(f"the answer of {method} {path} is not JSON: {cause}", cause)

    def decoded(self, decode: Callable[[Any], T], value: Any) -> T:
        """Decodes a model from JSON."""
        try:
            return decode(value)
        except (KeyError, TypeError, AttributeError, ValueError) as cause:
            bad_answer(f"the answer lacks or twists {cause}", cause)

    async def open(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        content: bytes = b"",
        pieces: Callable[[], AsyncBody] | None = None,
        size: int | None = None,
        repeatable: bool = True,
        silence_s: float = SILENCE_S,
        whole: bool = False,
    ) -> AsyncAnswer:
        """Sends a request until it succeeds or fails finally. `pieces` returns a body that is not in memory, from its
        beginning at each call, and `size` is its length if known. With `whole` the body of the answer is read and the
        connection given back."""
        started, losses, refused_token = clock(), 0, ""
        target = path + encoded(query)
        while True:
            token = self._token
            try:
                if token is None and self.endpoint.login is not None:
                    token = await self._log_in(self.endpoint.login)
                answer = await self._once(method, target, self._fields(headers, token), content, pieces, size, silence_s)
                if whole:
                    async with answer:
                        answer.body = await answer.read()
                return answer
            except Unauthorised:
                # Logins expire. A second refusal in a row is final. Another caller may have obtained a new token by now.
                if self.endpoint.login is None or refused_token:
                    raise
                refused_token = token or "none"
                if self._token == token:
                    self._token = None
                continue
            except (Busy, ConnectionFailed, TimedOut) as error:
                losses = 0 if isinstance(error, Busy) else losses + 1
                # A request that found no connection was not sent.
                again = repeatable or error.code == "client.not_connected"
                wait_s = self.retry.wait_s(error, spent_s=clock() - started, losses=losses, repeatable=again)
                if wait_s is None:
                    raise
            await sleep(wait_s)

    def _fields(self, headers: Mapping[str, str] | None, token: str | None) -> list[tuple[str, str]]:
        fields = [("host", self.endpoint.authority()), ("user-agent", __about__.USER_AGENT), *(headers or {}).items()]
        return fields if token is None else [*fields, ("authorization", f"Bearer {token}")]

    async def _once(
        self,
        method: str,
        target: str,
        fields: list[tuple[str, str]],
        content: bytes,
        pieces: Callable[[], AsyncBody] | None,
        size: int | None,
        silence_s: float,
    ) -> AsyncAnswer:
        if pieces is not None:
            fields.append(("transfer-encoding", "chunked") if size is None else ("content-length", str(size)))
            fields.append(("expect", "100-continue"))
        elif content or method in ("POST", "PATCH", "PUT"):
            fields.append(("content-length", str(len(content))))
        answer = await self._ask(Request(method, target, fields, content, silence_s), None if pieces is None else pieces())
        if answer.status < 400:
            return answer
        async with answer:
            raise await self._problem(answer)

    async def _ask(self, request: Request, body: AsyncBody | None = None) -> AsyncAnswer:
        connection = await self.pool.lend()
        try:
            return AsyncAnswer(self, connection, await connection.send(request, body))
        except BaseException:
            connection.close()
            self.pool.give_back(connection)
            raise

    async def _problem(self, answer: AsyncAnswer) -> TallystickError:
        text = await answer.read(PROBLEM_BYTES_MAX)
        try:
            said = json.loads(text)
        except ValueError:
            said = None
        return problem(answer.status, said, seconds(answer.headers.get("retry-after")))

    async def _log_in(self, login: Login) -> str:
        """Returns a token for the endpoint's user. If several callers need one at once, only one logs in."""
        if self._logging_in is None:
            self._logging_in = semaphore(1)
        async with self._logging_in:
            if self._token is None:
                self._token = await self._ask_for_token(login)
            return self._token

    async def _ask_for_token(self, login: Login) -> str:
        body = {"user": login.user, "password": login.password}
        content = json.dumps(body if login.ttl_s is None else {**body, "ttl_s": login.ttl_s}).encode()
        fields = self._fields({"content-type": "application/json", "content-length": str(len(content))}, None)
        async with await self._ask(Request("POST", "/v1/login", fields, content)) as answer:
            if answer.status != 200:
                raise await self._problem(answer)
            try:
                return str(json.loads(await answer.read(PROBLEM_BYTES_MAX))["token"])
            except (ValueError, KeyError, TypeError) as cause:
                bad_answer("the answer of a login has no token", cause)

    def forget_token(self) -> None:
        """Forgets the token after a logout."""
        self._token = None

    async def aclose(self) -> None:
        """Closes the open connections."""
        self.pool.close()


def encoded(query: Mapping[str, Any] | None) -> str:
    """Encodes the values that are not None as a query string."""
    pairs = [(key, word(value)) for key, value in (query or {}).items() if value is not None]
    return "?" + urlencode(pairs) if pairs else ""


def word(value: Any) -> str:
    """Formats a value of a query."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def seconds(header: str | None) -> float | None:
    """Parses `Retry-After` as a number of seconds; None for other forms."""
    try:
        wait = float(header) if header is not None else None
    except ValueError:
        return None
    return wait if wait is not None and 0 <= wait < 86_400 else None


def waits_s(query: Mapping[str, Any] | None, body: Any) -> float:
    """Returns the time that a node is asked to wait before it answers."""
    asked: Mapping[str, Any] = {**(query or {}), **(body if isinstance(body, Mapping) else {})}
    starts = asked.get("starts")
    if isinstance(starts, list):
        return max((waits_s(None, start) for start in starts), default=0.0)
    if isinstance(asked.get("timeout_ms"), (int, float)):
        return float(asked["timeout_ms"]) / 1000
    is_start = isinstance(body, Mapping) and "flow" in body
    waits = asked.get("wait", "finalised" if is_start else None)
    return 0.0 if waits in (None, "none") else NODE_WAIT_S
