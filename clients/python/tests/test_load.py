"""The load tool: its starts, its counts and its output."""

from __future__ import annotations

import array
import itertools
import json
import pathlib

import pytest
from conftest import Network

from tallystick.load import Load, Tally, summary
from tallystick.load.__main__ import main

ISSUE = ["--flow", "cash.issue", "--args", '{"currency":"GBP","quantity":5}']


def test_starts_take_attachments_in_turn_and_carry_their_number() -> None:
    load = Load(args={"to": "O=B", "title": "no {n}"}, attachments=("aa", "bb"), count=3)
    assert list(load.starts()) == [
        {"to": "O=B", "title": "no 0", "attachment": "aa"},
        {"to": "O=B", "title": "no 1", "attachment": "bb"},
        {"to": "O=B", "title": "no 2", "attachment": "aa"},
    ]
    assert len(list(Load(attachments=("aa", "bb"), once=True).starts())) == 2
    assert len(list(itertools.islice(Load(seconds=1).starts(), 9))) == 9


def test_percentiles_are_of_the_latencies_that_were() -> None:
    tally = Tally(began=10.0, ended=12.0, latencies_ms=array.array("d", [float(ms) for ms in range(100, 0, -1)]))
    tally.statuses["delivered"] = 100
    found = summary(Load(), tally)
    assert found["good_per_s"] == 50.0
    latency = found["latency_ms"]
    assert (latency["min"], latency["p50"], latency["p99"], latency["p99_9"], latency["max"]) == (1.0, 50.0, 99.0, 100.0, 100.0)


def test_a_run_without_a_success_has_figures_all_the_same() -> None:
    assert summary(Load(), Tally())["latency_ms"] == {}


def test_a_run_counts_what_the_node_did(network: Network, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--node", str(network.bank_a), *ISSUE, "--concurrency", "8", "--count", "50", "--exactly-once"]
    assert main([*words, "--latencies", str(tmp_path / "ms")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["good"], found["statuses"], found["codes"]) == (50, {"delivered": 50}, {})
    assert 0 < found["latency_ms"]["min"] <= found["latency_ms"]["p50"] <= found["latency_ms"]["max"]
    assert len((tmp_path / "ms").read_text().split()) == 50


def test_a_run_tells_failures_by_their_codes(network: Network, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--node", str(network.bank_a), "--flow", "cash.issue", "--args", '{"currency":"GBP","quantity":0}']
    assert main([*words, "--concurrency", "2", "--count", "5"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["codes"] == {"cash.zero_amount": 5}
    assert found["statuses"] == {"failed": 5}
    assert found["examples"]["cash.zero_amount"]


def test_a_run_ends_after_its_time(network: Network, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--node", str(network.bank_a), *ISSUE, "--concurrency", "4", "--seconds", "0.5", "--warmup-s", "0.2"]
    assert main([*words, "--wait", "finalised"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["good"] > 0
    assert found["warmup"] > 0
    assert found["abandoned"] == 0


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--node", "x"],
        ["--node", "x", "--url", "https://h:1", "--count", "1"],
        ["--url", "https://h:1", "--count", "1"],
        ["--node", "x", "--count", "0"],
        ["--node", "x", "--count", "1", "--args", "["],
        ["--node", "x", "--count", "1", "--args", "[]"],
        ["--node", "x", "--once"],
        ["--node", "x", "--count", "1", "--attachments", "/no/such/file"],
    ],
)
def test_a_command_that_makes_no_sense_does_nothing(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert capsys.readouterr().out == ""


def test_a_node_that_is_not_there_is_told(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--node", str(tmp_path), "--count", "1"]) == 2
    assert "client.bad_endpoint" in capsys.readouterr().err
