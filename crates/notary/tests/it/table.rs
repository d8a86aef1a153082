//! Rules of the notary, one request a line.

use ledger::{NotaryError, NotaryResponse, StateConflict, consuming_hash};
use notary::{Notary, NotaryKind, NotaryOptions, Subject, UniquenessAnswer, Verdict};
use primitives::{Coded, Decode, Encode, ErrorInfo, SignatureChecker};

use crate::requests::*;

fn notary() -> Notary {
    Notary::new(NotaryOptions::default(), me(), at(0))
}

/// Decides everything that waits as one batch and makes it durable.
fn settle(notary: &mut Notary, durable: &mut Durable, commit: u64) -> Vec<(u64, String)> {
    let Some(decision) = decide_batch(notary, commit, durable) else {
        return Vec::new();
    };
    durable.write(&decision);
    notary.committed(commit, moment(0).monotonic);
    let shown = |verdict: &Verdict| match verdict {
        Verdict::Accepted(_) => "signed".to_owned(),
        Verdict::Refused(error) => error.code().to_owned(),
    };
    decision
        .verdicts
        .iter()
        .map(|(number, verdict)| (*number, shown(verdict)))
        .collect()
}

/// Batches of transactions with the expected verdicts.
fn check(batches: &[&[(Tx, &str)]]) {
    let (mut notary, mut durable) = (notary(), Durable::default());
    for (commit, batch) in (1u64..).zip(batches) {
        for (number, (tx, _)) in (0u64..).zip(*batch) {
            notary
                .admit(tx.request(number), moment(1_000))
                .expect("room");
        }
        let verdicts = settle(&mut notary, &mut durable, commit);
        let expected: Vec<(u64, String)> = (0u64..)
            .zip(*batch)
            .map(|(number, (_, verdict))| (number, (*verdict).to_owned()))
            .collect();
        assert_eq!(verdicts, expected, "batch {commit}");
    }
}

const CONFLICT: &str = "notary.conflict";

#[test]
fn the_first_to_consume_wins_within_a_batch_and_across() {
    check(&[
        &[
            (tx(&[1], &[], 1), "signed"),
            (tx(&[1], &[], 2), CONFLICT),
            (tx(&[2], &[], 3), "signed"),
        ],
        &[
            (tx(&[2], &[], 4), CONFLICT),
            (tx(&[2, 3], &[], 5), CONFLICT),
            (tx(&[3], &[], 6), "signed"),
        ],
    ]);
}

#[test]
fn what_is_read_must_not_have_been_consumed_before() {
    check(&[
        &[
            (tx(&[1], &[2], 1), "signed"),
            (tx(&[2], &[], 2), "signed"),
            (tx(&[3], &[2], 3), CONFLICT),
        ],
        &[(tx(&[4], &[2], 4), CONFLICT), (tx(&[4], &[3], 5), "signed")],
    ]);
}

#[test]
fn the_same_again_is_signed_again() {
    check(&[
        &[(tx(&[1], &[], 1), "signed"), (tx(&[1], &[], 1), "signed")],
        &[(tx(&[1], &[], 1), "signed"), (tx(&[], &[9], 2), "signed")],
        &[(tx(&[9], &[], 3), "signed")],
        // It consumes nothing and was accepted before, so it is accepted again although its
        // reference is consumed now.
        &[(tx(&[], &[9], 2), "signed")],
    ]);
}

#[test]
fn windows_are_judged_at_arrival_on_a_clock_that_never_steps_back() {
    // (admitted at, window, verdict)
    let table = [
        (1_000, (1_000, 1_001), "signed"),
        (1_000, (0, 1_000), "notary.time_window_invalid"),
        (2_000, (1_500, 2_001), "signed"),
        // The clock went back: it is still 2,000.
        (500, (400, 600), "notary.time_window_invalid"),
        (500, (2_000, 2_001), "signed"),
        (2_000, (2_001, 3_000), "notary.time_window_invalid"),
    ];
    let (mut notary, mut durable) = (notary(), Durable::default());
    for (line, (now, window, expected)) in (1u8..).zip(table) {
        let tx = Tx {
            window: Some(window),
            ..tx(&[], &[], line)
        };
        notary.admit(tx.request(7), moment(now)).expect("room");
        let verdicts = settle(&mut notary, &mut durable, u64::from(line));
        assert_eq!(verdicts, [(7, expected.to_owned())], "line {line}");
    }
}

