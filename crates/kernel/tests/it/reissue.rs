//! Cash is reissued: the amount stays and its back chain is cut. After a crash at any commit, the holder has either the old or
//! the new cash, never both and never neither.

use finance::cash_builder;
use finance::flows::Reissued;
use finance::{IssuedToken, Portion, Reference};
use flow::{FlowId, SessionBody, SessionId, SessionMessage};
use kernel::message::PeerMessage;
use kernel::port::{Table, WriteBatch};
use ledger::{SignedTransaction, StateAndRef, StateRef};
use primitives::storage::Reads;
use primitives::{CompositeKey, Decode, Encode, PublicKey};

use crate::crashes::{Line, Played, crashes_of, line, play};
use crate::forged::{no_proofs, public, terms};
use crate::pay::{issue, pay};
use crate::testnet::{Crash, Last, Testnet, key, part};
use crate::trades::done;

fn reissue(quantity: u64) -> String {
    format!(
        r#"{{"currency":"GBP","quantity":{quantity},"issuer":"O=Node 1, L=London, C=GB","outputs":2}}"#
    )
}

fn script() -> Vec<Vec<Line>> {
    vec![
        vec![line("issue", 1, "cash.issue", issue(100))],
        vec![line("pay", 1, "cash.pay", pay(60, 2))],
        vec![line("back", 2, "cash.pay", pay(20, 1))],
        vec![line("anew", 2, "cash.reissue", reissue(25))],
    ]
}

/// Compares everything but the ids, because the responder's salt differs after a crash.
fn check(played: &Played, what: &str) {
    let ending = &played.ending;
    assert_eq!(ending.balances, [0, 60, 40], "{what}");
    let lengths: Vec<usize> = ending.ledgers.iter().map(Vec::len).collect();
    assert_eq!(lengths, [0, 5, 5], "{what}");
    assert_eq!(ending.notarised, (3, 3), "{what}");
    assert!(ending.results["anew"].0.is_ok(), "{what}");
}

#[test]
fn a_crash_at_any_commit_leaves_nobody_with_both_amounts_or_neither() {
    let expected = play(&script(), &[]);
    check(&expected, "undisturbed");
    for (node, commits) in expected.commits.into_iter().enumerate() {
        for crash in crashes_of(node, commits) {
            check(&play(&script(), &[crash]), &format!("{crash:?}"));
        }
    }
}

#[test]
fn what_is_issued_anew_has_no_past() {
    let played = play(&script(), &[]);
    let bytes = played.ending.results["anew"].0.clone().unwrap();
    let reissued = Reissued::from_bytes(&bytes).unwrap();
    let mut net = Testnet::new(2);
    for lines in script() {
        let token = net.start(lines[0].node, lines[0].flow, &lines[0].args, None);
        net.settle();
        assert_eq!(net.ended(token), Ok(true));
    }
    let past: Vec<usize> = net.nodes[2]
        .view
        .keys()
        .map(|state| {
            let ledger = net.nodes[2].disk.ledger();
            let made_by = ledger.iter().find(|(_, made)| made.id() == state.tx);
            made_by.expect("recorded").1.wire().inputs().len()
        })
        .collect();
    assert_eq!(past.iter().filter(|inputs| **inputs == 0).count(), 2);
    assert_eq!(past.len(), 3, "two states of 25, and the change of 15");
    assert_ne!(reissued.exit, reissued.issue);
}

#[test]
fn the_issuer_exchanges_its_own_cash_alone() {
    // A validating notary records the exit of its own cash before its flow has claimed it.
    for (issuer, validating) in [(1, false), (1, true), (0, false), (0, true)] {
        let what = format!("node {issuer}, validating: {validating}");
        let mut net = Testnet::with(1, validating, Default::default());
        let anew = reissue(100).replace("Node 1", &format!("Node {issuer}"));
        for (flow, args) in [("cash.issue", issue(100)), ("cash.reissue", anew)] {
            let token = net.start(issuer, flow, &args, None);
            net.settle();
            assert_eq!(net.ended(token), Ok(true), "{what}: {flow}");
        }
        assert_eq!(net.balance(issuer), 100, "{what}");
        assert_eq!(net.nodes[issuer].disk.count(Table::Ledger), 3, "{what}");
    }
}

