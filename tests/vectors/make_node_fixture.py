#!/usr/bin/env python3
"""Makes a fixture: the folder of a node that was killed in the middle of its work, as text.

Usage: make_node_fixture.py KIND PROGRAM OUT.json

PROGRAM is the `tally` program of the release whose formats are to be kept. KIND selects the folder:

- bank: a notary and two banks do a little business. The notary and bank B are killed. A starts a payment that then waits for the notary, and is killed as well.
- notary: the notary of the same business, killed after it has signed three payments.
- chain: the only node of a test network, killed with one payment in a block and one in its pool, whose deadline is a minute.

OUT.json holds the folder and the contents that a reader must find in it.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

NAMES = ["O=Notary, L=Zürich, C=CH", "O=Bank A, L=London, C=GB", "O=Bank B, L=Paris, C=FR"]
DEADLINE_S = 60
# A log slot is written through with zeroes; runs of at least this many are written as a number.
ZEROES_MIN = 64


def run(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{arguments}: {done.stderr}")
    return json.loads(done.stdout) if done.stdout.startswith(("{", "[")) else done.stdout


def start(program, folder, kind="node"):
    log = open(folder / "node.log", "wb")
    process = subprocess.Popen(
        [program, kind, "run", str(folder)], stdout=subprocess.PIPE, stderr=log, text=True
    )
    process.stdout.readline()
    return process


def kill(process):
    process.kill()
    process.wait()


def until(what, probe):
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        if found := probe():
            return found
        time.sleep(0.05)
    sys.exit(f"not in time: {what}")


def pieces(data):
    """Hexadecimal text and, for each long run of zeroes, its length."""
    found, at = [], 0
    while at < len(data):
        end = at
        if data[at] == 0:
            while end < len(data) and data[end] == 0:
                end += 1
            if end - at >= ZEROES_MIN:
                found.append(end - at)
                at = end
                continue
            end = at
        zeroes = data.find(bytes(ZEROES_MIN), at)
        end = len(data) if zeroes < 0 else zeroes
        found.append(data[at:end].hex())
        at = end
    return found


def files(folder):
    """The files of a folder, without logs, locks and the view that is rebuilt."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        skipped = name == "node.log" or name.startswith("data/vault.sqlite") or name.endswith("LOCK")
        if path.is_file() and not skipped:
            found[name] = {"mode": oct(path.stat().st_mode & 0o777), "bytes": pieces(path.read_bytes())}
    return found


def ledger(program, root, kind):
    """Makes the folder of bank A or of the notary. Returns what a reader must find, and the folder."""
    description = root / "NETWORK.toml"
    nodes = [f'[[node]]\nname = "{name}"\n' for name in NAMES]
    nodes[0] += "notary = true\n"
    nodes = [node + "config.store.log_bytes = 1048576\n" for node in nodes]
    description.write_text("".join(nodes))
    made = run(program, "network", "bootstrap", str(description), "--out", str(root / "out"), "--json")
    folders = [pathlib.Path(node["folder"]) for node in made["nodes"]]
    notary, a, b = (start(program, folder) for folder in folders)

    def flow(name, arguments, *more):
        return run(
            program, "flow", "start", "--node", str(folders[1]), "--flow", name,
            "--args", json.dumps(arguments), "--json", *more,
        )

    def pay(quantity, wait):
        arguments = {"currency": "GBP", "payments": [{"to": NAMES[2], "quantity": quantity}]}
        return flow("cash.pay", arguments, "--wait", wait)

    issued = flow("cash.issue", {"currency": "GBP", "quantity": 1000, "outputs": 3},
                  "--client-id", "issue-1", "--wait", "delivered")
    pay(30, "delivered")
    kill(b)
    pay(7, "finalised")
    if kind == "notary":
        pay(900, "finalised")
        consumed = run(program, "notary", "consumed", "--node", str(folders[0]), "--json")["entries"]
        kill(notary)
        kill(a)
        return {"name": NAMES[0], "consumed": consumed}, folders[0]
    kill(notary)
    waiting = pay(5, "none")

    def live():
        listed = run(program, "flow", "list", "--node", str(folders[1]), "--json")
        return [flow for flow in listed["flows"] if flow["flow_id"] == waiting["flow_id"]]

    until("the flow waits", live)
    time.sleep(1)
    kill(a)
    expected = {
        "name": NAMES[1],
        "client_id": "issue-1",
        "issued_by": issued["flow_id"],
        "transactions": 3,
        "live_flow": waiting["flow_id"],
        "live_flow_name": "cash.pay",
        "held": 1000 - 30 - 7,
    }
    return expected, folders[1]


def chain(program, root):
    """Makes the folder of a chain node. Returns what a reader must find, and the folder."""
    run(program, "chain", "genesis", "--servers", "1", "--block-seconds", "1", "--out", str(root / "out"))
    folder = root / "out" / "server1"
    config = folder / "chain.toml"
    text = config.read_text()
    config.write_text(re.sub(r"^log_bytes = .*$", "log_bytes = 1048576", text, flags=re.MULTILINE))
    process = start(program, folder, "chain")

    def ask(command, *arguments):
        return run(program, "chain", command, "--node", str(folder), "--json", *arguments)

    def pay(recipient, amount):
        to = f"passphrase:{recipient}"
        return ask("send", "--passphrase", "0", "--to", to, "--amount", amount, "--deadline", "1")

    in_block = pay("fixture-block", "5")
    account = in_block["recipient"]

    def arrived():
        view = ask("balance", account)["accounts"][0]["balances"]
        return [token for token in view if token["balance"] == in_block["amount"]]

    until("the payment is in a block", arrived)
    in_pool = pay("fixture-pool", "7")
    tip = ask("blocks", "--limit", "1")["blocks"][0]
    kill(process)
    expected = {
        "name": "server1",
        "height": tip["height"],
        "hash": tip["hash"],
        "in_block": {"account": account, "balance": int(in_block["amount"])},
        "in_pool": in_pool["id"],
    }
    return expected, folder


def main(kind, program, out):
    if kind not in ("bank", "notary", "chain"):
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)
        expected, folder = chain(program, root) if kind == "chain" else ledger(program, root, kind)
        fixture = {"program": run(program, "--version").strip(), "expected": expected, "files": files(folder)}
        pathlib.Path(out).write_text(json.dumps(fixture, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
