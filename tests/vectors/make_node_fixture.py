#!/usr/bin/env python3
"""Makes a fixture: the folder of a node that was killed in the middle of its work, as text.

Usage: make_node_fixture.py PROGRAM OUT.json

PROGRAM is the `tally` program of the release whose formats are to be kept. A notary and two banks do a little business. The notary and bank B are killed; A
starts a payment that then waits for the notary, and is killed as well. OUT.json holds A's folder and what a reader must find in it.
"""

import json
import pathlib
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


def start(program, folder):
    log = open(folder / "node.log", "wb")
    process = subprocess.Popen(
        [program, "node", "run", str(folder)], stdout=subprocess.PIPE, stderr=log, text=True
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


def main(program, out):
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)
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

        issued = flow("cash.issue", {"currency": "GBP", "quantity": 1000, "outputs": 3},
                      "--client-id", "issue-1", "--wait", "delivered")
        pay = {"currency": "GBP", "payments": [{"to": NAMES[2], "quantity": 30}]}
        flow("cash.pay", pay, "--wait", "delivered")
        kill(b)
        flow("cash.pay", {"currency": "GBP", "payments": [{"to": NAMES[2], "quantity": 7}]}, "--wait", "finalised")
        kill(notary)
        waiting = flow("cash.pay", {"currency": "GBP", "payments": [{"to": NAMES[2], "quantity": 5}]}, "--wait", "none")

        def live():
            listed = run(program, "flow", "list", "--node", str(folders[1]), "--json")
            return [flow for flow in listed["flows"] if flow["flow_id"] == waiting["flow_id"]]

        until("the flow waits", live)
        time.sleep(1)
        kill(a)
        files = {}
        for path in sorted(folders[1].rglob("*")):
            name = str(path.relative_to(folders[1]))
            skipped = name == "node.log" or name.startswith("data/vault.sqlite") or name.endswith("LOCK")
            if path.is_file() and not skipped:
                files[name] = {"mode": oct(path.stat().st_mode & 0o777), "bytes": pieces(path.read_bytes())}
        fixture = {
            "program": run(program, "--version").strip(),
            "expected": {
                "name": NAMES[1],
                "client_id": "issue-1",
                "issued_by": issued["flow_id"],
                "transactions": 3,
                "live_flow": waiting["flow_id"],
                "live_flow_name": "cash.pay",
                "held": 1000 - 30 - 7,
            },
            "files": files,
        }
        pathlib.Path(out).write_text(json.dumps(fixture, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