#[test]
fn what_cannot_be_issued_anew_is_not_exited() {
    let mut net = Testnet::new(3);
    for (flow, args) in [("cash.issue", issue(100)), ("cash.pay", pay(60, 2))] {
        let token = net.start(1, flow, &args, None);
        net.settle();
        assert_eq!(net.ended(token), Ok(true), "{flow}");
    }
    for (args, code) in [
        (reissue(61), "vault.insufficient_funds"),
        (reissue(0), "cash.zero_amount"),
        (reissue(1), "cash.split_impossible"),
        (
            reissue(10).replace("Node 1", "Node 3"),
            "vault.insufficient_funds",
        ),
        (
            reissue(10).replace("Node 1", "Node 9"),
            "cash.unknown_party",
        ),
    ] {
        let token = net.start(2, "cash.reissue", &args, None);
        net.settle();
        assert_eq!(net.ended(token), Err(code.to_owned()), "{args}");
    }
    assert_eq!([1, 2].map(|node| net.balance(node)), [40, 60]);
}

const REFUSED: &str = "cash.not_a_reissue";
/// The holder of 60, which node 1 has issued.
pub const HOLDER: usize = 2;
/// A member that has seen the exit.
const OBSERVER: usize = 3;

/// Builds a test network whose holder is about to present an exit of 60. Also returns the holder's messages.
pub fn with_an_exit() -> (Testnet, Vec<Vec<u8>>) {
    let mut net = Testnet::new(3);
    done(&mut net, 1, "cash.issue", &issue(100));
    done(&mut net, 1, "cash.pay", &pay(60, 2));
    let coins: Vec<StateAndRef> = net.nodes[HOLDER]
        .view
        .values()
        .map(|produced| produced.state.clone())
        .collect();
    let notary = net.nodes[0].party.clone();
    let exit = cash_builder::exit(notary, &coins, 60, &public(HOLDER)).expect("an exit");
    let exit = SignedTransaction::new(net.built(exit.builder), []).signed_by(&key(HOLDER));
    let said = vec![terms(60), exit.to_bytes(), no_proofs()];
    (net, said)
}

/// Checks that the cash was reissued once: the amount is unchanged after the issue, the payment, one exit and one issue.
#[track_caller]
fn check_once(net: &mut Testnet, what: &str) {
    net.quiet();
    assert_eq!(
        [1, 2, 3].map(|node| net.balance(node)),
        [40, 60, 0],
        "{what}"
    );
    assert_eq!(net.nodes[1].disk.count(Table::Ledger), 4, "{what}");
    assert_eq!(net.nodes[1].disk.count(Table::Claims), 1, "{what}");
}

#[test]
fn an_exit_presented_again_gets_the_same_issue() {
    let (mut net, said) = with_an_exit();
    net.forger(HOLDER, said.clone(), 1);
    for again in 0..3 {
        let ended = net.forge(HOLDER, "cash.reissue", 1);
        assert_eq!(ended, Ok(true), "{again}: {:#?}", net.logs);
        check_once(&mut net, &format!("presented {again} times before"));
        net.down(1);
        net.up(1);
        net.settle();
    }
}

#[test]
fn an_exit_presented_by_sessions_side_by_side_is_exchanged_once() {
    let (mut net, said) = with_an_exit();
    net.forger(HOLDER, said, 1);
    let started: Vec<u64> = (0..5)
        .map(|_| net.forge_unsettled(HOLDER, "cash.reissue", 1))
        .collect();
    net.settle();
    for started in started {
        assert_eq!(net.ended(started), Ok(true), "{:#?}", net.logs);
    }
    check_once(&mut net, "five at once");
}

#[test]
fn an_exit_is_exchanged_for_its_owner_alone() {
    let (mut net, said) = with_an_exit();
    net.forger(OBSERVER, said.clone(), 1);
    // Before its owner has presented it, and after.
    let ended = net.forge(OBSERVER, "cash.reissue", 1);
    assert!(
        ended.is_err(),
        "an observer has no back chain to show, or is refused"
    );
    assert_eq!(net.nodes[1].disk.count(Table::Claims), 0);
    net.repent(OBSERVER);
    net.forger(HOLDER, said.clone(), 1);
    assert_eq!(net.forge(HOLDER, "cash.reissue", 1), Ok(true));
    net.forger(OBSERVER, said, 1);
    let ended = net.forge(OBSERVER, "cash.reissue", 1);
    assert_eq!(ended, Err(REFUSED.to_owned()));
    check_once(&mut net, "observed");
}

