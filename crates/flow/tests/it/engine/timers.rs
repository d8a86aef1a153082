//! Time: sleeps by absolute deadline, races, facts that replay.

use flow::EffectResult::Done;
use flow::Pause;

use crate::engine::bench::Bench;

#[test]
fn a_sleep_keeps_its_deadline_across_a_crash() {
    let mut b = Bench::new();
    b.start(1, "test.nap", &5_000u64, &["effect 2 sleep until 6001"]);
    b.round(&["journal 0"]);
    b.now += 3_000;
    b.crash(&["effect 2 sleep until 6001"]);
    b.now = 6_100;
    b.complete(1, 2, Done, &["forget 1", "ended 3 bytes"]);
}

#[test]
fn the_slow_side_of_a_race_is_cancelled() {
    let mut b = Bench::new();
    b.start(
        1,
        "test.race",
        &100u64,
        &["effect 1 slow", "effect 2 sleep until 1101"],
    );
    b.round(&["journal 0"]);
    b.complete(1, 2, Done, &["cancel 1", "effect 3 flow.timed_out"]);
    b.round(&["journal 1"]);
    b.text(1, 1, "too late", &[]);
    b.round(&[]);
    b.crash(&["effect 3 flow.timed_out"]);
    b.text(1, 3, "then so", &["forget 2", "ended then so"]);
}

#[test]
fn the_fast_side_of_a_race_cancels_the_timer() {
    let mut b = Bench::new();
    b.start(
        1,
        "test.race",
        &100u64,
        &["effect 1 slow", "effect 2 sleep until 1101"],
    );
    b.text(1, 1, "in time", &["cancel 2", "ended in time"]);
    b.complete(1, 2, Done, &[]);
    b.round(&[]);
}

/// Starts a flow that gives its counterparty 100 s, at the time 1,001.
fn patient() -> Bench {
    let mut b = Bench::new();
    let sleeps = ["effect 1 first", "effect 65535 sleep until 101001"];
    b.start(1, "test.patient", &100_000u64, &sleeps);
    b.round(&["journal 0"]);
    b
}

#[test]
fn a_crash_gives_a_counterparty_no_more_time() {
    let mut b = patient();
    b.now += 3_000;
    b.crash(&["effect 1 first", "effect 65535 sleep until 101001"]);
    b.now += 3_000;
    b.text(
        1,
        1,
        "here",
        &[
            "cancel 65535",
            "effect 2 second",
            "effect 65534 sleep until 107003",
        ],
    );
    b.round(&["journal 1"]);
    b.now += 3_000;
    b.crash(&["effect 2 second", "effect 65534 sleep until 107003"]);
    b.now = 107_003;
    let silent = ["cancel 2", "forget 2", "failed flow.counterparty_silent"];
    b.complete(1, 65_534, Done, &silent);
}

#[test]
fn a_counterparty_has_a_minute_after_a_start_of_the_node() {
    for (up_at, until) in [(41_000, 101_001), (41_001, 101_002), (500_000, 560_001)] {
        let mut b = patient();
        b.now = up_at;
        let sleeps = format!("effect 65535 sleep until {until}");
        b.crash(&["effect 1 first", &sleeps]);
    }
    // Never more than the whole time.
    let mut b = Bench::new();
    let sleeps = ["effect 1 first", "effect 65535 sleep until 6001"];
    b.start(1, "test.patient", &5_000u64, &sleeps);
    b.round(&["journal 0"]);
    b.now = 20_000;
    b.crash(&["effect 1 first", "effect 65535 sleep until 25001"]);
}

#[test]
fn a_retry_gives_a_counterparty_no_more_time() {
    let mut b = patient();
    b.now = 99_000;
    b.pause(1, Pause::Done, &["paused"]);
    b.now = 500_000;
    b.retry(1, &["effect 1 first", "effect 65535 sleep until 101001"]);
}
