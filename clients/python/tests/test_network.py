"""The client against a real notary and two real banks."""

from __future__ import annotations

import asyncio
import threading
import uuid
from contextlib import closing
from dataclasses import replace

import pytest
from conftest import Network

import tallystick
from tallystick import AsyncClient, Client, FlowFailed, Forbidden, Invalid, Login, Retry, field, locked, models

BANK_A = "O=Bank A, L=London, C=GB"
BANK_B = "O=Bank B, L=New York, C=US"


def issue(symbol: str, quantity: int) -> tuple[str, dict[str, object]]:
    return "cash.issue", {"currency": symbol, "quantity": quantity}


def pay(symbol: str, quantity: int) -> tuple[str, dict[str, object]]:
    return "cash.pay", {"currency": symbol, "payments": [{"to": BANK_B, "quantity": quantity}]}


@pytest.fixture(scope="module")
def symbol(network: Network) -> str:
    """Issues 10,000 of a new currency at bank A, pays 2,500 of it to bank B, and returns the currency."""
    found = "ZAR"
    with Client(network.bank_a) as bank:
        bank.run(*issue(found, 10_000))
        bank.run(*pay(found, 2_500), wait="delivered")
    return found


def test_a_payment_arrives(network: Network, symbol: str) -> None:
    with Client(network.bank_b) as bank:
        (balance,) = [one for one in bank.balances().balances if one.symbol == symbol]
    assert (balance.quantity, balance.issuer) == ("2500", BANK_A)


def test_a_payment_arrives_asynchronously(network: Network) -> None:
    async def pays() -> int:
        async with AsyncClient(network.bank_a) as a, AsyncClient(network.bank_b) as b:
            await a.run(*issue("JPY", 100))
            outcome = await a.run(*pay("JPY", 40), wait="delivered", timeout_s=60)
            assert outcome.status == "delivered"
            assert (await b.transaction(outcome.transactions[0])).id == outcome.transactions[0]
            frame = await b.vault.frame(field("symbol") == "JPY")
            return int(frame["quantity"].sum())

    assert asyncio.run(pays()) == 40


def test_a_flow_that_fails_says_why(network: Network, symbol: str) -> None:
    with Client(network.bank_a) as bank, pytest.raises(FlowFailed) as raised:
        bank.run(*pay(symbol, 1_000_000_000))
    assert raised.value.code == "vault.insufficient_funds"
    assert raised.value.outcome.status == "failed"
    assert raised.value.hint


def test_a_failure_is_the_same_in_every_form(network: Network, symbol: str) -> None:
    args = pay(symbol, 1_000_000_000)
    with Client(network.bank_a) as bank:
        with pytest.raises(FlowFailed) as waited:
            bank.run(*args)
        with pytest.raises(FlowFailed) as endpoint:
            payments = [models.Payment(quantity=1_000_000_000, to=BANK_B)]
            bank.api.start_cash_pay(models.CashPayArguments(currency=symbol, payments=payments))
        (batch,) = bank.run_many([args])
        flow = bank.start(*args)
        assert flow.outcome.status in ("accepted", "failed")
        events = list(flow.events())
        assert events[-1].kind == "failed"
        with pytest.raises(FlowFailed) as followed:
            flow.result()
        with pytest.raises(FlowFailed) as asked:
            bank.flow(flow.id).result()
        with pytest.raises(FlowFailed) as generated:
            bank.api.get_flow(flow.id, wait="delivered")
        # Without a wait, a failure is a state like others.
        shown = bank.flow(flow.id).refresh()
        assert shown == bank.api.get_flow(flow.id)
    assert isinstance(batch, FlowFailed)
    for error in (waited.value, endpoint.value, batch, followed.value, asked.value, generated.value):
        assert (error.code, error.outcome.status) == ("vault.insufficient_funds", "failed")
        assert error.outcome.error == shown.error
    assert shown.status == "failed"
    assert {error.outcome.flow_id for error in (followed.value, asked.value, generated.value)} == {shown.flow_id}


