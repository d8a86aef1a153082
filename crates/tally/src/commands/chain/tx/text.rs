//! A transaction as text for people.

use std::cmp::Ordering;

use api::chain::{TransactionKind, TransactionState, TransactionView};
use chain::{ChainId, TxId};

use super::known::Known;
use crate::commands::chain::notation::{Notation, duration};
use crate::output::{counted, grouped, pairs};

/// A sender's clock may be ahead by less than this, in seconds.
const AHEAD_S_MAX: u64 = 3_600;

/// A name and a value.
type Fact = (&'static str, String);

/// Returns everything that is known of a transaction, one fact per line.
pub fn people(known: &Known, notation: &Notation) -> String {
    pairs(&facts(known, notation))
}

fn facts(known: &Known, notation: &Notation) -> Vec<Fact> {
    let mut facts = vec![
        ("transaction", known.answer.id.clone()),
        ("state", state(known, notation)),
    ];
    facts.extend(cause(known));
    match &known.answer.transaction {
        Some(transaction) => {
            facts.extend(contents(transaction, notation));
            facts.extend(carriers(known, notation));
            facts.extend(signed(known, transaction));
        }
        None => {
            facts.extend(made(&known.answer.id, notation));
            facts.extend(carriers(known, notation));
            facts.push(("contents", missing(known).to_owned()));
        }
    }
    facts
}

fn state(known: &Known, notation: &Notation) -> String {
    let answer = &known.answer;
    match (answer.state, &answer.transaction) {
        (TransactionState::Confirmed, _) => confirmed(known, notation),
        (TransactionState::Left, _) => left(known, notation),
        (TransactionState::Unconfirmed, Some(transaction)) => waiting(transaction, known.now),
        (TransactionState::Unconfirmed, None) => "in the pool".to_owned(),
    }
}

fn waiting(transaction: &TransactionView, now: u32) -> String {
    let waits = match ChainId(transaction.chain) {
        ChainId::PARENT => "a forger",
        _ => "a bundler and a forger",
    };
    match transaction.expires.checked_sub(now) {
        Some(left) => format!(
            "in the pool: waits for {waits}, until its deadline in {}",
            duration(left.into())
        ),
        None => "in the pool: its deadline is over".to_owned(),
    }
}

fn confirmed(known: &Known, notation: &Notation) -> String {
    let answer = &known.answer;
    // A block without them is an older node's answer.
    let (height, blocks) = (
        answer.height.unwrap_or(0),
        answer.confirmations.unwrap_or(0),
    );
    let count = counted(blocks, "confirmation");
    let text = format!("in block {} with {count}", grouped(height));
    match notation.parameter("rollback_blocks_max") {
        Some(most) if u64::from(blocks) >= most => {
            format!("{text}: no node takes it back by itself")
        }
        Some(most) => format!(
            "{text}: after {} no node takes it back by itself",
            grouped(most)
        ),
        None => text,
    }
}

fn left(known: &Known, notation: &Notation) -> String {
    let at = known.answer.left_at.map(|at| notation.time(at));
    let at = at.map_or_else(String::new, |at| format!(" at {at}"));
    let reason = known.answer.reason.as_ref();
    let reason = reason.map_or_else(String::new, |code| format!(": {code}"));
    format!("left the pool{at} without a block{reason}")
}

/// Explains why a transaction left the pool.
fn cause(known: &Known) -> Vec<Fact> {
    let code = known.answer.reason.as_deref();
    // A newer node has codes that this program does not know.
    let info = chain::errors::ERRORS
        .iter()
        .find(|info| Some(info.code) == code);
    let facts = info.map(|info| [("cause", info.cause), ("action", info.action)]);
    let facts = facts.into_iter().flatten();
    facts.map(|(name, text)| (name, text.to_owned())).collect()
}

fn missing(known: &Known) -> &'static str {
    match known.answer.state {
        TransactionState::Left => "not kept: the transaction left the pool",
        _ => "pruned on this node, with the body of the block",
    }
}