#[test]
fn an_exit_presented_again_after_a_crash_at_any_commit_is_exchanged_once() {
    let mut crashed = 0;
    for after in 1..=8 {
        for last in [Last::Lost, Last::Durable, Last::Performed] {
            let what = format!("{after} {last:?}");
            let (mut net, said) = with_an_exit();
            net.forger(HOLDER, said, 1);
            net.settle();
            net.crashes.push(Crash {
                node: 1,
                at: net.nodes[1].commits + after,
                last,
            });
            let first = net.forge_unsettled(HOLDER, "cash.reissue", 1);
            net.settle();
            if net.nodes[1].kernel.is_none() {
                crashed += 1;
                net.up(1);
            }
            // The first session continues where it was.
            let second = net.forge_unsettled(HOLDER, "cash.reissue", 1);
            net.quiet();
            if net.nodes[1].kernel.is_none() {
                crashed += 1;
                net.up(1);
                net.quiet();
            }
            assert_eq!(net.ended(second), Ok(true), "{what}: {:#?}", net.logs);
            assert_eq!(net.ended(first), Ok(true), "{what}: {:#?}", net.logs);
            check_once(&mut net, &what);
        }
    }
    assert!(crashed >= 9, "{crashed} crashes");
}

/// Builds a test network in which an exit was exchanged, and whose issuer runs on a disk from before the exchange.
fn with_an_older_issuer() -> (Testnet, Vec<Vec<u8>>) {
    let (mut net, said) = with_an_exit();
    let copy = net.nodes[1].disk.clone();
    // A new life after the copy.
    net.repent(1);
    net.forger(HOLDER, said.clone(), 1);
    assert_eq!(net.forge(HOLDER, "cash.reissue", 1), Ok(true));
    check_once(&mut net, "exchanged");
    net.down(1);
    net.settle();
    net.nodes[1].disk = copy;
    (net, said)
}

#[test]
fn an_older_copy_of_the_issuer_exchanges_nothing() {
    let (mut net, _) = with_an_older_issuer();
    net.up(1);
    net.settle();
    assert_eq!(net.figures(1).rolled_back, 1, "{:#?}", net.logs);
    let ended = net.forge(HOLDER, "cash.reissue", 1);
    assert_eq!(ended, Err("node.rolled_back".to_owned()));
    assert_eq!(net.nodes[1].disk.count(Table::Claims), 0);
    assert_eq!(net.balance(HOLDER), 60);
}

#[test]
fn an_older_issuer_that_meets_only_the_holder_exchanges_nothing() {
    let (mut net, said) = with_an_older_issuer();
    for node in [0, OBSERVER] {
        net.down(node);
    }
    // The holder does not show the issuer's mark.
    let mark = kernel::rows::meta_key(kernel::rows::META_MARK, net.nodes[1].id.as_bytes());
    net.down(HOLDER);
    net.nodes[HOLDER].disk.remove(Table::Meta, &mark);
    net.forger(HOLDER, said, 1);
    net.up(1);
    let presented = net.forge_unsettled(HOLDER, "cash.reissue", 1);
    net.quiet_for(120_000);
    assert_eq!(net.nodes[1].disk.count(Table::Claims), 0);
    // The session begins once another node is met, and is refused.
    net.up(0);
    net.quiet_for(120_000);
    assert_eq!(
        net.ended(presented),
        Err("node.rolled_back".to_owned()),
        "{:#?}",
        net.logs
    );
    assert_eq!(net.nodes[1].disk.count(Table::Claims), 0);
}

