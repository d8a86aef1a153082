//! The values that a scenario has without its author's doing.

use toml::Table;

use super::{good, read};

/// A short scenario, and what it is when it is written in full.
const CASES: &[(&str, &str)] = &[
    (
        "[work]\nkind = 'swap'",
        "name = 'test'\ntitle = 'test'\nabout = ''\nseed = 1\nmain_metric = 'rate_per_s'\n\
         work = [{ kind = 'swap', weight = 1 }]\n\
         network = { banks = 2, notary = 'single', database = 'embedded' }\n\
         load = { outstanding = 1, think = 'fixed', think_ms = 0 }\n\
         run = { warm_up_s = 1, seconds = 5, repeats = 5, interleave = false, restart = 'needed', fresh = false, \
         each_unit = false }\n\
         monitors = { every_ms = 500, metrics = [], machine = true }\n\
         audit = { read_max = 20000 }",
    ),
    (
        "name = 'x'\n[network]\nnotary = 'replicated'\nlink.mbit_per_s = 10\n[work]\nkind = 'a'\nlabel = 'b'\n\
         [load]\nknee = { from_per_s = 1, to_per_s = 2, latency_ms = 3 }\n[run]\ncount = 7\n\
         fault = { node = 'notary', kind = 'freeze' }\n[published]\nlabel = 'y'\nsource = 'z'\nvalue = 4",
        "name = 'x'\ntitle = 'x'\nabout = ''\nseed = 1\nmain_metric = 'knee_per_s'\n\
         work = [{ kind = 'a', label = 'b', weight = 1 }]\n\
         network = { banks = 2, notary = 'replicated', notary_backend = 'galera', notary_workers = 2, \
         database = 'embedded', link = { delay_ms = 0, mbit_per_s = 10 } }\n\
         load = { outstanding_max = 10000, knee = { from_per_s = 1, to_per_s = 2, percentile = 99, latency_ms = 3, \
         within = 0.05 } }\n\
         run = { warm_up_s = 1, seconds = 3600, count = 7, repeats = 5, interleave = false, restart = 'needed', \
         fresh = false, each_unit = false, fault = { node = 'notary', kind = 'freeze', at_s = 1, for_s = 2 } }\n\
         monitors = { every_ms = 500, metrics = [], machine = true }\n\
         audit = { read_max = 20000 }\n\
         published = [{ label = 'y', source = 'z', metric = 'knee_per_s', value = 4 }]",
    ),
    (
        "[chain]\n[load]\nrate = 5",
        "name = 'test'\ntitle = 'test'\nabout = ''\nseed = 1\nmain_metric = 'chain_tps'\n\
         chain = { nodes = 4, profile = 'loadtest', history = 0, bundlers = 'first', block_s = 5, children = 4, \
         accounts = 10, batch = 1, drain_s = 120, deadline_minutes = 60 }\n\
         load = { rate = 5, poisson = false, outstanding_max = 10000 }\n\
         run = { warm_up_s = 1, seconds = 5, repeats = 5, interleave = false, restart = 'needed', fresh = false, \
         each_unit = false }\n\
         monitors = { every_ms = 500, metrics = [], machine = true }\n\
         audit = { read_max = 20000 }",
    ),
];

#[test]
fn missing_keys_have_the_defaults_of_the_reference() {
    for (short, full) in CASES {
        let written: Table = good(short).to_toml().parse().expect("TOML");
        let full: Table = full.parse().expect("TOML");
        assert_eq!(written, full, "{short}");
    }
}

#[test]
fn a_single_table_counts_as_a_list_of_one() {
    for (single, list) in [
        ("[work]\nkind = 'a'", "[[work]]\nkind = 'a'"),
        (
            "work.kind = 'a'\n[sweep]\nlabel = 'b'\ncase = { name = 'c' }",
            "work = [{ kind = 'a' }]\n[[sweep]]\nlabel = 'b'\n[[sweep.case]]\nname = 'c'",
        ),
        (
            "work.kind = 'a'\n[load]\nsteps = { per_s = 1, seconds = 2 }",
            "work.kind = 'a'\n[[load.steps]]\nper_s = 1\nseconds = 2",
        ),
    ] {
        assert_eq!(good(single), good(list), "{single}");
    }
    let full = "[full]\nwork.kind = 'a'";
    assert_eq!(read(full, true, &[]).expect("full").work[0].kind, "a");
}