fn contents(transaction: &TransactionView, notation: &Notation) -> Vec<Fact> {
    let sender = match transaction.kind {
        TransactionKind::ChildBlock => "bundler",
        TransactionKind::Payment | TransactionKind::Lease => "from",
    };
    let amount = |minor| notation.amount(minor, transaction.chain);
    let carries = transaction.child_chain.map(|chain| {
        let count = counted(transaction.child_count.unwrap_or(0), "transaction");
        format!("{count} of {}", notation.chain_name(chain))
    });
    let lasts = transaction.expires.saturating_sub(transaction.time);
    let deadline = notation.time(transaction.expires);
    let facts = [
        ("kind", Some(kind(transaction.kind).to_owned())),
        ("chain", Some(chain(transaction.chain, notation))),
        (sender, Some(transaction.sender.clone())),
        ("to", transaction.recipient.clone()),
        ("amount", transaction.amount.map(amount)),
        (
            "length",
            transaction
                .lease_blocks
                .map(|count| counted(count, "block")),
        ),
        ("carries", carries),
        ("fee", Some(amount(transaction.fee))),
        ("message", message(transaction)),
        ("made", Some(notation.time(transaction.time))),
        (
            "deadline",
            Some(format!("{deadline}, {} later", duration(lasts.into()))),
        ),
    ];
    let facts = facts.into_iter();
    facts
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

fn chain(id: u8, notation: &Notation) -> String {
    let name = notation.chain_name(id);
    match ChainId(id) {
        ChainId::PARENT => format!("{name}, the parent chain"),
        _ => format!("{name}, child chain {id}"),
    }
}

/// Returns the kind of a transaction for people.
pub fn kind(kind: TransactionKind) -> &'static str {
    match kind {
        TransactionKind::Payment => "payment",
        TransactionKind::Lease => "lease",
        TransactionKind::ChildBlock => "child block",
    }
}

fn message(transaction: &TransactionView) -> Option<String> {
    let bytes = transaction.message_hex.as_ref();
    let bytes = bytes.map(|bytes| format!("{bytes} (hexadecimal bytes)"));
    // Escaped, so that the message of a stranger cannot move the cursor or ring the bell.
    let text = transaction.message.as_ref();
    bytes.or_else(|| text.map(|text| text.escape_debug().to_string()))
}

/// Returns the facts about the block and the child block.
fn carriers(known: &Known, notation: &Notation) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(block) = &known.block {
        facts.push(("block", block.hash.clone()));
        facts.push(("forged", notation.time(block.time)));
        facts.push(("forger", block.forger.clone()));
    }
    if let Some(placed) = &known.child_block {
        let child = &placed.transaction;
        let count = counted(child.child_count.unwrap_or(0), "transaction");
        let fee = notation.amount(child.fee, child.chain);
        facts.push(("child block", format!("{}\nof {count}", child.id)));
        facts.push((
            "bundler",
            format!("{}\npays the forger {fee}", child.sender),
        ));
    }
    facts
}

fn signed(known: &Known, transaction: &TransactionView) -> Vec<Fact> {
    let anchor = match transaction.anchor_height {
        0 => "genesis".to_owned(),
        height => format!(
            "block {} (hash begins with {})",
            grouped(height),
            transaction.anchor_id
        ),
    };
    let mut facts = vec![
        ("refers to", anchor),
        ("public key", transaction.sender_key.clone()),
        ("signature", transaction.signature.clone()),
    ];
    // Two hexadecimal digits are a byte.
    let bytes = known.answer.bytes.as_ref().map(|hex| hex.len() as u64 / 2);
    facts.extend(bytes.map(|bytes| ("size", counted(bytes, "byte"))));
    facts
}

/// An id begins with the time at which its transaction was made.
fn made(id: &str, notation: &Notation) -> Option<Fact> {
    let id: TxId = id.parse().ok()?;
    Some(("made", notation.time(id.time().get())))
}

/// Returns whether an unknown transaction can still get into a block. Its id shows the time at which it was made, and so its latest
/// possible deadline. `now` is in seconds since genesis.
pub fn prospect(id: &TxId, now: u32, notation: &Notation) -> String {
    let (made, now) = (id.time().get(), u64::from(now));
    let text = format!("By its id it was made at {}", notation.time(made));
    if u64::from(made) > now + AHEAD_S_MAX {
        return format!("{text}, which is in the future");
    }
    let Some(minutes) = notation.parameter("deadline_minutes_max") else {
        return text;
    };
    let latest = u64::from(made) + minutes * 60;
    match latest.cmp(&now) {
        Ordering::Greater => format!(
            "{text} and may still arrive: its deadline is in {} at the latest",
            duration(latest - now)
        ),
        Ordering::Equal | Ordering::Less => format!(
            "{text} and has expired: its deadline passed {} ago or earlier",
            duration(now - latest)
        ),
    }
}

#[cfg(test)]
mod tests {
    use api::chain::{PlacedTransaction, TransactionAnswer};

    use super::*;

    const ID: &str = "0000005a00000000000000000000000000000000000000000000000000000000";

    fn payment() -> TransactionView {
        TransactionView {
            id: ID.to_owned(),
            chain: 3,
            kind: TransactionKind::Payment,
            sender: "TLY-A".to_owned(),
            sender_key: "ab".repeat(32),
            recipient: Some("TLY-B".to_owned()),
            amount: Some(15_000),
            fee: 100,
            time: 90,
            expires: 3_690,
            anchor_height: 0,
            anchor_id: "00".repeat(8),
            message: Some("hi\u{1b}[2J".to_owned()),
            message_hex: None,
            lease_blocks: None,
            child_chain: None,
            child_count: None,
            signature: "cd".repeat(64),
        }
    }