def test_a_killed_flow_is_killed_in_every_form(network: Network) -> None:
    with Client(network.bank_a) as bank:
        bank.run(*issue("HUF", 5))
        # A payment to a fresh key needs the payee first, and the payee is away.
        network.kill("bank-b")
        try:
            name, args = pay("HUF", 5)
            flow = bank.start(name, {**args, "anonymous": True})
            assert bank.flow(flow.id).refresh().status in ("accepted", "running")
            flow.cancel()
            with pytest.raises(FlowFailed) as raised:
                flow.result("delivered", 60)
        finally:
            network.start("bank-b")
        events = list(bank.flow(flow.id).events())
        shown = bank.flow(flow.id).refresh()
    assert (raised.value.code, raised.value.outcome.status) == ("flow.killed", "killed")
    assert [event.kind for event in events] == ["failed"]
    # Only an answer to a request shows the record of an ended flow.
    assert shown.record is not None and shown.record.flow == "cash.pay"
    assert events[0].outcome == replace(shown, record=None)
    assert shown.status == "killed"


def test_what_the_node_refuses_has_its_code(network: Network) -> None:
    with Client(network.bank_a) as bank:
        with pytest.raises(Invalid) as raised:
            bank.run("no.such_flow")
        assert raised.value.code == "flow.unknown"
        with pytest.raises(Invalid) as raised:
            bank.vault.count(field("colour") == "red")
        assert raised.value.code == "api.bad_query"


def test_a_client_id_starts_once(network: Network) -> None:
    with Client(network.bank_a) as bank:
        name = f"test-{uuid.uuid4()}"
        first = bank.run(*issue("CHF", 7), client_id=name)
        again = bank.run(*issue("CHF", 7), client_id=name)
        assert first.flow_id == again.flow_id
        assert bank.vault.count(field("symbol") == "CHF").states == 1
        assert bank.forget(name)
        assert not bank.forget(name)


def test_a_start_survives_the_death_of_the_node(network: Network) -> None:
    with Client(network.bank_a, retry=Retry(lost=200, wait_s_max=0.1)) as bank:
        before = bank.vault.count(field("symbol") == "SEK").states
        network.kill("bank-a")
        comes_back = threading.Thread(target=network.start, args=("bank-a",))
        comes_back.start()
        try:
            outcome = bank.run(*issue("SEK", 5))
        finally:
            comes_back.join()
        assert outcome.status in ("finalised", "delivered")
        assert bank.vault.count(field("symbol") == "SEK").states == before + 1


def test_a_flow_is_followed_to_its_end(network: Network) -> None:
    with Client(network.bank_a) as bank:
        flow = bank.start(*issue("NOK", 1))
        events = list(flow.events("delivered"))
        assert events[-1].kind == "end"
        assert flow.outcome.status == "delivered"
        assert bank.flow(flow.id).result("delivered", 30).transactions == flow.outcome.transactions


def test_changes_of_the_vault_are_told_as_they_happen_and_from_where_one_was(network: Network) -> None:
    with Client(network.bank_a) as bank:
        last = max((entry.seq for entry in bank.ledger()), default=0)
        outcome = bank.run(*issue("DKK", 3))
        with closing(bank.vault.changes(after=last)) as changes:
            change = next(iter(changes))
        assert change.transaction == outcome.transactions[0]
        produced = change.produced[0].fungible
        assert produced is not None
        assert (produced.symbol, produced.quantity) == ("DKK", "3")


def test_changes_go_on_over_a_restart_of_the_node(network: Network) -> None:
    with Client(network.bank_a, retry=Retry(lost=200, wait_s_max=0.1)) as bank:
        last = max(entry.seq for entry in bank.ledger())
        first = bank.run(*issue("ISK", 1)).transactions[0]
        with closing(bank.vault.changes(after=last)) as changes:
            assert next(changes).transaction == first
            network.restart("bank-a")
            second = bank.run(*issue("ISK", 2)).transactions[0]
            assert next(changes).transaction == second


def test_many_starts_come_to_what_each_comes_to(network: Network) -> None:
    with Client(network.bank_a) as bank:
        found = bank.run_many([*[issue("AUD", quantity) for quantity in range(1, 300)], issue("AUD", 0)], timeout_s=60)
        assert [type(one).__name__ for one in found] == ["Outcome"] * 299 + ["FlowFailed"]
        states = bank.vault.frame(field("symbol") == "AUD", sort=["-quantity"])
    assert states["quantity"].tolist() == list(range(299, 0, -1))
    assert str(states["recorded_at"].dtype).startswith("datetime64[")
    assert states["recorded_at"].dt.tz is not None
    assert states["consumed_at"].isna().all()


