//! The decisions of the obligation contract, one transaction per row, and a property: which parties can lose by an accepted
//! transaction.

use std::collections::BTreeMap;

use finance::obligation::{
    ObligationCommand, ObligationContract, ObligationState, SettlementPayment, builder, netting,
    obligation_name,
};
use finance::paper::{PaperCommand, PaperContract, PaperState, paper_name};
use finance::{CashCommand, CashContract, CashState, ERRORS, cash_name};
use ledger::{Command, Contract, LedgerTransaction, TimeWindow, TransactionState};
use primitives::{Decode, Encode, ErrorInfo, Hash, Timestamp};
use proptest::prelude::*;

use crate::fixtures::*;

const DUE_MS: u64 = 1_000;

fn id(n: u8) -> Hash {
    Hash::from_bytes([n; 32])
}

/// `"1:A>B:100"` is a debt of A to B; a suffix marks it: `d` for in default, `l` for due later, `x` for other cash.
fn obligation(text: &str) -> ObligationState {
    let parts: Vec<&str> = text.split(':').collect();
    let mut ends = parts[1].chars();
    let (obligor, obligee) = (ends.next().unwrap(), ends.nth(1).unwrap());
    let marks = parts.get(3).copied().unwrap_or_default();
    let currency = if marks.contains('x') {
        "C USD"
    } else {
        "C EUR"
    };
    ObligationState {
        id: id(parts[0].parse().unwrap()),
        obligor: party(obligor),
        tokens: vec![token(currency), token("C GBP")]
            .into_iter()
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect(),
        due: Timestamp::from_ms(DUE_MS + u64::from(marks.contains('l'))),
        quantity: parts[2].parse().unwrap(),
        defaulted: marks.contains('d'),
        obligee: public(obligee as u8),
    }
}

fn of_contract(data: Vec<u8>) -> TransactionState {
    TransactionState {
        contract: obligation_name().clone(),
        constraint: builder::obligation_code().1.clone(),
        ..state(data)
    }
}

/// Parses obligations. `"C GBP:5:A"` is cash, `x` is data that is not an obligation, `paper B` is a paper of A's that B
/// holds.
fn states(text: &str) -> Vec<TransactionState> {
    let parse = |word: &str| {
        let parts: Vec<&str> = word.split(':').collect();
        if word == "x" {
            of_contract(vec![0xff])
        } else if let Some(owner) = word.strip_prefix("paper ") {
            paper(owner.chars().next().unwrap())
        } else if parts[0].contains(' ') {
            let owner = parts[2].chars().next().unwrap();
            cash(&token(parts[0]), parts[1].parse().unwrap(), owner)
        } else {
            of_contract(obligation(word).to_bytes())
        }
    };
    list(text, parse)
}

fn paper(owner: char) -> TransactionState {
    let data = PaperState {
        issuer: party('A'),
        reference: "".parse().unwrap(),
        token: token("C GBP"),
        face: 100,
        maturity: Timestamp::from_ms(DUE_MS),
        owner: public(owner as u8),
    };
    TransactionState {
        contract: paper_name().clone(),
        ..state(data.to_bytes())
    }
}

/// `"net 1 2 by AB"`; `"settle 1=C GBP=5 by A"`; `"redeem by B"` is for papers.
fn order(text: &str) -> Command {
    let (text, signers) = text.split_once(" by ").unwrap();
    let (verb, rest) = text.split_once(' ').unwrap_or((text, ""));
    let ids = || {
        rest.split(' ')
            .filter(|n| !n.is_empty())
            .map(|n| id(n.parse().unwrap()))
            .collect()
    };
    let value = match verb {
        "issue" => ObligationCommand::Issue(ids()),
        "move" => ObligationCommand::Move(ids()),
        "net" => ObligationCommand::Net(ids()),
        "default" => ObligationCommand::Default(ids()),
        "restore" => ObligationCommand::Restore(ids()),
        "exit" => ObligationCommand::Exit(ids()),
        "settle" => ObligationCommand::Settle(rest.split("; ").map(payment).collect()),
        _ => ObligationCommand::Issue(Vec::new()),
    };
    let (contract, value) = match verb {
        "redeem" => (paper_name(), PaperCommand::Redeem.to_bytes()),
        "x" => (obligation_name(), vec![0xff]),
        _ => (obligation_name(), value.to_bytes()),
    };
    Command {
        contract: contract.clone(),
        value,
        signers: signers.chars().map(|letter| public(letter as u8)).collect(),
    }
}

