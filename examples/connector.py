"""Connects the HTTP API of Tallystick nodes to the laboratory. A unit is a payment of new cash from one bank to another."""

import asyncio
import json
import sys

import tallystick

CURRENCY = "XTS"


class Payments:
    def __init__(self, payer: str, payee: str) -> None:
        self.payer = tallystick.AsyncClient(payer, connections_max=256)
        self.payee = tallystick.AsyncClient(payee)

    async def prepare(self, work: dict, **_) -> dict:
        """Notes what the payee has before the first payment."""
        self.quantity = work.get("quantity", 1000)
        self.name = (await self.payee.api.node()).name
        self.before = await self.received()
        return {}

    async def start(self, unit: int) -> dict:
        """Issues cash and pays it. The flow is over when both banks have recorded the payment."""
        arguments = {"currency": CURRENCY, "quantity": self.quantity, "recipient": self.name}
        await self.payer.run("cash.issue_and_pay", arguments, wait="delivered")
        return {}

    async def audit(self, acknowledged: int, **_) -> dict:
        """Counts the payments in the payee's vault, whose view may be a moment behind."""
        for _ in range(100):
            received = await self.received() - self.before
            if received >= acknowledged * self.quantity:
                break
            await asyncio.sleep(0.1)
        payments, rest = divmod(received, self.quantity)
        return {"recorded": payments, "findings": [f"{rest} units are no whole payment"] if rest else []}

    async def received(self) -> int:
        balances = (await self.payee.balances()).balances
        return sum(int(balance.quantity) for balance in balances if balance.symbol == CURRENCY)


async def answer(payments: Payments, request: dict) -> None:
    number, task = request.pop("id"), request.pop("do")
    try:
        reply = {"ok": {} if task == "metrics" else await getattr(payments, task)(**request)}
    except tallystick.TallystickError as error:
        reply = {"error": {"code": error.code, "message": error.message}}
    except Exception as error:
        reply = {"error": {"code": "connector.failed", "message": repr(error)}}
    print(json.dumps({"id": number, **reply}), flush=True)


async def main(payer: str, payee: str) -> None:
    payments = Payments(payer, payee)
    print(json.dumps({"protocol": 1, "name": "Tallystick nodes, by their HTTP API"}), flush=True)
    loop = asyncio.get_running_loop()
    running = set()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        task = asyncio.create_task(answer(payments, json.loads(line)))
        running.add(task)
        task.add_done_callback(running.discard)


asyncio.run(main(*sys.argv[1:]))