#[test]
fn no_window_is_judged_while_the_clock_is_in_doubt() {
    // (in doubt, shown, window, verdict)
    let table = [
        (false, 10_000, Some((9_000, 11_000)), "signed"),
        // It jumped forward: neither accepted nor refused for that.
        (true, 90_000, Some((9_000, 11_000)), "notary.busy"),
        (true, 90_000, Some((80_000, 95_000)), "notary.busy"),
        (true, 90_000, None, "signed"),
        // And back: the time goes on where it was.
        (true, 10_100, Some((9_000, 11_000)), "notary.busy"),
        (false, 10_100, Some((9_000, 11_000)), "signed"),
        (
            false,
            10_100,
            Some((80_000, 95_000)),
            "notary.time_window_invalid",
        ),
        // Peers agree with a clock that is behind the last judgement.
        (
            false,
            9_000,
            Some((9_000, 10_050)),
            "notary.time_window_invalid",
        ),
        (false, 5_000, Some((4_000, 6_000)), "notary.busy"),
        (false, 5_000, None, "signed"),
    ];
    let (mut notary, mut durable) = (notary(), Durable::default());
    for (line, (in_doubt, now, window, expected)) in (1u8..).zip(table) {
        let tx = Tx {
            window,
            ..tx(&[], &[], line)
        };
        set_doubt(&mut notary, in_doubt, 10_000);
        notary.admit(tx.request(7), moment(now)).expect("room");
        let verdicts = settle(&mut notary, &mut durable, u64::from(line));
        assert_eq!(verdicts, [(7, expected.to_owned())], "line {line}");
    }
}

/// Puts the clock in doubt, or confirms it when it shows `wall`.
fn set_doubt(notary: &mut Notary, in_doubt: bool, wall: u64) {
    if in_doubt {
        notary.doubt_clock();
    } else {
        notary.trust_clock(at(wall));
    }
}

#[test]
fn a_confirmed_clock_ends_judgements_that_were_made_ahead_of_it() {
    // How far the clock is behind the last judgement, whether it was in doubt, and what happens to a window that is open now.
    let table = [
        (0, true, "signed"),
        (2_000, true, "notary.time_window_invalid"),
        (2_001, true, "signed"),
        (1_000_000_000, true, "signed"),
        (2_001, false, "notary.busy"),
    ];
    for (line, (behind, in_doubt, expected)) in (1u8..).zip(table) {
        let (mut notary, mut durable) = (notary(), Durable::default());
        let now = 5_000_000_000;
        let judged = now + behind;
        let early = tx(&[1], &[], 1);
        let (early, open) = (
            Tx {
                window: Some((0, u64::MAX)),
                ..early
            },
            Tx {
                window: Some((now, now + 1_000)),
                ..tx(&[2], &[], line + 1)
            },
        );
        notary
            .admit(early.request(1), moment(judged))
            .expect("room");
        settle(&mut notary, &mut durable, 1);
        assert_eq!(notary.take_judged(), Some(at(judged)));
        // This request arrives while the clock is ahead, and waits until it has been corrected.
        let waits = Tx {
            window: Some((judged, u64::MAX)),
            ..tx(&[3], &[], line + 1)
        };
        notary
            .admit(waits.request(2), moment(judged))
            .expect("room");
        if in_doubt {
            notary.doubt_clock();
        }
        let continued = in_doubt && behind > 2_000;
        let expected_time = continued.then(|| at(now));
        assert_eq!(notary.trust_clock(at(now)), expected_time, "line {line}");
        notary.admit(open.request(3), moment(now)).expect("room");
        let verdicts = settle(&mut notary, &mut durable, 2);
        let waited = if continued { "notary.busy" } else { "signed" };
        assert_eq!(
            verdicts,
            [(2, waited.to_owned()), (3, expected.to_owned())],
            "line {line}"
        );
    }
}

