"""One run of a tool, and what its own files say came of it."""

import collections
import csv
import json
import os
import subprocess

from books import FLOWS, QUANTITY, RECIPIENT
from tools import ROOT, WORK, say

SECONDS = int(os.environ.get("SECONDS_EACH", "10"))


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


class Run:
    """What a tool says of one of its runs."""

    def __init__(self, tool, load, seconds):
        self.tool, self.load, self.seconds = tool, load, seconds
        self.outcomes = {flow: collections.Counter() for flow in FLOWS}
        self.ms = {flow: [] for flow in FLOWS}
        self.wrong = []

    def add(self, flow, outcome, ms):
        self.outcomes[flow][outcome] += 1
        if outcome == "delivered":
            self.ms[flow].append(ms)


def run_jmeter(program, node, load, clients):
    folder = WORK / f"jmeter-{load}"
    folder.mkdir()
    say(f"JMeter, {load}: {clients} clients for {SECONDS} s")
    host, port = node.api.rsplit(":", 1)
    settings = {
        "host": host, "port": port, "root_pem": node.folder / "root.pem", "token_file": node.folder / "api-token",
        "threads": clients, "duration": SECONDS, "quantity": QUANTITY, "recipient": RECIPIENT,
    }  # fmt: skip
    words = [*program, "-n", "-t", ROOT / "interop" / "jmeter" / "flows.jmx", "-l", folder / "result.jtl", "-j", folder / "log.txt"]
    words += [f"-J{name}={value}" for name, value in settings.items()]
    with open(folder / "out.txt", "wb") as out:
        done = subprocess.run(words, stdout=out, stderr=out, cwd=folder, timeout=SECONDS + 300)
    run = Run("JMeter", load, SECONDS)
    if done.returncode != 0:
        run.wrong.append(f"exit code {done.returncode}: {folder / 'out.txt'}")
    for row in rows_of(folder / "result.jtl"):
        if row["label"] not in FLOWS:
            run.wrong.append(f"{row['label']}: {row['responseMessage']}")
            continue
        if (row["success"] == "true") != (row["responseMessage"] == "delivered"):
            run.wrong.append(f"success={row['success']}, {row['responseMessage']}")
        run.add(row["label"], row["responseMessage"], float(row["elapsed"]))
    return run, folder / "result.jtl"


def run_k6(program, node, mode, load, clients):
    folder = WORK / f"k6-{load}"
    folder.mkdir()
    say(f"k6, {load}: {clients} clients for {SECONDS} s")
    host, port = node.api.rsplit(":", 1)
    settings = {
        "HOST": host, "PORT": port, "TOKEN_FILE": node.folder / "api-token", "MODE": mode, "VUS": clients,
        "DURATION": SECONDS, "QUANTITY": QUANTITY, "RECIPIENT": RECIPIENT, "P99_MS": 60000,
    }  # fmt: skip
    words = [*program, "run", "--quiet", "--no-color", "--no-usage-report", "--out", f"json={folder / 'points.json'}"]
    words += [word for name, value in settings.items() for word in ("-e", f"{name}={value}")]
    env = {**os.environ, "SSL_CERT_FILE": str(node.folder / "root.pem")}
    with open(folder / "out.txt", "wb") as out:
        script = ROOT / "interop" / "k6" / "flows.js"
        done = subprocess.run([*words, script], stdout=out, stderr=out, env=env, cwd=folder, timeout=SECONDS + 300)
    run = Run("k6", load, SECONDS)
    # 99: a threshold was crossed, as it has to be where starts are refused.
    if done.returncode != (99 if load == "refused" else 0):
        run.wrong.append(f"exit code {done.returncode}: {folder / 'out.txt'}")
    good = 0
    with open(folder / "points.json", encoding="utf-8") as points:
        for point in map(json.loads, points):
            if point["type"] != "Point":
                continue
            tags, value = point["data"]["tags"], point["data"]["value"]
            if point["metric"] == "flow_outcomes":
                run.outcomes[tags["flow"]][tags["outcome"]] += int(value)
            elif point["metric"] == "flow_delivered":
                good += int(value)
            elif point["metric"] == "http_req_duration" and tags["status"] == "200":
                run.ms[tags["flow"]].append(value)
            elif point["metric"] == "dropped_iterations":
                run.wrong.append(f"{value} arrivals dropped")
    if good != sum(of["delivered"] for of in run.outcomes.values()):
        run.wrong.append(f"{good} checks passed, not as many as flows were delivered")
    return run


def read_by_jmeter(program, path, number):
    """What is wrong with a JTL by JMeter's own dashboard: it must find the file's rows, and the errors among them."""
    folder = WORK / "dashboards" / str(number)
    folder.mkdir(parents=True)
    words = [*program, "-g", path, "-o", folder / "dashboard", "-j", folder / "log.txt"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=folder, timeout=600)
    counts = collections.defaultdict(lambda: [0, 0])
    for row in rows_of(path):
        for label in ("Total", row["label"]):
            counts[label][0] += 1
            counts[label][1] += row["success"] != "true"
    # JMeter fails on a row that it cannot read, and on a file without rows: then nothing can be
    # counted.
    statistics = folder / "dashboard" / "statistics.json"
    if not statistics.exists():
        return len(rows_of(path)), [f"{path}: JMeter made no dashboard: {(done.stdout + done.stderr).strip()[-300:]}"]
    found = {label: [line["sampleCount"], line["errorCount"]] for label, line in json.loads(statistics.read_text()).items()}
    wrong = [] if found == dict(counts) else [f"{path}: JMeter finds {found}, the file has {dict(counts)}"]
    return counts["Total"][0], wrong
