"""The network, and what its nodes say about the flows that a tool has started."""

import json
import os
import ssl
import subprocess
import sys
import time
import urllib.request

from tools import TARGET, WORK

TALLY = os.environ.get("TALLY", str(TARGET / "release" / "tally"))
QUANTITY, RECIPIENT = 100, "O=Bank B, L=New York, C=US"
FLOWS = ("cash.issue", "cash.issue_and_pay")
# Longest wait until all started flows are answered and delivered, in seconds.
QUIET_S_MAX = 60


class Node:
    """A node of the network, and what it says of itself."""

    def __init__(self, name):
        self.folder, self.process, self.api = WORK / "net" / name, None, ""

    def start(self):
        log = open(self.folder / "log.txt", "ab")
        self.process = subprocess.Popen([TALLY, "node", "run", self.folder], stdout=subprocess.PIPE, stderr=log, text=True)
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.folder}: {(self.folder / 'log.txt').read_text()}")
        self.api = json.loads(line)["api"]

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait()

    def get(self, path):
        context = ssl.create_default_context(cafile=self.folder / "root.pem")
        token = (self.folder / "api-token").read_text().strip()
        request = urllib.request.Request(f"https://{self.api}{path}", headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, context=context, timeout=60) as answer:
            return answer.read().decode()

    def metrics(self):
        lines = [line.rsplit(" ", 1) for line in self.get("/metrics").splitlines() if not line.startswith("#")]
        return {name: float(value) for name, value in lines}

    def recorded(self):
        """How many transactions are in its ledger."""
        count, after = 0, ""
        while after is not None:
            page = json.loads(self.get(f"/v1/ledger?limit=10000{after and f'&after={after}'}"))
            count, after = count + len(page["entries"]), page.get("next")
        return count

    def owns(self):
        return sum(int(line["quantity"]) for line in json.loads(self.get("/v1/balances?timeout_ms=60000"))["balances"])


class Books:
    """What the nodes say, before and after a run."""

    def __init__(self, a, b):
        self.a, self.b = a, b
        self.before = self.look()

    def look(self):
        """Once nothing is under way: a tool that has ended may have left a flow behind."""
        until = time.monotonic() + QUIET_S_MAX
        while True:
            said = self.a.metrics()
            busy = said["tally_flows_in_flight"] + said["tally_flows_queued"] + said["tally_deliveries_pending"]
            if busy == 0 or time.monotonic() > until:
                break
            time.sleep(0.1)
        return {
            "under way": busy,
            "delivered": said['tally_flows_done_total{side="initiating"}'],
            "deliveries refused": said["tally_deliveries_refused_total"],
            "failed": said['tally_flows_failed_total{side="initiating"}'],
            "refused": said["tally_flows_refused_total"],
            "transactions at A": self.a.recorded(),
            "transactions at B": self.b.recorded(),
            "cash of A": self.a.owns(),
            "cash of B": self.b.owns(),
        }

    def disagree(self, outcomes, busy):
        """What is not as the tool's outcomes, `{flow: {outcome: count}}`, say. Refusals are to be seen only if `busy`."""
        now = self.look()
        issued, paid = (outcomes[flow].get("delivered", 0) for flow in FLOWS)
        refused = sum(of.get("node.busy", 0) for of in outcomes.values())
        expected = {
            "under way": 0,
            "delivered": issued + paid,
            "deliveries refused": 0,
            "failed": 0,
            "refused": refused,
            "transactions at A": issued + 2 * paid,
            "transactions at B": 2 * paid,
            "cash of A": issued * QUANTITY,
            "cash of B": paid * QUANTITY,
        }
        gained = {name: now[name] - (0 if name == "under way" else self.before[name]) for name in now}
        wrong = [f"{name}: the node says {gained[name]:.0f}, the tool {expected[name]}" for name in now if gained[name] != expected[name]]
        other = {f"{flow} {name}": n for flow, of in outcomes.items() for name, n in of.items() if name not in ("delivered", "node.busy")}
        wrong += [f"{n} of {name}" for name, n in other.items()]
        if not issued or not paid:
            wrong.append(f"{issued} issued and {paid} paid: nothing was shown")
        if busy != (refused > 0):
            wrong.append(f"{refused} refused")
        return wrong