#[test]
fn what_was_signed_is_signed_again_by_a_doubted_clock() {
    let (mut notary, mut durable) = (notary(), Durable::default());
    let tx = Tx {
        window: Some((0, 1_000)),
        ..tx(&[1], &[], 1)
    };
    for (commit, in_doubt) in [(1, false), (2, true)] {
        set_doubt(&mut notary, in_doubt, 999);
        notary.admit(tx.request(commit), moment(999)).expect("room");
        let verdicts = settle(&mut notary, &mut durable, commit);
        assert_eq!(verdicts, [(commit, "signed".to_owned())]);
    }
}

#[test]
fn a_wait_in_the_queue_does_not_close_a_window() {
    let (mut notary, mut durable) = (notary(), Durable::default());
    let tx = Tx {
        window: Some((0, 1_000)),
        ..tx(&[1], &[], 1)
    };
    notary.admit(tx.request(1), moment(999)).expect("room");
    notary.committed(0, moment(5_000).monotonic);
    assert_eq!(
        settle(&mut notary, &mut durable, 1),
        [(1, "signed".to_owned())]
    );
    notary.admit(tx.request(2), moment(6_000)).expect("room");
    let again = settle(&mut notary, &mut durable, 2);
    assert_eq!(
        again,
        [(2, "signed".to_owned())],
        "signed once, signed for ever"
    );
}

#[test]
fn a_decision_does_not_come_long_after_the_window() {
    // (arrived at, decided at, verdict). The window ends at 1,000; a decision may come 30 s later.
    let table = [
        (0, 31_000, "signed"),
        (0, 31_001, "notary.time_window_invalid"),
        (999, 31_000, "signed"),
        (999, 31_001, "notary.time_window_invalid"),
        (999, 1_000_000, "notary.time_window_invalid"),
    ];
    for (line, (arrived, decided, expected)) in (1u8..).zip(table) {
        let (mut notary, mut durable) = (notary(), Durable::default());
        let tx = Tx {
            window: Some((0, 1_000)),
            ..tx(&[1], &[], line)
        };
        notary.admit(tx.request(1), moment(arrived)).expect("room");
        notary.committed(0, moment(decided).monotonic);
        let verdicts = settle(&mut notary, &mut durable, 1);
        assert_eq!(verdicts, [(1, expected.to_owned())], "line {line}");
    }
}

#[test]
fn batches_on_their_way_count() {
    let (mut notary, durable) = (notary(), Durable::default());
    notary
        .admit(tx(&[1], &[], 1).request(1), moment(0))
        .expect("room");
    decide_batch(&mut notary, 1, &durable).expect("a batch");
    for (number, next) in [(2, tx(&[1], &[], 1)), (3, tx(&[1], &[], 2))] {
        notary.admit(next.request(number), moment(0)).expect("room");
    }
    let decision = decide_batch(&mut notary, 2, &durable).expect("a batch");
    assert_eq!(decision.states, [], "nothing new");
    assert_eq!(
        decision.accepted,
        [tx(&[1], &[], 1).id()],
        "to be signed again"
    );
    assert!(matches!(decision.verdicts[1], (3, Verdict::Refused(_))));
}

#[test]
fn a_decision_counts_until_an_answer_must_show_it() {
    // An answer may come from the moment of its question. A decision that became durable after that moment is not in it.
    let (mut notary, mut durable) = (notary(), Durable::default());
    let [first, second, third] = [1, 2, 3].map(|salt| tx(&[1], &[], salt));
    notary.admit(first.request(1), moment(0)).expect("room");
    let decision = decide_batch(&mut notary, 1, &durable).expect("a batch");
    assert!(notary.remembers(&first.id()), "it is not durable");
    notary.admit(second.request(2), moment(0)).expect("room");
    let check = notary.ask().expect("a question");
    let before = durable.answer(&check);
    durable.write(&decision);
    notary.committed(1, moment(0).monotonic);
    assert!(notary.remembers(&first.id()), "the answer may lack it");
    let decision = notary
        .decide(check.number, &before, 2, moment(0).monotonic)
        .expect("it waits");
    assert!(matches!(decision.verdicts[0], (2, Verdict::Refused(_))));
    assert!(
        !notary.remembers(&first.id()),
        "every further answer shows it"
    );
    notary.admit(third.request(3), moment(0)).expect("room");
    let decision = decide_batch(&mut notary, 3, &durable).expect("a batch");
    assert!(matches!(decision.verdicts[0], (3, Verdict::Refused(_))));
}

