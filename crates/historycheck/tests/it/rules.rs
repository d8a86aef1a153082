//! For every rule a history that breaks exactly it, and histories that break none.

use historycheck::ViolationKind::{self, *};

use crate::script::{check, state, transaction};

#[test]
fn each_rule_is_reported_alone() {
    let rows: &[(&str, &[ViolationKind])] = &[
        // Clean: a double spend that is refused, repeated requests, a state that is read and consumed later.
        (
            "ask 1 A x y / z | ask 2 B y | signed 1 | conflict 2 y:A | ask 3 A | signed 3 | ask 4 C z | signed 4 | ask 5 B | conflict 5 y:A | \
             end_phase | ask 6 A | ask 7 C | signed 7 | signed 6 | end",
            &[],
        ),
        ("end_phase | end", &[]),
        // 1: two consumers of a state.
        (
            "ask 1 A x | ask 2 B x | signed 1 | signed 2 | end_phase | ask 3 A | ask 4 B | signed 3 | signed 4 | end",
            &[DoubleSpend],
        ),
        (
            "ask 1 A x | signed 1 | end_phase | ask 2 B x | signed 2 | ask 3 A | signed 3 | end",
            &[DoubleSpend],
        ),
        // 2: the signature is lost, or the question is missing.
        (
            "ask 1 A x | signed 1 | end_phase | ask 2 A | unanswered 2 | end",
            &[SignatureLost],
        ),
        (
            "ask 1 A x | signed 1 | end_phase | ask 2 A | unanswered 2 | ask 3 A | signed 3 | end",
            &[],
        ),
        (
            "ask 1 A x | signed 1 | ask 2 A | signed 2 | end_phase | end",
            &[NotAskedAgain],
        ),
        (
            "ask 1 A x | unanswered 1 | end_phase | end",
            &[NotAskedAgain],
        ),
        (
            "ask 1 A x | unanswered 1 | ask 2 A | signed 2 | end_phase | ask 3 A | signed 3 | end",
            &[],
        ),
        (
            "ask 1 A x | unanswered 1 | end_phase | ask 2 A | unanswered 2 | end",
            &[],
        ),
        // A request of the time before the end phase is no proof.
        (
            "ask 1 A x | signed 1 | ask 2 A | end_phase | signed 2 | end",
            &[NotAskedAgain],
        ),
        // 3: refusals without a real conflict.
        (
            "ask 1 A x | conflict 1 | end_phase | end",
            &[ConflictWithoutState],
        ),
        (
            "ask 1 A x | ask 2 B y / z | signed 1 | conflict 2 x:A | end_phase | ask 3 A | signed 3 | end",
            &[ForeignState],
        ),
        (
            "ask 1 A z | ask 2 B y / z | signed 1 | conflict 2 z:A | end_phase | ask 3 A | signed 3 | end",
            &[ForeignState],
        ),
        (
            "ask 1 A y | ask 2 B y / z | signed 1 | conflict 2 /y:A | end_phase | ask 3 A | signed 3 | end",
            &[ForeignState],
        ),
        (
            "ask 1 A z | ask 2 B y / z | signed 1 | conflict 2 /z:A | end_phase | ask 3 A | signed 3 | end",
            &[],
        ),
        (
            "ask 1 A x | conflict 1 x:A | end_phase | end",
            &[SelfConflict],
        ),
        (
            "ask 1 A x | conflict 1 x:B | end_phase | end",
            &[UnknownConsumer],
        ),
        // The consumer comes later.
        (
            "ask 1 A x | conflict 1 x:B | ask 2 B x | signed 2 | end_phase | ask 3 B | signed 3 | end",
            &[UnknownConsumer],
        ),
        (
            "ask 1 A x | ask 2 B y | conflict 1 x:B | signed 2 | end_phase | ask 3 B | signed 3 | end",
            &[WrongConsumer],
        ),
        // A transaction that only reads a state does not consume it.
        (
            "ask 1 A x | ask 2 B y / x | conflict 1 x:B | signed 2 | end_phase | ask 3 B | signed 3 | end",
            &[WrongConsumer],
        ),
        // False refusals: the consumer was never accepted, so the state is free.
        (
            "ask 1 A x | ask 2 B x | conflict 1 x:B | conflict 2 x:A | end_phase | end",
            &[ConsumersDiffer, ConsumerNotSigned, ConsumerNotSigned],
        ),
        (
            "ask 1 A x | ask 2 B x | conflict 1 x:B | unanswered 2 | end_phase | ask 3 B | unanswered 3 | end",
            &[ConsumerNotSigned],
        ),
        (
            "ask 1 A x | ask 2 B x | conflict 1 x:B | unanswered 2 | end_phase | ask 3 B | signed 3 | end",
            &[],
        ),
        // 4: signed and refused.
        (
            "ask 1 A x | ask 2 B x y | signed 1 | conflict 2 x:A | ask 3 B | signed 3 | end_phase | ask 4 A | signed 4 | ask 5 B | signed 5 | end",
            &[DoubleSpend, SignedAndRefused],
        ),
        // Two requests at the same time may be decided differently because of a state that is only read.
        (
            "ask 1 A z | signed 1 | ask 2 B y / z | ask 3 B | conflict 2 /z:A | signed 3 | end_phase | ask 4 A | signed 4 | ask 5 B | signed 5 | end",
            &[],
        ),
        (
            "ask 1 A z | signed 1 | ask 2 B y / z | ask 3 B | signed 3 | conflict 2 /z:A | end_phase | ask 4 A | signed 4 | ask 5 B | signed 5 | end",
            &[],
        ),
        // A request after the signature is signed.
        (
            "ask 1 B y / z | signed 1 | ask 2 A z | signed 2 | ask 3 B | conflict 3 /z:A | end_phase | ask 4 A | signed 4 | ask 5 B | signed 5 | end",
            &[SignedAndRefused],
        ),
        (
            "ask 1 A x | signed 1 | ask 2 A | refused 2 notary.time_window_invalid | end_phase | ask 3 A | signed 3 | end",
            &[SignedAndRefused],
        ),
        // Other refusals.
        (
            "ask 1 A x | refused 1 notary.time_window_invalid | end_phase | end",
            &[],
        ),
        (
            "ask 1 A x | refused 1 notary.wrong_notary | end_phase | end",
            &[UnexpectedRefusal],
        ),
        // 5: silence.
        (
            "ask 1 A x | +4999 | signed 1 | end_phase | ask 2 A | signed 2 | end",
            &[],
        ),
        (
            "ask 1 A x | +5000 | signed 1 | end_phase | ask 2 A | signed 2 | end",
            &[Silence],
        ),
        (
            "ask 1 A x | signed 1 | +9000 | ask 2 A | signed 2 | end_phase | ask 3 A | signed 3 | end",
            &[],
        ),
        // Clients that give up do not hide it.
        (
            "ask 1 A x | +3000 | unanswered 1 | ask 2 A | +3000 | unanswered 2 | end_phase | ask 3 A | signed 3 | end",
            &[Silence],
        ),
        (
            "ask 1 A x | +2000 | majority_lost | +9000 | unanswered 1 | ask 2 A | majority_back | +4000 | signed 2 | end_phase | ask 3 A | signed 3 | end",
            &[],
        ),
        (
            "ask 1 A x | majority_lost | +9000 | majority_back | +5001 | signed 1 | end_phase | ask 3 A | signed 3 | end",
            &[Silence],
        ),
        (
            "ask 1 A x | +6000 | majority_lost | majority_back | signed 1 | end_phase | ask 3 A | signed 3 | end",
            &[Silence],
        ),
        // A crash of one server is no excuse.
        (
            "ask 1 A x | fault crash | +6000 | healed crash | signed 1 | end_phase | ask 3 A | signed 3 | end",
            &[Silence],
        ),
        // 6: signatures without a majority.
        (
            "majority_lost | +1000 | ask 1 A x | signed 1 | majority_back | end_phase | ask 3 A | signed 3 | end",
            &[SignedWithoutMajority],
        ),
        // In flight.
        (
            "majority_lost | +900 | ask 1 A x | signed 1 | majority_back | end_phase | ask 3 A | signed 3 | end",
            &[],
        ),
        (
            "ask 1 A x | majority_lost | +2000 | signed 1 | majority_back | end_phase | ask 3 A | signed 3 | end",
            &[],
        ),
        // The first server may answer before the last one is back.
        (
            "majority_lost | +2000 | ask 1 A x | majority_returning | signed 1 | +9000 | ask 2 B y | signed 2 | majority_back \
             | end_phase | ask 3 A | ask 4 B | signed 3 | signed 4 | end",
            &[],
        ),
        // The majority was back before the answer.
        (
            "majority_lost | +2000 | ask 1 A x | majority_back | signed 1 | end_phase | ask 3 A | signed 3 | end",
            &[],
        ),
        // A repeated answer.
        (
            "ask 1 A x | signed 1 | majority_lost | +2000 | ask 2 A | signed 2 | majority_back | end_phase | ask 3 A | signed 3 | end",
            &[],
        ),
    ];
    for (script, wanted) in rows {
        let verdict = check(script).expect(script);
        let found = verdict.violations.iter().map(|one| one.kind);
        assert_eq!(
            found.collect::<Vec<_>>(),
            *wanted,
            "{script}\n{:#?}",
            verdict.violations
        );
    }
}