fn payment(text: &str) -> SettlementPayment {
    let parts: Vec<&str> = text.split('=').collect();
    SettlementPayment {
        obligation: id(parts[0].parse().unwrap()),
        token: token(parts[1]).id(),
        quantity: parts[2].parse().unwrap(),
    }
}

fn built(inputs: &str, outputs: &str, orders: &str, from: Option<u64>) -> LedgerTransaction {
    let mut tx = transaction(states(inputs), states(outputs), list(orders, order));
    tx.time_window = from.map(|ms| TimeWindow::from(at(ms)));
    tx
}

#[test]
fn accepted_and_rejected_transactions() {
    // Inputs, outputs, commands, the begin of the time window, and the code of the rejection or an empty text.
    #[rustfmt::skip]
    let table = [
        // Issue.
        ("", "1:A>B:100", "issue 1 by A", None, ""),
        ("", "1:A>B:100, 2:C>B:5:l", "issue 1 2 by AC", None, ""),
        ("", "1:A>B:100", "issue 1 by B", None, "obligor_must_sign"),
        ("", "1:A>B:100:d", "issue 1 by A", None, "in_default"),
        ("", "1:A>A:100", "issue 1 by A", None, "own_debt"),
        ("", "1:A>B:100, 1:A>B:5", "issue 1 by A", None, "repeated"),
        ("", "1:A>B:100", "", None, "unexplained"),
        ("", "1:A>B:100, 2:A>B:5", "issue 1 by A", None, "unexplained"),
        ("", "1:A>B:100", "issue 1 2 by A", None, "command_without_obligation"),
        ("", "1:A>B:100", "issue 1 1 by A", None, "command_without_obligation"),
        ("", "", "issue by A", None, "command_without_obligation"),
        ("1:A>B:1", "1:A>B:100", "issue 1 by A", None, "unexplained"),
        ("", "x", "issue 1 by A", None, "state_malformed"),
        ("", "1:A>B:100", "x by A", None, "command_malformed"),
        // Move.
        ("1:A>B:100", "1:A>C:100", "move 1 by B", None, ""),
        ("1:A>B:100", "1:A>C:100", "move 1 by AC", None, "obligee_must_sign"),
        ("1:A>B:100", "1:A>C:99", "move 1 by B", None, "unexplained"),
        ("1:A>B:100", "1:D>C:100", "move 1 by B", None, "unexplained"),
        ("1:A>B:100", "1:A>C:100:l", "move 1 by B", None, "unexplained"),
        ("1:A>B:100", "1:A>C:100:x", "move 1 by B", None, "unexplained"),
        ("1:A>B:100:d", "1:A>C:100:d", "move 1 by B", None, "in_default"),
        ("1:A>B:100", "1:A>A:100", "move 1 by B", None, "own_debt"),
        ("1:A>B:100", "2:A>C:100", "move 1 by B", None, "unexplained"),
        ("1:A>B:100", "", "move 1 by B", None, "unexplained"),
        // Settle.
        ("1:A>B:100, C GBP:100:A", "C GBP:100:B", "settle 1=C GBP=100 by A", None, ""),
        ("1:A>B:100:d, C GBP:100:A", "C GBP:100:B", "settle 1=C GBP=100 by A", None, ""),
        ("1:A>B:100, C GBP:40:A", "1:A>B:60, C GBP:40:B", "settle 1=C GBP=40 by A", None, ""),
        ("1:A>B:100, C GBP:60:A, C EUR:40:A", "C GBP:60:B, C EUR:40:B", "settle 1=C GBP=60; 1=C EUR=40 by A", None, ""),
        ("1:A>B:100, C GBP:100:A", "C GBP:100:B", "settle 1=C GBP=100 by B", None, "obligor_must_sign"),
        ("1:A>B:100, C GBP:99:A", "C GBP:99:B", "settle 1=C GBP=100 by A", None, "not_paid"),
        ("1:A>B:100, C GBP:100:A", "C GBP:100:C", "settle 1=C GBP=100 by A", None, "not_paid"),
        ("1:A>B:100, C GBP:100:B", "C GBP:100:B", "settle 1=C GBP=100 by AB", None, "not_paid"),
        ("1:A>B:100, A GBP:100:A", "A GBP:100:B", "settle 1=A GBP=100 by A", None, "token_not_accepted"),
        ("1:A>B:100, C EUR:100:A", "C EUR:100:B", "settle 1=C GBP=100 by A", None, "not_paid"),
        ("1:A>B:100, C GBP:50:A", "C GBP:50:B", "settle 1=C GBP=50 by A", None, "unexplained"),
        ("1:A>B:100, C GBP:50:A", "1:A>B:50:d, C GBP:50:B", "settle 1=C GBP=50 by A", None, "unexplained"),
        ("1:A>B:100", "1:A>B:100", "settle 1=C GBP=0 by A", None, "unexplained"),
        ("1:A>B:100", "1:A>B:101", "settle 1=C GBP=1 by A", None, "unexplained"),
        ("", "1:A>B:100", "settle 1=C GBP=1 by A", None, "unexplained"),
        // One payment does not settle two debts, of one obligor or of two.
        ("1:A>B:100, 2:A>B:100, C GBP:100:A", "C GBP:100:B", "settle 1=C GBP=100; 2=C GBP=100 by A", None, "not_paid"),
        ("1:A>B:100, 2:C>B:100, C GBP:100:A", "C GBP:100:B", "settle 1=C GBP=100 by A, settle 2=C GBP=100 by C", None, "not_paid"),
        ("1:A>B:100, 2:C>B:100, C GBP:200:A", "C GBP:200:B", "settle 1=C GBP=100 by A, settle 2=C GBP=100 by C", None, ""),
        // One payment does not settle a debt and a paper, even if it is large enough for both.
        ("1:A>B:100, paper B, C GBP:100:A", "C GBP:100:B", "settle 1=C GBP=100 by A, redeem by B", Some(DUE_MS), "not_alone"),
        ("1:A>B:100, paper B, C GBP:200:A", "C GBP:200:B", "settle 1=C GBP=100 by A, redeem by B", Some(DUE_MS), "not_alone"),
        ("1:A>B:18446744073709551615, 2:A>B:1", "", "settle 1=C GBP=18446744073709551615; 2=C GBP=1 by A", None, "overflow"),
        // Net.
        ("1:A>B:100, 2:B>A:30", "1:A>B:70", "net 1 2 by AB", None, ""),
        ("1:A>B:30, 2:B>A:30", "", "net 1 2 by AB", None, ""),
        ("1:A>B:10, 2:B>C:20, 3:C>A:30", "2:B>C:10, 3:C>A:20", "net 1 2 3 by ABC", None, ""),
        ("1:A>B:100, 2:B>A:30", "1:A>B:70", "net 1 2 by A", None, "obligee_must_sign"),
        ("1:A>B:100, 2:B>A:30", "1:A>B:70", "net 1 2 by B", None, "obligor_must_sign"),
        ("1:A>B:100, 2:B>A:30", "1:A>B:60", "net 1 2 by AB", None, "net_changed"),
        ("1:A>B:10, 2:B>C:10", "", "net 1 2 by ABC", None, "net_changed"),
        ("1:A>B:10, 2:B>C:10", "3:A>C:10", "net 1 2 3 by ABC", None, "unexplained"),
        ("1:A>B:100, 2:B>A:30:l", "1:A>B:70", "net 1 2 by AB", None, "terms_differ"),
        ("1:A>B:100, 2:B>A:30:x", "1:A>B:70", "net 1 2 by AB", None, "terms_differ"),
        ("1:A>B:100:d, 2:B>A:30", "1:A>B:70:d", "net 1 2 by AB", None, "in_default"),
        ("", "", "net by A", None, "command_without_obligation"),
        // Default and back.
        ("1:A>B:9", "1:A>B:9:d", "default 1 by B", Some(DUE_MS), ""),
        ("1:A>B:9", "1:A>B:9:d", "default 1 by B", Some(DUE_MS - 1), "not_due"),
        ("1:A>B:9", "1:A>B:9:d", "default 1 by B", None, "not_due"),
        ("1:A>B:9", "1:A>B:9:d", "default 1 by A", Some(DUE_MS), "obligee_must_sign"),
        ("1:A>B:9", "1:A>B:8:d", "default 1 by B", Some(DUE_MS), "unexplained"),
        ("1:A>B:9:d", "1:A>B:9:d", "default 1 by B", Some(DUE_MS), "unexplained"),
        ("1:A>B:9:d", "1:A>B:9", "restore 1 by B", None, ""),
        ("1:A>B:9:d", "1:A>B:9", "restore 1 by A", None, "obligee_must_sign"),
        ("1:A>B:9", "1:A>B:9", "restore 1 by B", None, "unexplained"),
        // Exit.
        ("1:A>B:9", "", "exit 1 by B", None, ""),
        ("1:A>B:9:d", "", "exit 1 by B", None, ""),
        ("1:A>B:9", "", "exit 1 by A", None, "obligee_must_sign"),
        ("1:A>B:9", "1:A>B:8", "exit 1 by B", None, "unexplained"),
        ("1:A>B:9", "", "", None, "unexplained"),
    ];
    for row in table {
        let (inputs, outputs, orders, from, code) = row;
        match ObligationContract.verify(&built(inputs, outputs, orders, from)) {
            Ok(()) => assert_eq!(code, "", "accepted: {row:?}"),
            Err(rejection) => {
                let code = format!("obligation.{code}");
                assert_eq!(rejection.code, code, "{row:?}: {rejection}");
                assert_ne!(ErrorInfo::action_of(ERRORS, &code), "", "{code} has a hint");
            }
        }
    }
}