#[test]
fn one_question_is_out_at_a_time_and_names_all_that_the_batch_touches() {
    let (mut notary, durable) = (notary(), Durable::default());
    assert_eq!(notary.ask(), None, "nothing waits");
    let (first, second) = (tx(&[1, 2], &[3], 1), tx(&[2], &[4], 2));
    for (number, tx) in [(1, &first), (2, &second)] {
        notary.admit(tx.request(number), moment(0)).expect("room");
    }
    let check = notary.ask().expect("a question");
    assert_eq!(check.transactions, [first.id(), second.id()]);
    assert_eq!(check.states, [1, 2, 3, 2, 4].map(state));
    notary
        .admit(tx(&[5], &[], 3).request(3), moment(0))
        .expect("room");
    assert!(!notary.can_ask(), "one at a time");
    assert_eq!(notary.figures().queued_requests, 3);
    let decision = notary.decide(
        check.number,
        &durable.answer(&check),
        1,
        moment(0).monotonic,
    );
    assert_eq!(decision.map(|decision| decision.verdicts.len()), Some(2));
    assert!(notary.can_ask());
}

#[test]
fn requests_that_are_taken_back_are_not_decided_by_a_late_answer() {
    let (mut notary, durable) = (notary(), Durable::default());
    for number in 1..=2 {
        let tx = tx(&[number], &[], 1);
        notary.admit(tx.request(number), moment(0)).expect("room");
        if number == 1 {
            notary.ask().expect("a question");
        }
    }
    assert_eq!(notary.take_undecided(), [1, 2]);
    assert_eq!(
        notary.decide(0, &UniquenessAnswer::default(), 1, moment(0).monotonic),
        None
    );
    notary
        .admit(tx(&[1], &[], 2).request(3), moment(0))
        .expect("room");
    let check = notary.ask().expect("a question");
    assert_eq!(
        notary.decide(0, &UniquenessAnswer::default(), 1, moment(0).monotonic),
        None
    );
    let decision = notary.decide(
        check.number,
        &durable.answer(&check),
        1,
        moment(0).monotonic,
    );
    let verdicts = decision.expect("it waits").verdicts;
    assert_eq!(verdicts, [(3, Verdict::Accepted(0))]);
}

#[test]
fn what_is_entered_from_elsewhere_counts_at_once() {
    // Its rows are written in the commit of the next decision, so no answer of the store shows them.
    let (mut notary, durable) = (notary(), Durable::default());
    let (entered, other) = (tx(&[1], &[], 1), tx(&[1, 2], &[], 2));
    for (number, tx) in [(1, &entered), (2, &other)] {
        notary.admit(tx.request(number), moment(0)).expect("room");
    }
    let check = notary.ask().expect("a question");
    notary.enter(entered.id(), &[state(1)], 1);
    assert_eq!(notary.remembered_consumer(&state(1)), Some(entered.id()));
    let decision = notary.decide(
        check.number,
        &durable.answer(&check),
        1,
        moment(0).monotonic,
    );
    let decision = decision.expect("it waits");
    assert_eq!(decision.verdicts[0], (1, Verdict::Accepted(0)));
    assert!(matches!(decision.verdicts[1], (2, Verdict::Refused(_))));
    assert_eq!(decision.states, []);
    notary.committed(1, moment(0).monotonic);
    assert_eq!(notary.remembered_consumer(&state(1)), None);
}

#[test]
fn a_conflict_names_the_states_and_who_consumed_them() {
    let (mut notary, mut durable) = (notary(), Durable::default());
    let first = tx(&[1, 2], &[], 1);
    notary.admit(first.request(1), moment(0)).expect("room");
    settle(&mut notary, &mut durable, 1);
    notary
        .admit(tx(&[3, 1], &[2], 2).request(2), moment(0))
        .expect("room");
    let decision = decide_batch(&mut notary, 2, &durable).expect("a batch");
    let conflict = |number, is_reference| StateConflict {
        input: state(number),
        consumed_by: consuming_hash(&first.id()),
        is_reference,
    };
    let conflicts = vec![conflict(1, false), conflict(2, true)];
    let expected = Verdict::Refused(NotaryError::Conflict { conflicts });
    assert_eq!(decision.verdicts, [(2, expected)]);
}

