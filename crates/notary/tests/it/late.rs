//! Requests that come or wait beyond the end of their window, at workers that share a record.

use notary::{
    DECISION_MS_MAX, GIVE_UP_MS_MAX, LAST_ENTRY_MS_MAX, Notary, NotaryOptions, UniquenessAnswer,
    Verdict,
};
use primitives::{Coded, Monotonic};

use crate::requests::*;

/// The end of the window.
const END: u64 = 1_000;
/// Time that an entry may take after its question.
const ENTRY_MS: u64 = GIVE_UP_MS_MAX + LAST_ENTRY_MS_MAX;

/// The course of a request at a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    /// The record is to enter it.
    Entered,
    /// It is looked up, and the requester is asked to come again.
    Wait,
    /// It is looked up, and refused for good.
    Refused,
}

/// The course of a request that arrives at a worker and is asked about later. The record does not have its transaction.
fn course(arrives: u64, asked: u64) -> Course {
    let options = NotaryOptions {
        is_shared: true,
        ..NotaryOptions::default()
    };
    let mut worker = Notary::new(options, me(), at(0));
    let late = Tx {
        window: Some((0, END)),
        ..tx(&[1], &[], 0)
    };
    let admitted = worker.admit(late.request(1), moment(arrives));
    admitted.expect("there is room");
    worker.committed(0, Monotonic::from_ms(asked));
    let check = worker.ask().expect("a request waits");
    if !check.entries.is_empty() {
        return Course::Entered;
    }
    assert_eq!(check.look_ups, [late.id()]);
    let now = Monotonic::from_ms(asked);
    let decision = worker.decide(check.number, &UniquenessAnswer::default(), 1, now);
    match &decision.expect("the batch waits").verdicts[..] {
        [(1, Verdict::Refused(error))] if error.code() == "notary.busy" => Course::Wait,
        [(1, Verdict::Refused(error))] => {
            assert_eq!(error.code(), "notary.time_window_invalid");
            Course::Refused
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_request_is_entered_only_while_the_entry_can_still_come_in_time() {
    let last = END + DECISION_MS_MAX - ENTRY_MS;
    let refused = END + DECISION_MS_MAX + ENTRY_MS;
    // (arrives, asked about, course)
    for (arrives, asked, expected) in [
        (0, 0, Course::Entered),
        (0, END, Course::Entered),
        (END - 1, last, Course::Entered),
        (END - 1, last + 1, Course::Wait),
        (0, last + 1, Course::Wait),
        (0, refused - 1, Course::Wait),
        (0, refused, Course::Refused),
        (END, END, Course::Wait),
        (refused - 1, refused - 1, Course::Wait),
        (refused, refused, Course::Refused),
    ] {
        assert_eq!(course(arrives, asked), expected, "{arrives} {asked}");
    }
}

#[test]
fn no_worker_refuses_for_good_what_another_one_may_still_enter() {
    let times = || (0..END + 4 * DECISION_MS_MAX).step_by(500);
    let last_asked = times().filter(|asked| course(0, *asked) == Course::Entered);
    let last_entered = last_asked.max().expect("it comes in time") + ENTRY_MS;
    // It came to the other worker too late.
    let first_refused = times()
        .filter(|asked| *asked >= END)
        .find(|asked| course(*asked, *asked) == Course::Refused);
    let first_refused = first_refused.expect("not for ever");
    assert!(last_entered <= END + DECISION_MS_MAX, "{last_entered}");
    // The rest is for the difference of the workers' clocks.
    assert!(
        first_refused >= last_entered + ENTRY_MS,
        "{first_refused} {last_entered}"
    );
}
