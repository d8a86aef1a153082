//! Time: sleeps by absolute deadline, races, facts that replay.

use flow::EffectResult::Done;

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