#[test]
fn a_payment_that_would_do_for_a_paper_alone_or_a_debt_alone_does_not_do_for_both() {
    let debt = built(
        "1:A>B:100, C GBP:100:A",
        "C GBP:100:B",
        "settle 1=C GBP=100 by A",
        None,
    );
    let bill = built(
        "paper B, C GBP:100:A",
        "C GBP:100:B",
        "redeem by B",
        Some(DUE_MS),
    );
    let inputs = "1:A>B:100, paper B, C GBP:100:A";
    let orders = "settle 1=C GBP=100 by A, redeem by B";
    let both = built(inputs, "C GBP:100:B", orders, Some(DUE_MS));
    let accepts = |tx: &LedgerTransaction| {
        [
            ObligationContract.verify(tx).is_ok(),
            PaperContract.verify(tx).is_ok(),
        ]
    };
    assert_eq!(accepts(&debt), [true, true]);
    assert_eq!(accepts(&bill), [true, true]);
    assert_eq!(accepts(&both), [false, false]);
}

#[test]
fn facts_name_both_sides_and_the_history() {
    let facts = ObligationContract
        .describe(&obligation("7:A>B:5").to_bytes())
        .unwrap();
    assert_eq!(facts.participants, [public(b'B'), public(b'A')]);
    assert_eq!(
        (facts.owner, facts.linear_id),
        (Some(public(b'B')), Some(id(7)))
    );
    assert_eq!(facts.fungible, None);
    let mut none = obligation("7:A>B:5");
    none.tokens.clear();
    assert!(ObligationContract.describe(&none.to_bytes()).is_err());
}

