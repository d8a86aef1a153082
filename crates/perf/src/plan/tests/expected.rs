//! Estimates of how long a scenario takes.

use crate::plan::{NoChecks, Options, Plan, SHIPPED, open, parse};

use super::good;
use crate::results::samples_needed;

/// Returns a scenario with any knobs.
fn unchecked(text: &str) -> Plan {
    let plan = parse("x", "x", text.as_bytes(), &Options::default(), &NoChecks);
    plan.unwrap_or_else(|error| panic!("{error}\nin\n{text}"))
}

/// Returns a scenario of one stretch.
fn plan(work: &str, load: &str, run: &str) -> Plan {
    good(&format!(
        "[work]\n{work}\n[load]\n{load}\n[run]\nwarm_up_s = 0\nrepeats = 1\n{run}\n"
    ))
}

#[test]
fn a_stretch_ends_by_its_count_or_its_time() {
    let closed = "outstanding = 100";
    let file = |knobs: &str| format!("kind = 'transfer-attachment'\n{knobs}");
    let swap = |knobs: &str| format!("kind = 'swap'\nparties = 1\n{knobs}");
    for (work, load, run, seconds) in [
        ("kind = 'pay'", closed, "seconds = 7", 7.0),
        ("kind = 'pay'", closed, "count = 1000", 5.0),
        ("kind = 'pay'", closed, "count = 1000\nseconds = 2", 2.0),
        ("kind = 'pay'", "rate = 50", "count = 1000", 20.0),
        (
            "kind = 'pay'",
            "rate = 50",
            "count = 1000\nseconds = 8",
            8.0,
        ),
        (
            "kind = 'pay'",
            "ramp = { from = 0, to = 100 }",
            "count = 100",
            2.0,
        ),
        (&file(""), closed, "count = 280", 1.07),
        (&swap(""), "outstanding = 1", "count = 1000", 7.0),
        (
            &swap("sessions = 'sequential'"),
            "outstanding = 1",
            "count = 1000",
            34.3,
        ),
        // Four rates up, and about four more to halve a doubling to 5 %.
        (
            "kind = 'pay'",
            "knee = { from_per_s = 100, to_per_s = 800, latency_ms = 9 }",
            "seconds = 1",
            8.83,
        ),
    ] {
        let found = plan(work, load, run).stretch_seconds_expected();
        assert!(
            (found - seconds).abs() < 0.01,
            "{work} {load} {run}: {found}"
        );
    }
}

#[test]
fn a_stretch_takes_the_round_trips_of_its_units_over_links() {
    let common = |ms: f64| format!("[network]\nbanks = 5\n[network.link]\ndelay_ms = {ms}\n");
    let of_payee =
        "[network]\nbanks = 2\n[network.link]\n[network.nodes.bank-2.link]\ndelay_ms = 80\n"
            .to_owned();
    let database =
        "[network]\nbanks = 2\ndatabase = 'postgres'\ndatabase_latency_ms = 10\n".to_owned();
    let swap = |how: &str| format!("kind = 'swap'\nparties = 4\ndepth = 2\n{how}");
    let in_turn = swap("sessions = 'sequential'\nresolution = 'single'");
    for (network, work, outstanding, count, seconds) in [
        (common(50.0), "kind = 'issue'", 1, 30, 30.0 / 200.0),
        // 5 ms and two round trips.
        (common(50.0), "kind = 'pay'", 1, 30, 30.0 * 0.205),
        (common(0.0), "kind = 'pay'", 1, 30, 30.0 * 0.005),
        // Only the payee is far away.
        (of_payee.clone(), "kind = 'pay'", 1, 30, 30.0 * 0.165),
        // A hundred at a time hide the delay.
        (of_payee, "kind = 'pay'", 100, 1_000, 1_000.0 / 200.0),
        // Asked, signed, notarised, delivered, and a back chain fetched.
        (common(50.0), &*swap(""), 1, 30, 30.0 * (0.028 + 0.5)),
        // Two minutes, as the scenario says: 37 round trips of 100 ms.
        (common(50.0), &*in_turn, 1, 30, 30.0 * (0.357 + 3.7)),
        (database, "kind = 'pay'", 1, 30, 30.0 * 0.035),
    ] {
        let plan = unchecked(&format!(
            "{network}[work]\n{work}\n[load]\noutstanding = {outstanding}\n[run]\nwarm_up_s = 0\nrepeats = 1\nseconds = 999\n\
             count = {count}\n"
        ));
        let found = plan.stretch_seconds_expected();
        assert!(
            (found / seconds - 1.0).abs() < 0.01,
            "{network} {work}: {found} {seconds}"
        );
    }
}