#[test]
fn an_exit_exchanged_before_there_were_claims_is_refused() {
    let (mut net, said) = with_an_exit();
    net.forger(HOLDER, said, 1);
    assert_eq!(net.forge(HOLDER, "cash.reissue", 1), Ok(true));
    net.down(1);
    let claims = net.nodes[1].disk.scan(Table::Claims, &[], None, 10);
    let mut batch = WriteBatch::default();
    for (key, _) in claims.expect("the disk reads") {
        batch.delete(Table::Claims, key);
    }
    net.nodes[1].disk.write(batch);
    net.up(1);
    net.settle();
    let ended = net.forge(HOLDER, "cash.reissue", 1);
    assert_eq!(ended, Err(REFUSED.to_owned()));
    assert_eq!(net.nodes[1].disk.count(Table::Ledger), 4);
}

#[test]
fn cash_of_fresh_keys_is_reissued_for_who_proves_them() {
    let mut net = Testnet::new(2);
    done(&mut net, 1, "cash.issue", &issue(100));
    for quantity in [20, 30] {
        let hidden = pay(quantity, 2).replacen('{', r#"{"anonymous":true,"#, 1);
        done(&mut net, 1, "cash.pay", &hidden);
    }
    let anew = reissue(45).replacen('{', r#"{"anonymous":true,"#, 1);
    done(&mut net, 2, "cash.reissue", &anew);
    assert_eq!([1, 2].map(|node| net.balance(node)), [50, 50]);
}

/// Returns the initiator's messages of a session with the responder of `cash.reissue`.
pub fn session(number: u32, said: Vec<Vec<u8>>) -> Vec<PeerMessage> {
    let session = SessionId {
        initiator: FlowId([9; 16]),
        number,
    };
    let mut said = (0u32..).zip(said);
    let init = SessionBody::Init {
        flow: "cash.reissue".to_owned(),
        versions: vec![2],
        first: said.next().map(|(_, first)| first),
    };
    let rest = said.map(|(index, payload)| SessionBody::Data {
        index,
        payload,
        last: false,
    });
    let bodies = [init].into_iter().chain(rest);
    let messages = bodies.map(|body| SessionMessage {
        session,
        to_initiator: false,
        body,
    });
    let numbered = (1u64..).zip(messages);
    let numbered = numbered.map(|(seq, message)| PeerMessage::Session {
        seq,
        body: message.to_bytes(),
    });
    numbered.collect()
}

/// Returns the error code of the message that ends a session, if there is one.
pub fn code_of_end(heard: Vec<PeerMessage>) -> Option<String> {
    heard.into_iter().find_map(|message| {
        let PeerMessage::Session { body, .. } = message else {
            return None;
        };
        match SessionMessage::from_bytes(&body).expect("a message").body {
            SessionBody::End { error, .. } => error.map(|error| error.code),
            _ => None,
        }
    })
}

#[test]
fn cash_of_a_composite_key_with_the_issuers_in_it_is_not_the_callers() {
    for shared_with in [1, 3] {
        let mut net = Testnet::new(3);
        let members = vec![(1, public(shared_with)), (1, public(HOLDER))];
        let shared = CompositeKey::new(1, members).expect("a composite key");
        let owner = PublicKey::Composite(shared.into());
        let token = IssuedToken {
            issuer: net.nodes[1].party.clone(),
            reference: Reference::default(),
            currency: "GBP".parse().expect("a currency"),
        };
        let portion = Portion {
            owner,
            quantity: 60,
            states: 1,
        };
        let notary = net.nodes[0].party.clone();
        let made = cash_builder::issue(notary.clone(), &token, &[portion]).expect("an issue");
        let made = SignedTransaction::new(net.built(made), []).signed_by(&key(1));
        let coin = StateAndRef {
            state: made.wire().outputs()[0].clone(),
            reference: StateRef::new(made.id(), 0),
        };
        let exit = cash_builder::exit(notary, &[coin], 60, &public(HOLDER)).expect("an exit");
        let exit = SignedTransaction::new(net.built(exit.builder), []).signed_by(&key(HOLDER));
        net.script(HOLDER);
        for message in session(1, vec![terms(60), exit.to_bytes(), no_proofs()]) {
            net.say(HOLDER, 1, &message);
        }
        net.settle();
        net.answer_fetch(HOLDER, 1, part(&[&made]));
        let heard = net.heard(HOLDER);
        assert_eq!(
            code_of_end(heard),
            Some(REFUSED.to_owned()),
            "{:#?}",
            net.logs
        );
        assert_eq!(net.nodes[1].disk.count(Table::Claims), 0);
    }
}
