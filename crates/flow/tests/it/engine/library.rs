//! The flow library: finality and signatures.

use flow::EffectResult::{self, Done, Failed, Response, Signature, Transaction};
use flow::{EffectRequest, EngineAction, FlowError, FlowId, FlowLimits, Kill, SessionId};
use ledger::{
    NotaryError, NotaryResponse, PartyId, SignedTransaction, StateConflict, TransactionSignature,
};
use primitives::{Encode, Hash, SignatureContext};

use crate::engine::bench::{Bench, id};
use crate::engine::flows::FinaliseArgs;
use crate::engine::parties::{key, party};
use crate::engine::transactions::{coin, make};

fn args(transaction: &SignedTransaction, participants: &str) -> Vec<u8> {
    let participants: Vec<PartyId> = participants.chars().map(|p| party(p).id()).collect();
    FinaliseArgs {
        transaction: transaction.clone(),
        participants,
    }
    .to_bytes()
}

fn signature() -> EffectResult {
    Signature(key('A').sign(SignatureContext::NotaryRequest, &Hash::ZERO))
}

/// A notary's answer to a transaction.
type Answer = fn(&SignedTransaction) -> Vec<u8>;

/// Runs a payment until it has reached its notary.
fn at_the_notary(b: &mut Bench) -> SignedTransaction {
    let transaction = make(&[coin(1)], 1, "A");
    b.start(
        1,
        "test.finalise",
        &args(&transaction, "CABC"),
        &["progress verifying", "effect 1 verify"],
    );
    b.complete(1, 1, Done, &["progress notarising", "effect 2 sign"]);
    b.complete(1, 2, signature(), &["effect 3 irrevocable N"]);
    transaction
}

#[test]
fn an_issue_needs_no_notary() {
    let transaction = make(&[], 1, "A");
    let mut b = Bench::new();
    b.start(
        1,
        "test.finalise",
        &args(&transaction, "A"),
        &["progress verifying", "effect 1 verify"],
    );
    b.complete(1, 1, Done, &["progress recording", "effect 2 record"]);
    b.complete(1, 2, Done, &["ended final"]);
}

#[test]
fn a_payment_is_notarised_and_owed_to_the_others() {
    let mut b = Bench::new();
    let transaction = at_the_notary(&mut b);
    b.round(&["journal 0"]);
    b.crash(&["effect 3 irrevocable N"]);
    let signed = TransactionSignature::sign_batch(&[transaction.id()], &key('N')).remove(0);
    let answer = NotaryResponse::Signed(signed).to_bytes();
    b.complete(1, 3, Response(answer), &["effect 4 check signatures"]);
    b.engine.complete(id(1), 4, Done, &mut b.out);
    b.engine.run_ready(&mut b.out);
    let Some(EngineAction::Effect {
        request: EffectRequest::Record {
            transaction,
            deliver_to,
        },
        ..
    }) = b.out.last()
    else {
        panic!("not recorded");
    };
    assert_eq!(transaction.signatures().len(), 2);
    let mut others = [party('B').id(), party('C').id()];
    others.sort();
    assert_eq!(deliver_to, &others);
    b.work_off();
    b.lines.clear();
    b.complete(1, 5, Done, &["forget 1", "ended final"]);
}

#[test]
fn a_refusal_fails_with_the_notarys_code() {
    let mut b = Bench::new();
    at_the_notary(&mut b);
    let conflict = StateConflict {
        input: coin(1).reference,
        consumed_by: Hash::ZERO,
        is_reference: false,
    };
    let refused = NotaryResponse::Refused(NotaryError::conflict(vec![conflict]));
    b.kill(1, Kill::Waiting, &[]);
    b.complete(
        1,
        3,
        Response(refused.to_bytes()),
        &["failed notary.conflict"],
    );
    assert!(!b.outcomes[&id(1)].as_ref().unwrap_err().hint.is_empty());
}

#[test]
fn answers_that_do_not_fit() {
    let by_b = |transaction: &SignedTransaction| {
        NotaryResponse::Signed(TransactionSignature::sign(&transaction.id(), &key('B'))).to_bytes()
    };
    let garbage = |_: &SignedTransaction| vec![0xff];
    let answers: [Answer; 2] = [by_b, garbage];
    for answer in answers {
        let mut b = Bench::new();
        let transaction = at_the_notary(&mut b);
        b.complete(
            1,
            3,
            Response(answer(&transaction)),
            &["failed flow.notary_answer_invalid"],
        );
    }
    let mut b = Bench::new();
    at_the_notary(&mut b);
    let bad = FlowError::new("tx.signature_invalid", "no", "");
    b.complete(1, 3, Failed(bad), &["failed tx.signature_invalid"]);
}