#[test]
fn one_signature_covers_the_batch_and_each_can_check_it() {
    let (mut notary, durable) = (notary(), Durable::default());
    let sent = [
        tx(&[1], &[], 1),
        tx(&[2], &[], 2),
        tx(&[1], &[], 3),
        tx(&[3], &[], 4),
    ];
    for (number, tx) in (0u64..).zip(&sent) {
        notary.admit(tx.request(number), moment(5)).expect("room");
    }
    let decision = decide_batch(&mut notary, 1, &durable).expect("a batch");
    let (id, record) = &decision.transactions[0];
    assert_eq!((*id, record.at), (sent[0].id(), at(5)));
    assert_eq!(
        notary::RequestRecord::from_bytes(&record.to_bytes()).as_ref(),
        Ok(record)
    );
    let mut checker = SignatureChecker::new();
    let mut signatures = Vec::new();
    for (number, response) in decision.into_responses(&key()) {
        let id = sent[usize::try_from(number).expect("small")].id();
        match response {
            NotaryResponse::Signed(signature) => {
                assert!(checker.check(&signature.signed_message(&id).expect("a proof")));
                signatures.push(signature.signature);
            }
            NotaryResponse::Refused(error) => assert_eq!((number, error.code()), (2, CONFLICT)),
        }
    }
    assert_eq!(signatures.len(), 3);
    assert!(
        signatures.windows(2).all(|pair| pair[0] == pair[1]),
        "one signature"
    );
}

