"""Issues cash, pays it, and plots the results. Editors that support `# %%` lines show the parts as cells.

tally network bootstrap examples/network.toml --out mynet     # and run its three nodes: docs/guides/first-network.md
pip install './clients/python[examples]'
python clients/python/examples/issue_and_pay.py mynet         # writes issue_and_pay.png
"""

# %% The network's folder and the picture's path
from __future__ import annotations

import asyncio
import pathlib
import random
import sys
import time

import matplotlib as mpl
import pandas as pd

import tallystick
from tallystick import AsyncClient, Client, field

mpl.use("agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

NETWORK = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "mynet")
PICTURE = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else "issue_and_pay.png")
CURRENCIES = {"EUR": "#0b6e99", "GBP": "#c2570c", "USD": "#5b7f2b"}
PAYMENTS, AT_ONCE = 300, 16

# %% Bank A issues. One import, one call; a failure would be an exception with a code and a hint
bank_a, bank_b = Client(NETWORK / "bank-a"), Client(NETWORK / "bank-b")
PAYEE = bank_b.node().name

for currency in CURRENCIES:
    # Coins of several sizes, so that concurrent payments need not wait for each other's change.
    found = bank_a.run_many([("cash.issue", {"currency": currency, "quantity": 50_000}) for _ in range(40)])
    assert not [one for one in found if isinstance(one, tallystick.TallystickError)], found

print(bank_a.balances_frame()["quantity"].to_string())

# %% Bank A pays bank B, several payments at a time, and measures the time until bank B has recorded each
before = max((entry.seq for entry in bank_b.ledger()), default=0)


async def pay_all() -> pd.DataFrame:
    chance, rows = random.Random(7), []
    places = asyncio.Semaphore(AT_ONCE)

    async def pay(bank: AsyncClient, currency: str, quantity: int) -> None:
        async with places:
            asked = time.perf_counter()
            args = {"currency": currency, "payments": [{"to": PAYEE, "quantity": quantity}]}
            await bank.run("cash.pay", args, wait="delivered", timeout_s=60)
            rows.append({"currency": currency, "quantity": quantity, "ms": (time.perf_counter() - asked) * 1000})

    async with AsyncClient(NETWORK / "bank-a") as bank:
        sizes = [(chance.choice(list(CURRENCIES)), int(chance.lognormvariate(6.2, 0.8)) + 1) for _ in range(PAYMENTS)]
        await asyncio.gather(*(pay(bank, *size) for size in sizes))
    return pd.DataFrame(rows)


payments = asyncio.run(pay_all())
print(payments.groupby("currency")["ms"].describe(percentiles=[0.5, 0.99]).round(1).to_string())

# %% Bank B's vault changes since before the first payment
changes = bank_b.vault.changes(after=before)
seen: list[tuple[int, str, int]] = []
while len(seen) < PAYMENTS:
    change = next(changes)
    values = [state.fungible for state in change.produced if state.fungible is not None]
    seen += [(change.recorded_at_ms, value.symbol, int(value.quantity)) for value in values]
changes.close()
received = pd.DataFrame(seen, columns=["at", "currency", "quantity"])
received["s"] = (received["at"] - received["at"].min()) / 1000

# %% Bank B's current states, from its vault
states = bank_b.vault.frame(field("symbol").one_of(CURRENCIES) & (field("contract") == "tally.cash"))
print(states.groupby("symbol")["quantity"].agg(["count", "sum", "max"]).to_string())

# %% The picture
plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.titleweight": "bold"})
figure, places_of = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")


def arrivals(axes: Axes) -> None:
    for currency, color in CURRENCIES.items():
        of = received[received["currency"] == currency]
        axes.step(of["s"], of["quantity"].cumsum() / 100, where="post", color=color, label=currency)
    axes.set(title="received by Bank B", xlabel="seconds", ylabel="amount, major units", ylim=(0, None))
    axes.legend(frameon=False)


def latencies(axes: Axes) -> None:
    share = [(place + 1) / len(payments) * 100 for place in range(len(payments))]
    axes.plot(payments["ms"].sort_values(), share, color="#333333")
    for percent, dash in ((50, ":"), (99, "--")):
        ms = float(payments["ms"].quantile(percent / 100))
        axes.axvline(ms, color="#999999", linestyle=dash, linewidth=1)
        axes.annotate(f"p{percent} {ms:.0f} ms", (ms, 4), rotation=90, ha="right", va="bottom", color="#555555")
    title = f"paid and delivered, {AT_ONCE} at a time"
    axes.set(title=title, xlabel="milliseconds", ylabel="% of payments", xlim=(0, None), ylim=(0, 101))


def sizes(axes: Axes) -> None:
    values = [states.loc[states["symbol"] == currency, "quantity"].astype("int64") / 100 for currency in CURRENCIES]
    axes.hist(values, bins=20, stacked=True, color=list(CURRENCIES.values()), label=list(CURRENCIES))
    axes.set(title="states that Bank B holds", xlabel="amount, major units", ylabel="states")


for draw, place in zip((arrivals, latencies, sizes), places_of):
    draw(place)
figure.savefig(PICTURE, dpi=130)
print(f"wrote {PICTURE}")

# %% Connections close
bank_a.close()
bank_b.close()