/// Creates one signer with its bench, and the flow that answers there.
fn signer(letter: char, number: u32) -> (Bench, FlowId) {
    let session = SessionId {
        initiator: id(1),
        number,
    };
    (
        Bench::of(letter, FlowLimits::default()),
        FlowId::responder(&party('A').id(), &session),
    )
}

/// Returns the node's answer about the keys of `letters`, in the keys' order: each belongs to the party at the same
/// position in `parties`.
fn owners(letters: &str, parties: &str) -> EffectResult {
    let mut owned: Vec<_> = letters
        .chars()
        .zip(parties.chars())
        .map(|(letter, owner)| (key(letter).public().clone(), party(owner).id()))
        .collect();
    owned.sort();
    let owners: Vec<Option<PartyId>> = owned.into_iter().map(|(_, id)| Some(id)).collect();
    EffectResult::Response(owners.to_bytes())
}

#[test]
fn a_signer_signs_with_each_of_its_keys_that_is_asked_for() {
    // The key of D is B's, a fresh one; that of C is not.
    let transaction = make(&[coin(1)], 1, "ABCD");
    let (mut b, responder) = signer('B', 1);
    let mut a = Bench::new();
    a.engine
        .start(crate::engine::bench::start_record(
            1,
            "test.gather",
            1,
            &args(&transaction, "B"),
        ))
        .unwrap();
    a.engine.run_ready(&mut a.out);
    a.work_off();
    for (_, message) in a.sent.clone() {
        b.engine.on_session(party('A').id(), message, &mut b.out);
        b.engine.run_ready(&mut b.out);
    }
    b.engine.complete(responder, 1, Done, &mut b.out);
    b.engine.run_ready(&mut b.out);
    b.engine
        .complete(responder, 2, owners("ABCD", "ABCB"), &mut b.out);
    b.engine.run_ready(&mut b.out);
    // In the order of the keys.
    let mut own: Vec<char> = "BD".chars().collect();
    own.sort_by_key(|letter| key(*letter).public().clone());
    for (effect, letter) in (3..).zip(own) {
        let signed = key(letter).sign(SignatureContext::Transaction, &transaction.id().hash());
        b.engine
            .complete(responder, effect, Signature(signed), &mut b.out);
        b.engine.run_ready(&mut b.out);
    }
    b.work_off();
    let signs = b.lines.iter().filter(|line| line.ends_with(" sign"));
    assert_eq!(signs.count(), 2, "{:?}", b.lines);
    let (_, message) = b.sent.remove(0);
    a.lines.clear();
    a.engine.on_session(party('B').id(), message, &mut a.out);
    a.engine.run_ready(&mut a.out);
    a.work_off();
    assert_eq!(a.lines, ["effect 2 check signatures"]);
    a.engine.complete(id(1), 2, Done, &mut a.out);
    a.engine.run_ready(&mut a.out);
    a.work_off();
    assert_eq!(a.lines.last().unwrap(), "failed flow.signature_missing");
}

#[test]
fn signatures_are_collected_in_parallel() {
    let transaction = make(&[coin(1)], 1, "ABC");
    let mut a = Bench::new();
    a.engine
        .start(crate::engine::bench::start_record(
            1,
            "test.gather",
            1,
            &args(&transaction, "BC"),
        ))
        .unwrap();
    a.engine.run_ready(&mut a.out);
    a.work_off();
    // The first message travels with the opening.
    assert_eq!(a.sent.len(), 2);
    a.lines.clear();
    for (letter, number) in [('C', 2), ('B', 1)] {
        let (mut b, responder) = signer(letter, number);
        for (to, message) in a.sent.clone() {
            if to == party(letter).id() {
                b.engine.on_session(party('A').id(), message, &mut b.out);
                b.engine.run_ready(&mut b.out);
            }
        }
        b.work_off();
        // The proposer has this long to show the back chain.
        let verified = ["effect 1 verify", "effect 65534 sleep until 900000"];
        assert!(
            b.lines.ends_with(&verified.map(str::to_owned)),
            "{:?}",
            b.lines
        );
        b.lines.clear();
        b.engine.complete(responder, 1, Done, &mut b.out);
        b.engine.run_ready(&mut b.out);
        b.engine
            .complete(responder, 2, owners("ABC", "ABC"), &mut b.out);
        b.engine.run_ready(&mut b.out);
        let signed = key(letter).sign(SignatureContext::Transaction, &transaction.id().hash());
        b.engine
            .complete(responder, 3, Signature(signed), &mut b.out);
        b.engine.run_ready(&mut b.out);
        b.work_off();
        assert!(
            b.lines
                .iter()
                .any(|line| line == "effect 4 await transaction"),
            "{:?}",
            b.lines
        );
        let (_, message) = b.sent.remove(0);
        a.engine.on_session(party(letter).id(), message, &mut a.out);
        a.engine.run_ready(&mut a.out);
        let final_one = Transaction(Some(transaction.clone()));
        b.engine.complete(responder, 4, final_one, &mut b.out);
        b.engine.run_ready(&mut b.out);
        b.work_off();
        assert_eq!(b.lines.last().unwrap(), "ended 0 bytes");
    }
    a.expect_after(&["effect 3 check signatures"]);
    a.complete(
        1,
        3,
        Done,
        &["send B end", "send C end", "ended 3 signatures"],
    );
}