    fn known(state: TransactionState, transaction: Option<TransactionView>) -> Known {
        Known {
            answer: TransactionAnswer {
                id: ID.to_owned(),
                state,
                transaction,
                bytes: Some("00".repeat(150)),
                height: None,
                block: None,
                offset: None,
                confirmations: None,
                reason: None,
                left_at: None,
            },
            block: None,
            child_block: None,
            now: 100,
        }
    }

    fn has(known: &Known, name: &str, value: &str) {
        let facts = facts(known, &Notation::of_test(false));
        let mut found = facts.iter().filter(|(of, _)| *of == name);
        let found = found.next().map(|(_, value)| value.as_str());
        assert_eq!(found, Some(value), "{name} {facts:#?}");
    }

    #[test]
    fn a_confirmed_payment_of_a_child_chain() {
        let mut known = known(TransactionState::Confirmed, Some(payment()));
        known.answer.height = Some(1_042);
        known.answer.confirmations = Some(1);
        let child_block = TransactionView {
            id: "77".repeat(32),
            chain: 1,
            kind: TransactionKind::ChildBlock,
            sender: "TLY-C".to_owned(),
            fee: 30_000_000,
            child_chain: Some(3),
            child_count: Some(12),
            ..payment()
        };
        known.child_block = Some(PlacedTransaction {
            height: 1_042,
            offset: 0,
            confirmations: 1,
            transaction: child_block.clone(),
        });
        for (name, value) in [
            (
                "state",
                "in block 1,042 with 1 confirmation: after 720 no node takes it back by itself",
            ),
            ("kind", "payment"),
            ("chain", "Basalt (BAS), child chain 3"),
            ("from", "TLY-A"),
            ("to", "TLY-B"),
            ("amount", "1.5 BAS"),
            ("fee", "0.01 BAS"),
            ("message", "hi\\u{1b}[2J"),
            ("made", "2026-01-01T00:01:30.000Z"),
            ("deadline", "2026-01-01T01:01:30.000Z, 1 h later"),
            ("bundler", "TLY-C\npays the forger 0.3 TLY"),
            ("refers to", "genesis"),
            ("size", "150 bytes"),
        ] {
            has(&known, name, value);
        }
        known.answer.transaction = Some(child_block);
        has(&known, "kind", "child block");
        has(&known, "carries", "12 transactions of Basalt (BAS)");
    }

    #[test]
    fn the_state_says_what_is_waited_for() {
        let mut one = known(TransactionState::Unconfirmed, Some(payment()));
        has(
            &one,
            "state",
            "in the pool: waits for a bundler and a forger, until its deadline in 59 min 50 s",
        );
        one.now = 4_000;
        has(&one, "state", "in the pool: its deadline is over");
        one.now = 100;
        one.answer.transaction = Some(TransactionView {
            chain: 1,
            ..payment()
        });
        has(
            &one,
            "state",
            "in the pool: waits for a forger, until its deadline in 59 min 50 s",
        );

        let mut old = known(TransactionState::Confirmed, None);
        (old.answer.height, old.answer.confirmations) = (Some(7), Some(720));
        has(
            &old,
            "state",
            "in block 7 with 720 confirmations: no node takes it back by itself",
        );
        has(
            &old,
            "contents",
            "pruned on this node, with the body of the block",
        );

        let mut gone = known(TransactionState::Left, None);
        gone.answer.reason = Some("chain_pool.expired".to_owned());
        gone.answer.left_at = Some(3_700);
        has(
            &gone,
            "state",
            "left the pool at 2026-01-01T01:01:40.000Z without a block: chain_pool.expired",
        );
        has(
            &gone,
            "cause",
            "A transaction's deadline was over before it was in a block.",
        );
        has(&gone, "made", "2026-01-01T00:01:30.000Z");
    }

    #[test]
    fn an_unknown_id_shows_whether_it_can_still_arrive() {
        let id: TxId = ID.parse().expect("an id");
        let day_s = 1_440 * 60;
        for (id, now, expected) in [
            (
                id,
                100,
                "and may still arrive: its deadline is in 23 h 59 min at the latest",
            ),
            (
                id,
                90 + day_s,
                "and has expired: its deadline passed 0 s ago or earlier",
            ),
            (
                id,
                100 + day_s,
                "and has expired: its deadline passed 10 s ago or earlier",
            ),
            (TxId([0xff; 32]), 100, ", which is in the future"),
        ] {
            let text = prospect(&id, now, &Notation::of_test(false));
            assert!(text.starts_with("By its id it was made at "), "{text}");
            assert!(text.ends_with(expected), "{text}");
        }
    }
}
