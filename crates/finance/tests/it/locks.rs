//! The decisions of the lock contract, one transaction per row.

use finance::ERRORS;
use finance::lock::{LockCommand, LockContract, LockState, lock_code, lock_name};
use ledger::{Command, Contract, LedgerTransaction, TransactionState};
use primitives::{Encode, ErrorInfo};

use crate::fixtures::*;

/// `"B:1000"` is a bound lock of B until 1000, `"B:1000 free"` one that is not bound; `x` is data that is not a lock.
fn locks(text: &str) -> Vec<TransactionState> {
    let parse = |word: &str| {
        let (terms, encumbrance) = match word.strip_suffix(" free") {
            Some(terms) => (terms, None),
            None => (word, Some(0)),
        };
        let data = match terms.split_once(':') {
            Some((owner, until)) => LockState {
                owner: public(owner.as_bytes()[0]),
                until: at(until.parse().unwrap()),
            }
            .to_bytes(),
            None => vec![0xff],
        };
        TransactionState {
            contract: lock_name().clone(),
            constraint: lock_code().1.clone(),
            encumbrance,
            ..state(data)
        }
    };
    list(text, parse)
}

fn commands(text: &str) -> Vec<Command> {
    let value = |verb: &str| match verb {
        "lock" => LockCommand::Lock.to_bytes(),
        "open" => LockCommand::Open.to_bytes(),
        _ => vec![0xff],
    };
    orders(lock_name(), value, text)
}

#[test]
fn accepted_and_rejected_transactions() {
    // Inputs, outputs, commands, time window, and the code of the rejection or an empty text.
    let table = [
        ("", "B:1000", "lock by A", "", ""),
        ("", "B:1000, C:5", "lock by A", "..9", ""),
        ("", "B:1000 free", "lock by A", "", "lock.unbound"),
        ("", "B:1000", "", "", "lock.commands_mismatched"),
        (
            "",
            "B:1000",
            "open by B",
            "5000..",
            "lock.commands_mismatched",
        ),
        (
            "",
            "B:1000",
            "lock by A, lock by A",
            "",
            "lock.commands_mismatched",
        ),
        ("", "", "lock by A", "", "lock.commands_mismatched"),
        ("", "x", "lock by A", "", "lock.state_malformed"),
        ("", "B:1000", "x by A", "", "lock.command_malformed"),
        ("B:1000", "", "open by B", "1000..", ""),
        ("B:1000", "", "open by BC", "1001..2000", ""),
        ("B:1000, C:7", "", "open by BC", "1000..", ""),
        ("B:1000", "B:2000", "open by B, lock by B", "1000..", ""),
        ("B:1000", "", "open by B", "999..", "lock.too_early"),
        ("B:1000", "", "open by B", "..2000", "lock.too_early"),
        ("B:1000", "", "open by B", "", "lock.too_early"),
        ("B:7, C:1000", "", "open by BC", "7..", "lock.too_early"),
        ("B:1000", "", "open by C", "1000..", "lock.owner_must_sign"),
        (
            "B:1, C:1",
            "",
            "open by B",
            "1000..",
            "lock.owner_must_sign",
        ),
        ("B:1000", "", "", "1000..", "lock.owner_must_sign"),
        (
            "B:1000",
            "B:1000",
            "lock by B",
            "1000..",
            "lock.owner_must_sign",
        ),
        (
            "B:1000",
            "",
            "open by B, lock by B",
            "1000..",
            "lock.commands_mismatched",
        ),
        (
            "B:1000",
            "",
            "open by B, open by B",
            "1000..",
            "lock.commands_mismatched",
        ),
        ("x", "", "open by B", "1000..", "lock.state_malformed"),
    ];
    for (inputs, outputs, given, time, expected) in table {
        let tx = LedgerTransaction {
            time_window: window(time),
            ..transaction(locks(inputs), locks(outputs), commands(given))
        };
        let code = match LockContract.verify(&tx) {
            Ok(()) => String::new(),
            Err(rejection) => rejection.code,
        };
        assert_eq!(code, expected, "{inputs} | {outputs} | {given} | {time}");
        assert!(code.is_empty() || !ErrorInfo::action_of(ERRORS, &code).is_empty());
    }
}
