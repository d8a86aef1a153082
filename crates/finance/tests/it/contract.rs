//! The decisions of the cash contract, one transaction per row.

use finance::{CashCommand, CashContract, ERRORS};
use ledger::{Contract, TransactionState};
use primitives::{Decode, Encode, Encoder, ErrorInfo};

use crate::fixtures::*;

/// `"A GBP:100:B"` is 100 of the token `A GBP` owned by B; `x` is data that is not cash.
fn states(text: &str) -> Vec<TransactionState> {
    text.split(", ")
        .filter(|word| !word.is_empty())
        .map(|word| {
            let mut parts = word.split(':');
            let Some(name) = parts.next().filter(|name| *name != "x") else {
                return state(vec![0xff]);
            };
            let quantity = parts.next().unwrap().parse().unwrap();
            cash(
                &token(name),
                quantity,
                parts.next().unwrap().chars().next().unwrap(),
            )
        })
        .collect()
}

/// `"issue A GBP:100 by A"`, `"move by B"`, `"exit A GBP:100 by AB"`.
fn commands(text: &str) -> Vec<ledger::Command> {
    text.split(", ")
        .filter(|word| !word.is_empty())
        .map(|word| {
            let (what, signers) = word.split_once(" by ").unwrap();
            if what == "move" {
                return command(&CashCommand::Move, signers);
            }
            let (verb, amount) = what.split_once(' ').unwrap();
            let (name, quantity) = amount.split_once(':').unwrap();
            let (token, quantity) = (token(name).id(), quantity.parse().unwrap());
            let value = match verb {
                "issue" => CashCommand::Issue { token, quantity },
                "exit" => CashCommand::Exit { token, quantity },
                other => panic!("no verb '{other}'"),
            };
            command(&value, signers)
        })
        .collect()
}

/// Inputs, outputs, commands, and the code of the rejection or an empty text.
type Row = (&'static str, &'static str, &'static str, &'static str);

#[track_caller]
fn check(rows: &[Row]) {
    for (inputs, outputs, orders, code) in rows {
        let tx = transaction(states(inputs), states(outputs), commands(orders));
        let row = format!("[{inputs}] -> [{outputs}] with [{orders}]");
        match CashContract.verify(&tx) {
            Ok(()) => assert_eq!(*code, "", "accepted: {row}"),
            Err(rejection) => {
                assert_eq!(rejection.code, *code, "{row}: {rejection}");
                assert_ne!(ErrorInfo::action_of(ERRORS, code), "", "{code} has a hint");
            }
        }
    }
}

#[test]
fn issues() {
    check(&[
        ("", "A GBP:100:A", "issue A GBP:100 by A", ""),
        ("", "A GBP:100:B", "issue A GBP:100 by A", ""),
        ("", "A GBP:60:B, A GBP:40:C", "issue A GBP:100 by A", ""),
        ("", "A GBP:100:B", "issue A GBP:100 by AB", ""),
        (
            "",
            "A GBP:1:B, A USD:2:B",
            "issue A GBP:1 by A, issue A USD:2 by A",
            "",
        ),
        (
            "",
            "A GBP:1:B, C GBP:2:B",
            "issue A GBP:1 by A, issue C GBP:2 by C",
            "",
        ),
        (
            "A GBP:5:B",
            "A GBP:105:B",
            "issue A GBP:100 by A, move by B",
            "",
        ),
        (
            "",
            "A GBP:18446744073709551615:B",
            "issue A GBP:18446744073709551615 by A",
            "",
        ),
        (
            "",
            "A GBP:100:A",
            "issue A GBP:100 by B",
            "cash.issuer_must_sign",
        ),
        ("", "A GBP:100:A", "", "cash.not_conserved"),
        (
            "",
            "A GBP:100:A",
            "issue A GBP:99 by A",
            "cash.not_conserved",
        ),
        (
            "",
            "A GBP:100:A",
            "issue A GBP:101 by A",
            "cash.not_conserved",
        ),
        (
            "",
            "A GBP:100:A",
            "issue A USD:100 by A",
            "cash.not_conserved",
        ),
        (
            "",
            "A GBP 01:100:A",
            "issue A GBP:100 by A",
            "cash.not_conserved",
        ),
        (
            "",
            "C GBP:100:A",
            "issue A GBP:100 by A",
            "cash.not_conserved",
        ),
        (
            "",
            "A GBP:1:A, C GBP:2:A",
            "issue A GBP:1 by A",
            "cash.not_conserved",
        ),
        (
            "",
            "A GBP:1:A",
            "issue A GBP:1 by A, issue C GBP:2 by C",
            "cash.command_without_cash",
        ),
        (
            "",
            "A GBP:2:A",
            "issue A GBP:1 by A, issue A GBP:1 by A",
            "cash.command_repeated",
        ),
        (
            "",
            "A GBP:1:A",
            "issue A GBP:1 by A, move by A",
            "cash.command_without_cash",
        ),
        ("", "A GBP:1:A", "issue A GBP:0 by A", "cash.zero_amount"),
        (
            "A GBP:5:B",
            "A GBP:105:B",
            "issue A GBP:100 by A",
            "cash.owner_must_sign",
        ),
        (
            "",
            "A GBP:18446744073709551615:A, A GBP:1:A",
            "issue A GBP:1 by A",
            "cash.overflow",
        ),
        (
            "A GBP:1:B",
            "A GBP:1:B",
            "issue A GBP:18446744073709551615 by A, move by B",
            "cash.overflow",
        ),
    ]);
}