#[test]
fn bringing_up_warm_ups_copies_moves_and_settling_count() {
    let warm_up = |seconds: u32| {
        format!("[work]\nkind = 'pay'\n[run]\nwarm_up_s = {seconds}\nseconds = 10\nrepeats = 4\n")
    };
    let base = "[work]\nkind = 'pay'\n[run]\nwarm_up_s = 0\nseconds = 10\n";
    let swap = |count: u64| {
        format!(
            "[network]\nbanks = 2\n[work]\nkind = 'swap'\ndepth = 1\n[load]\noutstanding = 1\n[run]\nwarm_up_s = 0\nrepeats = 5\ncount = \
             {count}\nseconds = 999\n"
        )
    };
    let linked = |ms: u32| {
        format!("[network]\nbanks = 2\n[network.link]\ndelay_ms = {ms}\n{base}repeats = 1\n")
    };
    let chain = |extra: &str| {
        format!("[chain]\nblock_s = 5\n{extra}\n[run]\nseconds = 10\nwarm_up_s = 0\nrepeats = 2\n")
    };
    let notaries = |interleave: bool| {
        format!(
            "{base}repeats = 2\ninterleave = {interleave}\n[[sweep]]\nset = 'network.notary'\nvalues = ['single', 'validating']\n"
        )
    };
    for (name, one, two, expected) in [
        // Each repeat warms up.
        ("warm-ups", warm_up(0), warm_up(3), 4.0 * 3.0),
        // Three round trips of 200 ms to connect, and two to deliver.
        ("links", linked(0), linked(100), 3.0 * 0.2 + 2.0 * 0.2),
        // 14 ms and 4 ms to prepare each; four more lives begin with a copy and are audited.
        (
            "copies",
            swap(256),
            swap(300),
            44.0 * (5.0 * 0.014 + 0.004) + 4.0 * (2.1 + 2.0),
        ),
        // Each of two repeats waits one block longer, up to its limit.
        (
            "settling",
            chain("drain_s = 5"),
            chain("drain_s = 300"),
            2.0 * 15.0,
        ),
        ("history", chain(""), chain("history = 100000"), 2.0 * 5.0),
        // Another notary is another network, once or in every round.
        ("moves", notaries(false), notaries(true), 3.8 + 0.3),
    ] {
        let [one, two] = [one, two].map(|text| unchecked(&text).seconds_expected());
        let found = two - one;
        assert!(
            (found - expected).abs() < 0.35,
            "{name}: {found}, not {expected}"
        );
    }
}

#[test]
fn shipped_scenarios_are_estimated_by_count_and_stay_small() {
    for shipped in SHIPPED {
        for full in [false, true] {
            let options = Options {
                full,
                set: Vec::new(),
            };
            let plan = open(shipped.name, &options, &NoChecks).expect("shipped");
            let points = plan.points().expect("points");
            for point in &points {
                let run = &point.plan.run;
                let found = point.plan.stretch_seconds_expected();
                // A count that its time limit cuts short would not give the percentiles that it is for.
                let is_whole = run.count.is_none() || found < run.seconds;
                assert!(is_whole, "{} {:?}: {found}", shipped.name, point.at);
            }
            let minutes = plan.seconds_expected() / 60.0;
            assert!(full || minutes < 25.0, "{}: {minutes} min", shipped.name);
        }
    }
}

#[test]
fn audits_of_files_count_for_each_fresh_stretch_and_once_otherwise() {
    let seconds = |work: &str, run: &str| {
        let text = format!(
            "[work]\nkind = 'transfer-attachment'\nsize = 10_000_000\n{work}\n[load]\noutstanding = 100\n\
             [run]\nwarm_up_s = 0\nrepeats = 3\ncount = 100\n{run}\n"
        );
        unchecked(&text).seconds_expected()
    };
    let without_files = seconds("temperature = 'present'", "");
    // Two more lives begin with a copy in a fresh network, 4.1 s each.
    // 100 files of 10 MB move in 3.57 s, and are prepared in 3.57 s. Reading them back takes 5 s at each bank.
    for (work, run, expected) in [
        ("", "fresh = false", 30.0 + 14.29),
        ("", "fresh = true", 30.0 + 14.29 + 8.2),
        ("temperature = 'sent'", "fresh = true", 45.0 + 17.86 + 8.2),
        ("size_max = 90_000_000", "fresh = false", 30.0 + 71.43),
        ("size_max = 90_000_000", "fresh = true", 90.0 + 71.43 + 8.2),
    ] {
        let found = seconds(work, run) - without_files;
        assert!((found - expected).abs() < 0.1, "{work} {run}: {found}");
    }
}

/// Returns the units that every stretch needs: for a 95th percentile, or for a median if that is the main figure.
fn units_min(plan: &Plan) -> f64 {
    let share = match plan.main_metric.as_str() {
        "p50_ms" => 0.5,
        _ => 0.95,
    };
    samples_needed(share) as f64
}

#[test]
fn stretches_of_shipped_scenarios_have_enough_units() {
    for shipped in SHIPPED {
        let plan = open(shipped.name, &Options::default(), &NoChecks).expect("shipped");
        for point in plan.points().expect("points") {
            let run = &point.plan.run;
            // A chart of each unit shows more than a percentile.
            if run.each_unit {
                continue;
            }
            let units = match (run.count, &point.plan.load) {
                (Some(count), _) => count as f64,
                (None, crate::plan::Load::Open(open)) => match open.shape {
                    crate::plan::Shape::Constant(per_s) => per_s * run.seconds,
                    _ => continue,
                },
                // The rate of a closed loop is known only when it has run.
                (None, _) => continue,
            };
            assert!(units >= units_min(&plan), "{} {:?}", shipped.name, point.at);
        }
    }
}