def test_pages_of_states_join(network: Network, symbol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tallystick._sync.vault.PAGE", 7)
    with Client(network.bank_a) as bank:
        all_of_them = [state.state_ref for state in bank.vault.states(status="all")]
        assert len(all_of_them) == len(set(all_of_them)) == bank.vault.count(status="all").states
        assert [state.state_ref for state in bank.vault.states(status="all", limit=9)] == all_of_them[:9]


def test_groups_and_balances_are_frames(network: Network, symbol: str) -> None:
    with Client(network.bank_a) as bank:
        by_symbol = bank.vault.groups_frame(["symbol"], ~locked())
        balances = bank.balances_frame()
        over_all = bank.vault.groups_frame([])
    assert int(str(by_symbol.loc[symbol, "quantity"])) == 7_500
    assert int(str(balances.loc[(symbol, BANK_A), "quantity"])) == 7_500
    assert over_all["states"].iloc[0] == by_symbol["states"].sum()


def test_an_empty_vault_is_an_empty_frame(network: Network) -> None:
    with Client(network.bank_a) as bank:
        frame = bank.vault.frame(field("symbol") == "NONE")
        assert len(frame) == 0
        assert "quantity" in frame.columns
        assert bank.vault.groups_frame(["symbol", "issuer"], field("symbol") == "NONE").empty


def test_a_user_logs_in_and_may_do_what_was_granted(network: Network) -> None:
    with Client(network.bank_a) as admin:
        admin.api.add_user(models.NewUser(name="ann", password="correct horse", permissions=["vault.balances"]))
        address = str(admin.endpoint)
    root = network.bank_a / "root.pem"
    with Client(address, root=root, login=Login("ann", "correct horse", ttl_s=60)) as ann:
        assert ann.balances().view_seq > 0
        with pytest.raises(Forbidden) as raised:
            ann.run(*issue("GBP", 1))
        assert raised.value.code == "api.forbidden"
        # Logins end with the node's process; the client logs in again.
        network.restart("bank-a")
        assert ann.balances().view_seq > 0
        ann.logout()
    with Client(address, root=root, login=Login("ann", "wrong")) as ann, pytest.raises(tallystick.Unauthorised) as refused:
        ann.balances()
    assert refused.value.code == "api.login_failed"


def test_many_coroutines_share_a_few_connections(network: Network) -> None:
    async def asks() -> set[str]:
        async with AsyncClient(network.bank_a, connections_max=4) as bank:
            return {node.name for node in await asyncio.gather(*(bank.node() for _ in range(200)))}

    assert asyncio.run(asks()) == {BANK_A}


def test_a_client_outlives_an_event_loop(network: Network) -> None:
    bank = AsyncClient(network.bank_a)

    async def asks() -> str:
        return (await bank.node()).name

    async def settles() -> None:
        await bank.aclose()
        await asyncio.sleep(0.05)

    first, second = asyncio.new_event_loop(), asyncio.new_event_loop()
    try:
        assert [loop.run_until_complete(asks()) for loop in (first, second, first)] == [BANK_A] * 3
    finally:
        for loop in (second, first):
            loop.run_until_complete(settles())
            loop.close()


def test_threads_share_a_client(network: Network) -> None:
    with Client(network.bank_a, connections_max=3) as bank:
        names: list[str] = []
        threads = [threading.Thread(target=lambda: names.extend(bank.node().name for _ in range(20))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert names == [BANK_A] * 160


def test_operations_are_those_of_the_description(network: Network) -> None:
    with Client(network.bank_a) as bank:
        served = bank.api.openapi()
        wanted = {
            operation["operationId"]
            for methods in served["paths"].values()
            for operation in methods.values()
            if "application/json" in operation["responses"].get("200", {}).get("content", {})
            # Operations that take bytes are written by hand. The flows' own endpoints depend on a node's applications.
            and "application/json" in operation.get("requestBody", {}).get("content", {"application/json": None})
            and "x-flow" not in operation
        }
        spelled = {tallystick_name(name) for name in wanted}
        assert spelled <= set(dir(bank.api))
        assert bank.api.list_flows(limit=1).flows == []
        assert "tally_" in bank.metrics()
        assert bank.network().notaries
        assert bank.api.peers().software


def tallystick_name(operation: str) -> str:
    return "".join("_" + letter.lower() if letter.isupper() else letter for letter in operation)
