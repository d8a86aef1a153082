//! Tests of refused scenarios: the place and the message.

use super::read;
use crate::plan::{NoChecks, Options, PlanError, open, parse};
use primitives::Coded;

/// Text, place of the error, part of the message.
const WRONG: &[(&str, &str, &str)] = &[
    ("", "", "`work` is missing"),
    ("[work]\nkind = 'swap'\n[run\n", "3:5", "unclosed table"),
    ("[work]\nkind = 'swap'\nkind = 'x'", "3:1", "duplicate key"),
    (
        "[work]\nkind = 3",
        "2:8",
        "`work.kind` is 3; it has to be a text",
    ),
    ("work = []", "1:8", "there has to be some work"),
    ("work = 3", "1:8", "a list of tables"),
    (
        "[work]\nkind = 'swap'\npartys = 3",
        "3:10",
        "work `swap`: there is no `partys`; did you mean `parties`?",
    ),
    (
        "[[work]]\nkind = 'swap'\n[[work]]\nkind = 'swap'",
        "4:8",
        "two kinds of work are called `swap`",
    ),
    (
        "name = 'Upper'\n[work]\nkind = 'swap'",
        "1:8",
        "small letters",
    ),
    (
        "titel = 'x'\n[work]\nkind = 'swap'",
        "1:1",
        "did you mean `title`?",
    ),
    (
        "seconds = 3\n[work]\nkind = 'swap'",
        "1:1",
        "did you mean `run.seconds`?",
    ),
    ("seed = -1\n[work]\nkind = 'swap'", "1:8", "from 0 to"),
    (
        "seed = 99999999999999999999\n[work]\nkind = 'swap'",
        "1:8",
        "64 bits",
    ),
    (
        "main_metric = 'p50'\n[work]\nkind = 'swap'",
        "1:15",
        "did you mean `p50_ms`?",
    ),
    (
        "[network]\nnotary_workers = 3\n[work]\nkind = 'swap'",
        "2:1",
        "applies only with `network.notary = \"replicated\"`",
    ),
    (
        "[network]\nnotary = 'replicated'\nnotary_workers = 9\n[work]\nkind = 'swap'",
        "3:18",
        "from 1 to 8",
    ),
    (
        "[network]\nbanks = 65\n[work]\nkind = 'swap'",
        "2:9",
        "`network.banks` is 65; it has to be a whole number from 0 to 64",
    ),
    (
        "[network]\nbanks = 0\n[work]\nkind = 'swap'",
        "4:8",
        "only work of the kind `fake`",
    ),
    ("[work]\nkind = 'fake'", "2:8", "needs `network.banks = 0`"),
    (
        "[network]\nnotary = 'validatng'\n[work]\nkind = 'swap'",
        "2:10",
        "did you mean `validating`?",
    ),
    (
        "[network.nodes.bank-3]\ncores = 1\n[work]\nkind = 'swap'",
        "1:16",
        "there is no node `bank-3`",
    ),
    (
        "[network.nodes.bank-1]\ncore = 1\n[work]\nkind = 'swap'",
        "2:1",
        "did you mean `cores`?",
    ),
    (
        "[network.nodes]\nbank-1 = 1\n[work]\nkind = 'swap'",
        "2:10",
        "has to be a table",
    ),
    (
        "[network.settings]\nlinger = 1\n[work]\nkind = 'swap'",
        "2:10",
        "a node has no setting `linger`",
    ),
    (
        "[network.settings]\n'store.linger_us' = 1\nstore.linger_us = 1\n[work]\nkind = 'swap'",
        "2:1",
        "set twice",
    ),
    (
        "[network.target]\nconnector = 'postgres'\n[work]\nkind = 'swap'",
        "4:8",
        "a connector can only do work of the kind `command`",
    ),
    (
        "[work]\nkind = 'command'",
        "2:8",
        "needs `network.target.command`",
    ),
    (
        "[network]\nbanks = 0\n[work]\nkind = 'command'",
        "4:8",
        "needs `network.target.command`",
    ),
    (
        "[network.target]\ncommand = []\n[work]\nkind = 'command'",
        "2:11",
        "a connector is a program",
    ),
    (
        "[network.target]\nconnector = 'postgres'\ncommand = ['x']\n[work]\nkind = 'command'",
        "3:1",
        "contradicts `connector`",
    ),
    (
        "[network.target]\ncommand = ['x']\nbanks = ['a']\n[work]\nkind = 'command'",
        "3:1",
        "this target is another system",
    ),
    (
        "[network.target]\nbanks = []\n[work]\nkind = 'swap'",
        "2:9",
        "at least one bank",
    ),
    (
        "[network]\nbanks = 3\ntarget.banks = ['a']\n[work]\nkind = 'swap'",
        "2:9",
        "the target has 1",
    ),
    (
        "[network]\nsettings.store.linger_us = 3\ntarget.banks = ['a']\n[work]\nkind = 'swap'",
        "2:1",
        "does not own",
    ),
    (
        "[network.target]\nbanks = ['a']\n[run]\nfresh = true\n[work]\nkind = 'swap'",
        "4:1",
        "does not own",
    ),
    (
        "[load]\nrate = 5\noutstanding = 5\n[work]\nkind = 'swap'",
        "2:1",
        "contradicts `outstanding`",
    ),
    (
        "[load]\nrate = 0\n[work]\nkind = 'swap'",
        "2:8",
        "from 0.001 to 1000000 (units a second)",
    ),
    (
        "[load]\nrate = inf\n[work]\nkind = 'swap'",
        "2:8",
        "infinity",
    ),
    (
        "[load]\nrate = 5\nthink_ms = 5\n[work]\nkind = 'swap'",
        "3:1",
        "is for a closed loop",
    ),
    (
        "[load]\npoisson = true\n[work]\nkind = 'swap'",
        "2:1",
        "is for an open loop",
    ),
    (
        "[load]\nramp = { from = 0, to = 0 }\n[work]\nkind = 'swap'",
        "2:8",
        "does nothing",
    ),
    (
        "[load]\nramp = { from = 0 }\n[work]\nkind = 'swap'",
        "2:8",
        "`load.ramp.to` is missing",
    ),
    (
        "[load]\nsteps = []\n[work]\nkind = 'swap'",
        "2:9",
        "above 0",
    ),
    (
        "[load]\nknee = { from_per_s = 5, to_per_s = 5, latency_ms = 1 }\n[work]\nkind = 'swap'",
        "2:37",
        "above `from_per_s`",
    ),
    (
        "[run]\nseconds = 0\n[work]\nkind = 'swap'",
        "2:11",
        "from 0.1 to 7776000 (seconds)",
    ),
    (
        "[run]\nrepeats = 1.5\n[work]\nkind = 'swap'",
        "2:11",
        "whole number from 1 to 1000",
    ),
    (
        "[run]\nrestart = 'repeat'\n[work]\nkind = 'swap'",
        "2:11",
        "did you mean `repeats`?",
    ),
    (
        "[run.fault]\nnode = 'notary-2'\n[work]\nkind = 'swap'",
        "2:8",
        "there is no node `notary-2`",
    ),
    (
        "[run]\nfault = { node = 'notary', for_s = 1 }\n[work]\nkind = 'swap'",
        "2:28",
        "applies only with `run.fault.kind",
    ),
    (
        "[run]\nseconds = 2\nfault = { node = 'notary', at_s = 2 }\n[work]\nkind = 'swap'",
        "3:9",
        "the fault comes after 2 s, and the stretch ends after 2 s",
    ),
    (
        "[run]\nfresh = 1\n[work]\nkind = 'swap'",
        "2:9",
        "true or false",
    ),
    (
        "[run]\nfresh = true\ninterleave = true\n[work]\nkind = 'swap'",
        "2:1",
        "take one of the two",
    ),
    (
        "[run]\neach_unit = true\n[work]\nkind = 'pay'",
        "2:13",
        "a report keeps each unit of at most 1000",
    ),
    (
        "[run]\ncount = 1001\neach_unit = true\n[work]\nkind = 'pay'",
        "3:13",
        "set `run.count` to no more",
    ),
    (
        "[load]\nknee = { from_per_s = 1, to_per_s = 9, latency_ms = 9 }\n[run]\ncount = 9\neach_unit = true\n[work]\nkind = 'pay'",
        "5:1",
        "`each_unit` applies to one load",
    ),
    (
        "[monitors]\nevery_ms = 10\n[work]\nkind = 'swap'",
        "2:12",
        "at least 50",
    ),
    (
        "[monitors]\nmetrics = [1]\n[work]\nkind = 'swap'",
        "2:12",
        "has to be a text",
    ),
    (
        "[audit]\nread_max = 0\n[work]\nkind = 'swap'",
        "2:12",
        "from 1 to",
    ),
    (
        "[[sweep]]\nset = 'work.depth'\n[work]\nkind = 'swap'",
        "1:1",
        "`sweep.values` is missing",
    ),
    (
        "[[sweep]]\nset = 'work.depth'\nvalues = []\n[work]\nkind = 'swap'",
        "3:10",
        "a list of 1 to 200 values",
    ),
    (
        "[[sweep]]\nset = 'work.depth'\nvalues = [1, 1]\n[work]\nkind = 'swap'",
        "1:1",
        "two cases are called `1`",
    ),
    (
        "[[sweep]]\nset = 'title'\nvalues = ['a']\n[work]\nkind = 'swap'",
        "2:7",
        "no setting to vary called `title`",
    ),
    (
        "[[sweep]]\nset = 'lod.rate'\nvalues = [1]\n[work]\nkind = 'swap'",
        "2:7",
        "did you mean `load`?",
    ),
    (
        "[[sweep]]\nset = 'run.seconds'\nvalues = [1, 0]\n[work]\nkind = 'swap'",
        "3:14",
        "(at seconds = 0)",
    ),
    (
        "[[sweep]]\n[[sweep.case]]\nset.seed = 1\n[work]\nkind = 'swap'",
        "2:1",
        "`sweep.case.name` is missing",
    ),
    (
        "[[sweep]]\ncase = []\n[work]\nkind = 'swap'",
        "1:1",
        "at least one case",
    ),
    (
        "[[published]]\nlabel = 'x'\nvalue = 1\n[work]\nkind = 'swap'",
        "1:1",
        "`published.source` is missing",
    ),
    (
        "[[published]]\nlabel = 'x'\nsource = 'y'\n[work]\nkind = 'swap'",
        "1:1",
        "`value` or `values`",
    ),
    (
        "[[published]]\nlabel = 'x'\nsource = 'y'\nvalue = 3\nurl = 'http://example.org'\n[work]\nkind = 'swap'",
        "1:1",
        "begin with https://",
    ),
    (
        "[[published]]\nlabel = 'x'\nsource = 'y'\nvalues = { 4.5 = 3 }\n[work]\nkind = 'swap'",
        "4:12",
        "quote a case",
    ),
    (
        "[[published]]\nlabel = 'x'\nsource = 'y'\nvalues = { 4 = 3 }\ndeviations = { 6 = 1 }\n[work]\nkind = 'swap'",
        "1:1",
        "there is no value for `6`",
    ),
    (
        "[[published]]\nlabel = 'x'\nsource = 'y'\nvalues = { 4 = 3 }\ndeviations = 1\n[work]\nkind = 'swap'",
        "5:14",
        "`published.deviations` is 1; it has to be a table of 1 to 200 figures",
    ),
    (
        "[full]\nfull.seed = 1\n[work]\nkind = 'swap'",
        "2:1",
        "`full` within `full`",
    ),
    (
        "[work]\nkind = 'swap'\n[full]\nload.steps = [{ per_s = 1, seconds = 0 }]",
        "4:38",
        "`load.steps.seconds` is 0",
    ),
    (
        "[work]\nkind = 'swap'\n[[sweep]]\nset = 'run.count'\nvalues = [1]\n[[sweep]]\nlabel = 'x'\nset = 'run.count'\nvalues = [2]",
        "8:7",
        "`run.count` is set twice (at count = 1, x = 2)",
    ),
    (
        "[network]\nbanks = []\n[work]\nkind = 'swap'",
        "2:9",
        "`network.banks` is a list of 0; it has to be a whole number",
    ),
    (
        "full = 1\n[work]\nkind = 'swap'",
        "1:8",
        "has to be a table",
    ),
    (
        "[full]\nrun.secnds = 1\n[work]\nkind = 'swap'",
        "2:5",
        "did you mean `seconds`?",
    ),
];

