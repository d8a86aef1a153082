"""The laboratory drives a node through this package, from coroutines of a separate process."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

from conftest import TALLY

SCENARIO = """
title = "Payments from coroutines"
[network]
banks = 2
[work]
kind = "pay"
coins = 100
starts = "python"
[load]
outstanding = 20
[run]
warm_up_s = 0
count = 200
repeats = 1
[monitors]
machine = false
"""


def test_the_laboratory_starts_flows_from_coroutines(tmp_path: pathlib.Path) -> None:
    scenario = tmp_path / "coroutines.toml"
    scenario.write_text(SCENARIO)
    ran = subprocess.run(
        [TALLY, "lab", "run", scenario, "--out", tmp_path / "report", "--json"],
        env={**os.environ, "TALLY_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    report = json.loads((tmp_path / "report" / "report.json").read_text())
    stretch = report["scenarios"][0]["points"][0]["stretches"][0]
    assert stretch["done"] == 200
    assert not stretch["faults"]