#[test]
fn moves() {
    check(&[
        ("A GBP:100:B", "A GBP:100:C", "move by B", ""),
        ("A GBP:100:B", "A GBP:30:C, A GBP:70:B", "move by B", ""),
        ("A GBP:60:B, A GBP:40:B", "A GBP:100:C", "move by B", ""),
        ("A GBP:60:B, A GBP:40:C", "A GBP:100:D", "move by BC", ""),
        (
            "A GBP:60:B, A USD:40:C",
            "A GBP:60:C, A USD:40:B",
            "move by BC",
            "",
        ),
        (
            "A GBP:60:B, C GBP:40:B",
            "A GBP:60:D, C GBP:40:D",
            "move by B",
            "",
        ),
        (
            "A GBP:60:B, A GBP 01:40:B",
            "A GBP:60:D, A GBP 01:40:D",
            "move by B",
            "",
        ),
        ("A GBP:100:B", "A GBP:100:C", "move by BC", ""),
        (
            "A GBP:100:B",
            "A GBP:100:C",
            "move by A",
            "cash.owner_must_sign",
        ),
        (
            "A GBP:100:B",
            "A GBP:100:C",
            "move by C",
            "cash.owner_must_sign",
        ),
        ("A GBP:100:B", "A GBP:100:C", "", "cash.owner_must_sign"),
        (
            "A GBP:60:B, A GBP:40:C",
            "A GBP:100:D",
            "move by B",
            "cash.owner_must_sign",
        ),
        (
            "A GBP:60:B, A USD:40:C",
            "A GBP:60:C, A USD:40:B",
            "move by B",
            "cash.owner_must_sign",
        ),
        (
            "A GBP:100:B",
            "A GBP:99:C",
            "move by B",
            "cash.not_conserved",
        ),
        (
            "A GBP:100:B",
            "A GBP:101:C",
            "move by B",
            "cash.not_conserved",
        ),
        ("A GBP:100:B", "", "move by B", "cash.not_conserved"),
        (
            "A GBP:100:B",
            "A USD:100:B",
            "move by B",
            "cash.not_conserved",
        ),
        (
            "A GBP:100:B",
            "C GBP:100:B",
            "move by B",
            "cash.not_conserved",
        ),
        (
            "A GBP:100:B",
            "A GBP 01:100:B",
            "move by B",
            "cash.not_conserved",
        ),
        (
            "A GBP:60:B, A USD:40:B",
            "A GBP:40:B, A USD:60:B",
            "move by B",
            "cash.not_conserved",
        ),
        (
            "A GBP:100:B",
            "A GBP:100:C",
            "move by B, move by B",
            "cash.command_repeated",
        ),
        (
            "A GBP:18446744073709551615:B, A GBP:1:B",
            "A GBP:18446744073709551615:B, A GBP:1:B",
            "move by B",
            "cash.overflow",
        ),
        ("x", "A GBP:1:B", "move by B", "cash.state_malformed"),
        ("A GBP:1:B", "x", "move by B", "cash.state_malformed"),
        (
            "A GBP:1:B",
            "A GBP:1:B, A GBP:0:C",
            "move by B",
            "cash.state_malformed",
        ),
    ]);
}