#[test]
fn whatever_is_wrong_is_told_with_its_place_and_what_is_allowed() {
    for (text, place, wanted) in WRONG {
        let error = read(text, false, &[]).expect_err(text);
        if !place.is_empty() {
            assert!(
                error.starts_with(&format!("test.toml:{place}:")),
                "{text}\ngave {error}\nnot {place}"
            );
        }
        assert!(error.contains(wanted), "{text}\ngave {error}\nnot {wanted}");
    }
}

fn parsed(bytes: &[u8]) -> PlanError {
    let options = Options::default();
    parse("test", "test.toml", bytes, &options, &NoChecks).expect_err("wrong")
}

#[test]
fn all_problems_are_told_at_once_up_to_a_limit_and_each_once() {
    let error = parsed(b"a = 1\nb = 2\n[work]\nkind = 'swap'\n[run]\nseconds = 0");
    let codes: Vec<&str> = error.problems.iter().map(|problem| problem.code).collect();
    assert_eq!(
        codes,
        [
            "lab.unknown_setting",
            "lab.unknown_setting",
            "lab.bad_scenario"
        ]
    );
    assert_eq!(error.code(), "lab.unknown_setting");
    assert!(!error.hint().is_empty());
    let many: String = (0..1000).map(|at| format!("key{at} = 1\n")).collect();
    assert_eq!(parsed(many.as_bytes()).problems.len(), 20);
}

