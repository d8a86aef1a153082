"""The client's behaviour with a misbehaving node."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import pathlib
import socket
import ssl
import subprocess
import time
from typing import Any

import pytest
from conftest import ROOT, TALLY, FakeNode, http, problem

from tallystick import (
    AsyncClient,
    BadAnswer,
    Busy,
    Client,
    ConnectionFailed,
    Endpoint,
    Invalid,
    Login,
    NotTrusted,
    Outcome,
    Retry,
    TallystickError,
    TimedOut,
    Unauthorised,
)

DONE = {"flow_id": "0f", "status": "delivered", "result": {"n": 1}, "transactions": ["aa"]}
QUICK = Retry(busy_s=5, lost=3, lost_wait_s=0.001, wait_s_max=0.01)


def run(fake: FakeNode, asynchronous: bool, client_id: Any = None, **more: Any) -> Outcome:
    """Starts a flow with either client."""
    words: dict[str, Any] = {"retry": QUICK, **more}
    if not asynchronous:
        with Client(fake.endpoint, **words) as client:
            return client.run("f", {"n": 1}, client_id=client_id) if client_id else client.run("f", {"n": 1})

    async def start() -> Outcome:
        async with AsyncClient(fake.endpoint, **words) as client:
            return await (client.run("f", {"n": 1}, client_id=client_id) if client_id else client.run("f", {"n": 1}))

    return asyncio.run(start())


def until_stale(client: Client) -> None:
    """Waits until the node's close of each idle connection is visible."""
    deadline = time.monotonic() + 20
    while any(connection.is_usable for connection in client._session.pool._idle):
        assert time.monotonic() < deadline
        time.sleep(0.001)


both = pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])


@both
def test_a_busy_node_is_asked_again_with_the_same_client_id(fake: FakeNode, asynchronous: bool) -> None:
    fake.scripts = [fake.answers(problem(503, "node.busy", 5), problem(429, "api.rate_limited", 5), http(200, DONE))]
    assert run(fake, asynchronous).status == "delivered"
    ids = {json.loads(request.partition("\n\n")[2])["client_id"] for request in fake.requests}
    assert len(fake.requests) == 3
    assert len(ids) == 1


@both
def test_a_start_with_a_client_id_survives_a_lost_answer(fake: FakeNode, asynchronous: bool) -> None:
    cut = http(200, DONE)[:-5]
    fake.scripts = [fake.answers(""), fake.answers(cut), fake.answers(http(200, DONE))]
    assert run(fake, asynchronous).transactions == ["aa"]
    assert len(fake.requests) == 3


@both
@pytest.mark.parametrize("is_silent", [False, True])
def test_the_process_on_standby_is_asked_when_the_first_one_does_not_answer(
    fake: FakeNode, asynchronous: bool, is_silent: bool
) -> None:
    end = fake.endpoint
    with socket.create_server(("127.0.0.1", 0)) as first:
        # A stopped process has a port that accepts connections, but it says nothing.
        here = ("127.0.0.1", first.getsockname()[1])
        if not is_silent:
            first.close()
        fake.endpoint = dataclasses.replace(end, host=here[0], port=here[1], others=((end.host, end.port),))
        fake.scripts = [fake.answers(http(200, DONE))]
        assert run(fake, asynchronous, connect_s=1.0).status == "delivered"


@both
def test_a_node_none_of_whose_processes_answers_is_an_error(fake: FakeNode, asynchronous: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as first:
        port = first.getsockname()[1]
    fake.endpoint = dataclasses.replace(fake.endpoint, port=port, others=(("127.0.0.1", port),))
    with pytest.raises(ConnectionFailed, match=str(port)):
        run(fake, asynchronous, retry=Retry(lost=0))


@both
def test_a_start_without_a_client_id_is_not_sent_twice(fake: FakeNode, asynchronous: bool) -> None:
    fake.scripts = [fake.answers(""), fake.answers(http(200, DONE))]
    with pytest.raises(ConnectionFailed):
        if asynchronous:

            async def start() -> None:
                async with AsyncClient(fake.endpoint, retry=QUICK) as client:
                    await client.run("f", client_id=None)

            asyncio.run(start())
        else:
            with Client(fake.endpoint, retry=QUICK) as client:
                client.run("f", client_id=None)
    assert len(fake.requests) == 1


@both
def test_patience_with_a_busy_node_has_an_end(fake: FakeNode, asynchronous: bool) -> None:
    fake.scripts = [fake.answers(*[problem(503, "node.busy", 100)] * 50)]
    with pytest.raises(Busy) as raised:
        run(fake, asynchronous, retry=Retry(busy_s=0.3))
    assert raised.value.code == "node.busy"
    assert 1 <= len(fake.requests) <= 4


@both
@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (http(200, "{"), BadAnswer),
        (http(200, "[]"), BadAnswer),
        (http(200, {"flow_id": "0f"}), BadAnswer),
        (b"\x00\x01garbage\r\n\r\n", BadAnswer),
        (http(500, "<html>proxy</html>"), TallystickError),
        (problem(422, "flow.unknown"), Invalid),
        (problem(401, "api.unauthorised"), Unauthorised),
    ],
)
def test_answers_that_are_none_become_errors(
    fake: FakeNode, asynchronous: bool, answer: str | bytes, kind: type[TallystickError]
) -> None:
    fake.scripts = [fake.answers(answer)] * 5
    with pytest.raises(kind):
        run(fake, asynchronous)