const LETTERS: [char; 3] = ['A', 'B', 'C'];

/// Returns the worth of each party: its cash and claims, less its debts.
fn worth<'a>(states: impl Iterator<Item = &'a TransactionState>) -> BTreeMap<char, i128> {
    let mut worth: BTreeMap<char, i128> = BTreeMap::new();
    let letter =
        |key: &primitives::PublicKey| LETTERS.into_iter().find(|c| public(*c as u8) == *key);
    for state in states {
        if state.contract == *cash_name() {
            let cash = CashState::from_bytes(&state.data).unwrap();
            *worth.entry(letter(&cash.owner).unwrap()).or_default() += i128::from(cash.quantity);
        } else {
            let debt = ObligationState::from_bytes(&state.data).unwrap();
            let quantity = i128::from(debt.quantity);
            *worth.entry(letter(&debt.obligee).unwrap()).or_default() += quantity;
            *worth.entry(letter(&debt.obligor.key).unwrap()).or_default() -= quantity;
        }
    }
    worth
}

fn letters() -> impl Strategy<Value = (char, char)> {
    prop::sample::select(vec![
        ('A', 'B'),
        ('B', 'A'),
        ('B', 'C'),
        ('C', 'A'),
        ('A', 'C'),
    ])
}

prop_compose! {
    /// Generates a few obligations and coins before and after, which fit each other more often than not.
    fn anything()(
        debts in prop::collection::vec((letters(), 1u64..5, 0u64..5, any::<bool>()), 1..4),
        paid in prop::collection::vec((letters(), 1u64..5), 0..3),
        verbs in prop::collection::vec(0usize..5, 1..4),
        signers in prop::sample::subsequence(LETTERS.to_vec(), 1..=3),
    ) -> LedgerTransaction {
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        let signers: String = signers.into_iter().collect();
        let mut orders: Vec<String> = Vec::new();
        for (index, ((from, to), before, after, passed)) in debts.iter().enumerate() {
            let n = index + 1;
            let after = (*after).min(before + 1);
            let verb = verbs[index % verbs.len()];
            if verb != 0 {
                inputs.push(format!("{n}:{from}>{to}:{before}"));
            }
            let owner = if *passed { LETTERS.into_iter().find(|c| c != from && c != to).unwrap() } else { *to };
            if after > 0 {
                outputs.push(format!("{n}:{from}>{owner}:{after}"));
            }
            orders.push(match verb {
                0 => format!("issue {n} by {signers}"),
                1 => format!("move {n} by {signers}"),
                2 => format!("settle {n}=C GBP={} by {signers}", before.saturating_sub(after)),
                3 => format!("net {n} by {signers}"),
                _ => format!("exit {n} by {signers}"),
            });
        }
        let nets: Vec<String> = orders.iter().filter(|o| o.starts_with("net")).map(|o| o.split(' ').nth(1).unwrap().to_owned()).collect();
        orders.retain(|order| !order.starts_with("net"));
        if !nets.is_empty() {
            orders.push(format!("net {} by {signers}", nets.join(" ")));
        }
        for ((from, to), quantity) in &paid {
            inputs.push(format!("C GBP:{quantity}:{from}"));
            outputs.push(format!("C GBP:{quantity}:{to}"));
        }
        let mut tx = built(&inputs.join(", "), &outputs.join(", "), &orders.join(", "), None);
        if !paid.is_empty() {
            tx.commands.push(crate::fixtures::command(&CashCommand::Move, &signers));
        }
        tx
    }
}