#[test]
fn files_that_are_none() {
    assert_eq!(parsed(b"a = '\xff'").code(), "lab.unreadable_scenario");
    assert!(
        parsed(b"a = 1\nb = '\xff'")
            .to_string()
            .contains("test.toml:2: not UTF-8")
    );
    assert_eq!(
        parsed(&vec![b'#'; 300_000]).code(),
        "lab.unreadable_scenario"
    );
    let opened = |name: &str| open(name, &Options::default(), &NoChecks).expect_err(name);
    assert_eq!(opened("/nowhere/x.toml").code(), "lab.unreadable_scenario");
    assert_eq!(opened("/").code(), "lab.unreadable_scenario");
    let unknown = opened("isue");
    assert_eq!(unknown.code(), "lab.unknown_scenario");
    assert!(
        unknown.to_string().contains("did you mean `issue`?"),
        "{unknown}"
    );
}

#[test]
fn a_sweep_has_bounds() {
    let axis = |name: &str, count: usize| {
        let values: Vec<String> = (0..count).map(|at| at.to_string()).collect();
        format!(
            "[[sweep]]\nset = 'work.{name}'\nvalues = [{}]\n",
            values.join(", ")
        )
    };
    let text = |axes: String| format!("{axes}[work]\nkind = 'swap'");
    let error =
        read(&text(axis("depth", 40) + &axis("sessions", 26)), false, &[]).expect_err("1040");
    assert!(error.contains("more than 1000 points"), "{error}");
    let error = read(&text(axis("depth", 201)), false, &[]).expect_err("201");
    assert!(error.contains("1 to 200 values"), "{error}");
}