@both
def test_silence_ends_with_a_time_out(fake: FakeNode, asynchronous: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tallystick._sync.session.SILENCE_S", 0.2)
    monkeypatch.setattr("tallystick._async.session.SILENCE_S", 0.2)

    def silent(connection: ssl.SSLSocket) -> None:
        while connection.recv(1024):
            pass

    fake.scripts = [silent] * 2
    with pytest.raises(TimedOut):
        if asynchronous:

            async def ask() -> None:
                async with AsyncClient(fake.endpoint, retry=Retry(lost=1, lost_wait_s=0.001)) as client:
                    await client.node()

            asyncio.run(ask())
        else:
            with Client(fake.endpoint, retry=Retry(lost=1, lost_wait_s=0.001)) as client:
                client.node()
    assert fake.scripts == []


@both
def test_a_login_that_has_ended_is_made_anew_once(fake: FakeNode, asynchronous: bool) -> None:
    end = fake.endpoint
    fake.endpoint = Endpoint(end.host, end.port, end.root_pem, login=Login("ann", "secret"))
    first, second = (http(200, {"token": word, "expires_ms": 1}) for word in ("t1", "t2"))
    fake.scripts = [fake.answers(first, problem(401, "api.unauthorised"), second, http(200, DONE))]
    assert run(fake, asynchronous).status == "delivered"
    asked = [request.splitlines()[0].split()[1] for request in fake.requests]
    assert asked == ["/v1/login", "/v1/flows", "/v1/login", "/v1/flows"]
    assert "Bearer t2" in fake.requests[3]


@both
def test_a_connection_that_the_node_closed_while_idle_is_replaced(fake: FakeNode, asynchronous: bool) -> None:
    node = http(200, {"balances": [], "view_seq": 1})
    fake.scripts = [fake.answers(node), fake.answers(node)]
    if asynchronous:

        async def ask() -> None:
            async with AsyncClient(fake.endpoint, retry=Retry(lost=0)) as client:
                await client.balances()
                deadline = time.monotonic() + 20
                while any(connection.is_usable for connection in client._session.pool._idle):  # noqa: ASYNC110
                    assert time.monotonic() < deadline
                    await asyncio.sleep(0.001)
                await client.balances()

        asyncio.run(ask())
    else:
        with Client(fake.endpoint, retry=Retry(lost=0)) as client:
            client.balances()
            until_stale(client)
            client.balances()
    assert len(fake.requests) == 2


@both
def test_a_node_of_another_network_is_not_trusted(fake: FakeNode, asynchronous: bool, tmp_path: pathlib.Path) -> None:
    words: list[pathlib.Path | str] = [
        TALLY,
        "network",
        "bootstrap",
        ROOT / "examples" / "network.toml",
        "--out",
        tmp_path / "other",
    ]
    subprocess.run(words, check=True, capture_output=True)
    end = fake.endpoint
    fake.endpoint = Endpoint(end.host, end.port, (tmp_path / "other" / "bank-a" / "root.pem").read_text(), "secret")
    with pytest.raises(NotTrusted) as raised:
        run(fake, asynchronous)
    assert raised.value.code == "client.not_trusted"


@both
def test_where_nobody_listens_there_is_no_connection(fake: FakeNode, asynchronous: bool) -> None:
    fake.close()
    with pytest.raises(ConnectionFailed) as raised:
        run(fake, asynchronous)
    assert raised.value.code == "client.not_connected"