#[test]
fn a_proposal_can_be_refused() {
    let transaction = make(&[coin(1)], 2, "AB");
    let mut a = Bench::new();
    a.engine
        .start(crate::engine::bench::start_record(
            1,
            "test.gather",
            1,
            &args(&transaction, "B"),
        ))
        .unwrap();
    a.engine.run_ready(&mut a.out);
    a.work_off();
    a.lines.clear();
    let (mut b, responder) = signer('B', 1);
    for (_, message) in a.sent.clone() {
        b.engine.on_session(party('A').id(), message, &mut b.out);
        b.engine.run_ready(&mut b.out);
    }
    b.engine.complete(responder, 1, Done, &mut b.out);
    b.engine.run_ready(&mut b.out);
    b.engine
        .complete(responder, 2, owners("AB", "AB"), &mut b.out);
    b.engine.run_ready(&mut b.out);
    b.work_off();
    assert_eq!(b.lines.last().unwrap(), "failed test.terms");
    let (_, message) = b.sent.remove(0);
    a.message('B', message, &["failed test.terms"]);
}

#[test]
fn a_key_that_is_not_asked_for_is_refused_on_both_sides() {
    // B is not among the signers.
    let transaction = make(&[coin(1)], 1, "AC");
    let start = |b: &mut Bench| {
        b.engine
            .start(crate::engine::bench::start_record(
                1,
                "test.gather",
                1,
                &args(&transaction, "B"),
            ))
            .unwrap();
        b.engine.run_ready(&mut b.out);
        b.work_off();
        b.lines.clear();
    };
    let mut a = Bench::new();
    start(&mut a);
    let (mut b, responder) = signer('B', 1);
    for (_, message) in a.sent.clone() {
        b.engine.on_session(party('A').id(), message, &mut b.out);
        b.engine.run_ready(&mut b.out);
    }
    b.engine.complete(responder, 1, Done, &mut b.out);
    b.engine.run_ready(&mut b.out);
    b.engine
        .complete(responder, 2, owners("AC", "AC"), &mut b.out);
    b.engine.run_ready(&mut b.out);
    b.work_off();
    assert_eq!(b.lines.last().unwrap(), "failed flow.proposal_refused");

    for (by, code) in [
        ('B', "flow.unexpected_signer"),
        ('C', "flow.signature_missing"),
    ] {
        let transaction = make(&[coin(1)], 1, "ACD");
        let mut a = Bench::new();
        let args = args(&transaction, "B");
        a.engine
            .start(crate::engine::bench::start_record(
                1,
                "test.gather",
                1,
                &args,
            ))
            .unwrap();
        a.engine.run_ready(&mut a.out);
        a.work_off();
        a.lines.clear();
        let signed = vec![TransactionSignature::sign(&transaction.id(), &key(by))].to_bytes();
        let body = flow::SessionBody::Data {
            index: 0,
            payload: signed,
            last: true,
        };
        let session = SessionId {
            initiator: id(1),
            number: 1,
        };
        let message = flow::SessionMessage {
            session,
            to_initiator: true,
            body,
        };
        a.engine.on_session(party('B').id(), message, &mut a.out);
        a.engine.run_ready(&mut a.out);
        a.work_off();
        if by == 'C' {
            a.engine.complete(id(1), 2, Done, &mut a.out);
            a.engine.run_ready(&mut a.out);
            a.work_off();
        }
        assert_eq!(a.lines.last().unwrap(), &format!("failed {code}"));
    }
}
