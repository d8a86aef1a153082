"""A client of one node."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from .._models import Balances, LedgerEntry, NetworkView, NodeView, Outcome, TransactionView, Wait
from ..endpoint import Endpoint, Login, PathLike
from ..errors import BadEndpoint, NotFound, TallystickError
from ..flows import AUTO, Auto, is_over, name_of_start, settled, start_of
from ..retry import Retry
from .attachments import AsyncAttachments
from .flow import POLL_S, AsyncFlow
from .io import clock
from .operations import AsyncOperations
from .session import AsyncSession
from .starts import AsyncStarts
from .vault import AsyncVault

if TYPE_CHECKING:
    import pandas

__all__ = ["AsyncClient"]

#: Entries on a page of a list.
PAGE = 1000


class AsyncClient:
    """A node's API, for one user.

    `where` is a node's folder (then its own token is used), an `Endpoint`, or an `https://host:port` with `root`, the network's
    root certificate, and one of `token`, `token_file` and `login`.

    Requests go over at most `connections_max` connections that stay open; who finds none free waits for one. Following events
    takes one for as long as it lasts.
    """

    def __init__(
        self,
        where: Endpoint | PathLike,
        *,
        root: PathLike | None = None,
        token: str | None = None,
        token_file: PathLike | None = None,
        login: Login | None = None,
        server_name: str | None = None,
        retry: Retry | None = None,
        connections_max: int = 64,
        connect_s: float = 10.0,
    ) -> None:
        if connections_max < 1:
            raise BadEndpoint("a client needs a connection at least")
        if isinstance(where, Endpoint):
            self.endpoint = where
        elif os.fspath(where).startswith(("https://", "http://")):
            if root is None:
                raise BadEndpoint("an address needs root, the network's root certificate")
            named = {} if server_name is None else {"server_name": server_name}
            self.endpoint = Endpoint.of_url(os.fspath(where), root, token=token, token_file=token_file, login=login, **named)
        else:
            self.endpoint = Endpoint.of_folder(where)
        self._session = AsyncSession(self.endpoint, retry or Retry(), connections_max, connect_s)
        #: Every operation of the API as the node describes it.
        self.api = AsyncOperations(self._session)
        #: States: queries, sums, changes as they happen.
        self.vault = AsyncVault(self._session)
        #: Files that transactions refer to: uploads, downloads, lists.
        self.attachments = AsyncAttachments(self._session, self.api)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections. A login is not ended: `logout` does that."""
        await self._session.aclose()

    def __repr__(self) -> str:
        return f"<tallystick client of {self.endpoint}>"

    # Flows

    async def start(
        self, flow: str, args: Any = None, *, client_id: str | Auto | None = AUTO, version: int | None = None
    ) -> AsyncFlow:
        """Starts a flow and returns as soon as that is durable. With a client id, which the client makes unless it is told one,
        the start happens exactly once, however often it has to be sent; with None it is sent once."""
        return AsyncFlow(self._session, await self._start(flow, args, "none", None, name_of_start(client_id), version))

    async def run(
        self,
        flow: str,
        args: Any = None,
        *,
        wait: Wait = "finalised",
        timeout_s: float | None = None,
        client_id: str | Auto | None = AUTO,
        version: int | None = None,
    ) -> Outcome:
        """Starts a flow and waits until it is `finalised` or `delivered`. Raises `FlowFailed`, `FlowParked`, and `TimedOut`
        when `timeout_s` is over; repeated with the same client id it waits for the same flow."""
        started = clock()
        first_s = POLL_S if timeout_s is None else min(timeout_s, POLL_S)
        outcome = await self._start(flow, args, wait, first_s, name_of_start(client_id), version)
        if is_over(outcome, wait):
            return settled(outcome)
        left_s = None if timeout_s is None else max(timeout_s - (clock() - started), 0.0)
        return await AsyncFlow(self._session, outcome).result(wait, left_s)

    async def run_many(
        self, starts: Iterable[tuple[str, Any]], *, wait: Wait = "finalised", timeout_s: float | None = None
    ) -> list[Outcome | TallystickError]:
        """Starts flows in batches and waits for all of them; for each, in their order, its outcome, or why there is none. Each
        has a client id of its own. What a busy node refuses is started again when it says."""
        return await AsyncStarts(self._session).run(starts, wait, timeout_s)

    def flow(self, flow_id: str) -> AsyncFlow:
        """A flow that was started earlier. Nothing is asked yet."""
        return AsyncFlow(self._session, Outcome(flow_id=flow_id, status="running"))

    async def forget(self, client_id: str) -> bool:
        """Forgets a client id and the outcome kept for it; False if it was not known."""
        try:
            await self.api.forget_client_id(client_id)
        except NotFound:
            return False
        return True

    # Reading

    async def balances(self) -> Balances:
        """Sums of what the node owns, by token."""
        return await self.api.balances()

    async def balances_frame(self) -> pandas.DataFrame:
        """The same as a pandas frame."""
        return await self.vault.balances_frame()

    async def transaction(self, transaction_id: str) -> TransactionView:
        """A recorded transaction, decoded."""
        return await self.api.transaction(transaction_id)

    async def transaction_bytes(self, transaction_id: str) -> bytes:
        """A recorded transaction as it is carried."""
        async with await self._session.open("GET", f"/v1/transactions/{quote(transaction_id, safe='')}/bytes") as answer:
            return await answer.read()

    async def ledger(self, after: int | None = None) -> AsyncGenerator[LedgerEntry, None]:
        """All recorded transactions' ids, in order, those after a position."""
        while True:
            page = await self.api.ledger(after=after, limit=PAGE)
            for entry in page.entries:
                yield entry
            if page.next is None:
                return
            after = page.next

    async def node(self) -> NodeView:
        """The node: its name, its flows, how much it does."""
        return await self.api.node()

    async def network(self) -> NetworkView:
        """The network's map and parameters."""
        return await self.api.network()

    async def metrics(self) -> str:
        """The node's metrics, as Prometheus reads them."""
        async with await self._session.open("GET", "/metrics") as answer:
            return (await answer.read()).decode("utf-8", "replace")

    async def logout(self) -> None:
        """Ends the login."""
        await self.api.logout()
        self._session.forget_token()

    async def _start(
        self, flow: str, args: Any, wait: Wait, timeout_s: float | None, client_id: str | None, version: int | None
    ) -> Outcome:
        body: Mapping[str, Any] = start_of(flow, args, wait, timeout_s, client_id, version).to_json()
        answer = await self._session.json("POST", "/v1/flows", body=body, repeatable=client_id is not None)
        return self._session.decoded(Outcome.from_json, answer)