#[test]
fn a_message_names_transactions_state_requests_and_times() {
    let script = "ask 1 A x | fault pause | ask 2 B x | signed 1 | signed 2 | end_phase | ask 3 A | ask 4 B | signed 3 | signed 4 | end";
    let message = &check(script).expect("a history").violations[0].message;
    let expected = format!(
        "state {} is consumed by transaction {}, signed by request 1 of client 1 at 0.004000 s, and by transaction {}, signed by request 2 \
         of client 2 at 0.005000 s (faults: pause since 0.002000 s)",
        state("x"),
        transaction("A"),
        transaction("B")
    );
    assert_eq!(*message, expected);
}

#[test]
fn counts() {
    let script = "ask 1 A x | ask 2 B x | +40 | signed 1 | conflict 2 x:A | ask 3 C z | unanswered 3 | ask 4 D y | refused 4 notary.time_window_invalid | \
                  end_phase | ask 5 A | signed 5 | ask 6 C | signed 6 | end";
    let verdict = check(script).expect("a history");
    assert_eq!(
        serde_json::to_string(&verdict).expect("JSON"),
        r#"{"asked":6,"signed":3,"conflicts":1,"refused":1,"unanswered":1,"transactions":4,"signed_transactions":2,"longest_silence_ms":42,"violations":[]}"#
    );
}