#[test]
fn nobody_loses_without_a_signature_and_nothing_comes_of_nothing() {
    let accepted = std::cell::Cell::new(0);
    let config = properties::config!(3_000);
    let run = |tx: LedgerTransaction| {
        if ObligationContract.verify(&tx).is_err() || CashContract.verify(&tx).is_err() {
            return Ok(());
        }
        accepted.set(accepted.get() + 1);
        let before = worth(tx.inputs.iter().map(|input| &input.state));
        let after = worth(tx.outputs.iter());
        let sum = |worth: &BTreeMap<char, i128>| worth.values().sum::<i128>();
        prop_assert_eq!(sum(&before), sum(&after));
        for letter in LETTERS {
            let key = public(letter as u8);
            let signs = tx
                .commands
                .iter()
                .any(|command| command.signers.contains(&key));
            let worth = |at: &BTreeMap<char, i128>| at.get(&letter).copied().unwrap_or_default();
            prop_assert!(signs || worth(&after) >= worth(&before), "{} loses", letter);
        }
        Ok(())
    };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    runner.run(&anything(), run).unwrap();
    assert!(
        accepted.get() >= 30,
        "only {} were accepted",
        accepted.get()
    );
}

proptest! {
    #![proptest_config(properties::config!(1_000))]

    #[test]
    fn netting_leaves_positions_as_they_are_and_no_cycle(
        debts in prop::collection::vec((0u8..6, 0u8..6, 1u64..50), 0..20)
    ) {
        let debts: Vec<netting::Debt> = debts
            .into_iter()
            .filter(|(from, to, _)| from != to)
            .map(|(from, to, quantity)| (public(from), public(to), quantity))
            .collect();
        let left = netting::net(&debts);
        let mut positions = [0i128; 6];
        for ((from, to, quantity), left) in debts.iter().zip(&left) {
            prop_assert!(left <= quantity);
            for n in 0..6u8 {
                let less = i128::from(quantity - left);
                positions[usize::from(n)] += less * (i128::from(*to == public(n)) - i128::from(*from == public(n)));
            }
        }
        prop_assert_eq!(positions, [0; 6]);
        let rest: Vec<netting::Debt> = debts.into_iter().zip(&left).filter(|(_, left)| **left > 0).map(|((from, to, _), left)| (from, to, *left)).collect();
        prop_assert_eq!(netting::net(&rest), rest.iter().map(|(.., quantity)| *quantity).collect::<Vec<_>>());
    }
}