#[test]
fn requests_that_are_turned_away_at_the_door() {
    let options = NotaryOptions {
        request_states_max: 3,
        ..NotaryOptions::default()
    };
    let mut notary = Notary::new(options, me(), at(0));
    let error = notary.admit(tx(&[1, 2], &[3, 4], 1).request(1), moment(0));
    assert_eq!(error, Err(NotaryError::TooManyStates { count: 4, max: 3 }));
    let other = party("Another Notary", key().public());
    let error = notary.admit(request(1, tx(&[1], &[], 1).subject(&other)), moment(0));
    assert_eq!(error, Err(NotaryError::WrongNotary(other)));
    let options = NotaryOptions {
        kind: NotaryKind::Validating,
        ..options
    };
    let mut notary = Notary::new(options, me(), at(0));
    match notary.admit(tx(&[1], &[], 1).request(1), moment(0)) {
        Err(NotaryError::InvalidRequest { code, .. }) => {
            assert_eq!(code, "notary.transaction_wanted");
            assert!(!ErrorInfo::action_of(notary::ERRORS, &code).is_empty());
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_kind_of_notary_takes_its_form_alone() {
    let kinds = [
        (NotaryKind::NonValidating, true, "notary.tear_off_wanted"),
        (NotaryKind::Validating, false, "notary.transaction_wanted"),
    ];
    for (kind, wrong, wanted) in kinds {
        let options = NotaryOptions {
            kind,
            ..NotaryOptions::default()
        };
        let notary = Notary::new(options, me(), at(0));
        assert_eq!(notary.check_form(!wrong), Ok(()));
        match notary.check_form(wrong) {
            Err(NotaryError::InvalidRequest { code, .. }) => assert_eq!(code, wanted),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_whole_transaction_is_looked_over_before_it_is_verified() {
    let options = NotaryOptions {
        kind: NotaryKind::Validating,
        request_states_max: 2,
        ..NotaryOptions::default()
    };
    let mut notary = Notary::new(options, me(), at(50));
    let arrived = notary.arrive(moment(10));
    assert_eq!(arrived.at, at(50), "the clock never steps back");
    let mut timed = tx(&[1], &[], 1);
    timed.window = Some((40, 60));
    let wire = timed.wire(&me());
    assert_eq!(notary.look_over(&wire, arrived), Ok(()));
    let late = notary.arrive(moment(60));
    let late = notary.look_over(&wire, late);
    assert!(matches!(late, Err(NotaryError::TimeWindowInvalid { .. })));
    notary.doubt_clock();
    let unjudged = notary.arrive(moment(55));
    let busy = notary.look_over(&wire, unjudged);
    assert!(matches!(busy, Err(NotaryError::Busy { .. })), "{busy:?}");
    let untimed = tx(&[1], &[], 1).wire(&me());
    assert_eq!(notary.look_over(&untimed, unjudged), Ok(()));
    let wide = tx(&[1, 2], &[3], 1).wire(&me());
    let too_many = Err(NotaryError::TooManyStates { count: 3, max: 2 });
    assert_eq!(notary.look_over(&wide, arrived), too_many);
    let other = party("Another Notary", key().public());
    let theirs = tx(&[1], &[], 1).wire(&other);
    let wrong = Err(NotaryError::WrongNotary(other));
    assert_eq!(notary.look_over(&theirs, arrived), wrong);
}

#[test]
fn what_was_accepted_before_is_accepted_by_its_id_and_nothing_else_is() {
    let options = NotaryOptions {
        kind: NotaryKind::Validating,
        ..NotaryOptions::default()
    };
    let mut notary = Notary::new(options, me(), at(0));
    let mut durable = Durable::default();
    let (known, unknown) = (tx(&[1], &[], 1).wire(&me()), tx(&[2], &[], 2).wire(&me()));
    durable.transactions.insert(known.id());
    for (number, wire) in [(1, known), (2, unknown)] {
        let committed = request(number, Subject::Committed(wire));
        notary.admit(committed, moment(1)).expect("room");
    }
    let decision = decide_batch(&mut notary, 1, &durable).expect("a batch");
    assert_eq!(decision.verdicts[0], (1, Verdict::Accepted(0)));
    assert!(matches!(decision.verdicts[1].1, Verdict::Refused(_)));
    assert!(decision.states.is_empty() && decision.transactions.is_empty());
}

#[test]
fn a_long_queue_says_how_long() {
    let options = NotaryOptions {
        // One requester has half.
        queue_states_max: 20,
        queue_requests_max: 12,
        ..NotaryOptions::default()
    };
    let mut notary = Notary::new(options, me(), at(0));
    let mut durable = Durable::default();
    let busy = |eta_ms| Err(NotaryError::Busy { eta_ms });
    notary
        .admit(tx(&[1, 2, 3, 4], &[5], 1).request(1), moment(10_000))
        .expect("room");
    notary
        .admit(tx(&[6, 7, 8, 9], &[5], 2).request(2), moment(10_000))
        .expect("room");
    assert_eq!(
        notary.admit(tx(&[10], &[], 3).request(3), moment(10_000)),
        busy(1_000),
        "no rate yet"
    );
    settle(&mut notary, &mut durable, 1);
    for salt in 4..10 {
        notary
            .admit(tx(&[], &[], salt).request(4), moment(10_500))
            .expect("room");
    }
    // Ten states took half a second: six wait.
    assert_eq!(
        notary.admit(tx(&[], &[], 10).request(5), moment(10_500)),
        busy(300)
    );
    assert_eq!(notary.figures().queued_requests, 6);
}

#[test]
fn batches_are_bounded_and_so_is_what_is_in_flight() {
    let options = NotaryOptions {
        batch_requests_max: 2,
        batch_states_max: 5,
        in_flight_states_max: 6,
        ..NotaryOptions::default()
    };
    let mut notary = Notary::new(options, me(), at(0));
    let durable = Durable::default();
    let sent = [
        tx(&[1], &[], 1),
        tx(&[2], &[], 2),
        tx(&[3], &[], 3),
        tx(&[4, 5, 6, 7], &[8, 9], 4),
        tx(&[10], &[], 5),
    ];
    for (number, tx) in (0u64..).zip(&sent) {
        notary.admit(tx.request(number), moment(0)).expect("room");
    }
    let mut batch = |commit| {
        let decision = decide_batch(&mut notary, commit, &durable);
        decision.map(|decision| decision.verdicts.len())
    };
    assert_eq!(batch(1), Some(2), "two requests");
    assert_eq!(
        batch(2),
        Some(1),
        "the next one has too many states to go along"
    );
    assert_eq!(batch(3), Some(1), "and goes alone");
    assert_eq!(batch(4), None, "enough is on its way");
    notary.committed(3, moment(1).monotonic);
    let decision = decide_batch(&mut notary, 4, &durable);
    assert_eq!(decision.map(|d| d.verdicts.len()), Some(1));
}