#[test]
fn exits() {
    check(&[
        ("A GBP:100:B", "", "exit A GBP:100 by AB", ""),
        ("A GBP:100:A", "", "exit A GBP:100 by A", ""),
        ("A GBP:100:B", "A GBP:70:B", "exit A GBP:30 by AB", ""),
        (
            "A GBP:60:B, A GBP:40:C",
            "A GBP:70:D",
            "exit A GBP:30 by ABC",
            "",
        ),
        (
            "A GBP:9:B, A USD:5:B",
            "A USD:5:C",
            "exit A GBP:9 by AB, move by B",
            "",
        ),
        (
            "A GBP:9:B, A USD:5:B",
            "",
            "exit A GBP:9 by AB, exit A USD:5 by AB",
            "",
        ),
        (
            "A GBP:100:B",
            "",
            "exit A GBP:100 by B",
            "cash.issuer_must_sign",
        ),
        (
            "A GBP:100:B",
            "",
            "exit A GBP:100 by A",
            "cash.owner_must_sign",
        ),
        (
            "A GBP:100:B",
            "",
            "exit A GBP:100 by A, move by B",
            "cash.owner_must_sign",
        ),
        (
            "A GBP:100:B",
            "",
            "exit A GBP:99 by AB",
            "cash.not_conserved",
        ),
        (
            "A GBP:100:B",
            "A GBP:1:B",
            "exit A GBP:100 by AB",
            "cash.not_conserved",
        ),
        (
            "A GBP:100:B",
            "",
            "exit A USD:100 by AB",
            "cash.not_conserved",
        ),
        (
            "A GBP:100:B",
            "A GBP:100:B",
            "exit A GBP:0 by AB",
            "cash.zero_amount",
        ),
        (
            "A GBP:100:B",
            "A GBP:100:B",
            "exit A USD:1 by A, move by B",
            "cash.command_without_cash",
        ),
        (
            "A GBP:100:B",
            "",
            "exit A GBP:50 by AB, exit A GBP:50 by AB",
            "cash.command_repeated",
        ),
        (
            "A GBP:100:B",
            "A GBP:100:B",
            "issue A GBP:10 by A, exit A GBP:10 by AB",
            "cash.command_repeated",
        ),
    ]);
}

#[test]
fn commands_that_are_none() {
    let mut odd = command(&CashCommand::Move, "B");
    odd.value = vec![0x81, 9];
    let tx = transaction(states("A GBP:1:B"), states("A GBP:1:C"), vec![odd]);
    assert_eq!(
        CashContract.verify(&tx).unwrap_err().code,
        "cash.command_malformed"
    );
}

#[test]
fn the_vault_learns_owner_token_and_quantity() {
    let token = token("A GBP 0aff");
    let facts = CashContract.describe(&cash(&token, 42, 'B').data).unwrap();
    assert_eq!(facts.participants, [public(b'B')]);
    assert_eq!(facts.owner, Some(public(b'B')));
    assert_eq!(facts.linear_id, None);
    let fungible = facts.fungible.unwrap();
    assert_eq!((fungible.token, fungible.quantity), (token.id(), 42));
    assert_eq!(fungible.symbol, "GBP");
    assert_eq!(fungible.issuer.name.to_string(), "O=Bank A, L=London, C=GB");
    assert!(CashContract.describe(&[0xff]).is_err());
}

#[test]
fn a_token_id_commits_to_issuer_key_reference_and_currency() {
    let mut other_key = token("A GBP");
    other_key.issuer.key = public(1);
    let all = [
        token("A GBP"),
        token("A USD"),
        token("A GBP 00"),
        token("A GBP 0000"),
        token("B GBP"),
        other_key,
    ];
    let mut ids: Vec<_> = all.iter().map(|token| token.id()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), all.len());
    let mut e = Encoder::new();
    e.array(2);
    e.text("tally.cash");
    token("A GBP").encode(&mut e);
    let hash = primitives::Hash::of(primitives::Domain::TokenId, &[&e.into_bytes()]);
    assert_eq!(token("A GBP").id().hash(), hash, "as documented");
    assert!(finance::IssuedToken::from_bytes(&token("A GBP").to_bytes()).is_ok());
}
