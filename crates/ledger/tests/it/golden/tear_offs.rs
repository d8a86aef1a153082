//! Tear-offs: for a notary, and of single components.

use ledger::{FilteredTransaction, Group};
use serde_json::{Value, json};

use crate::golden::cast::{issue, pay, rich};
use crate::golden::{decoded, encoded, entries, text};

fn all() -> [(&'static str, bool, FilteredTransaction); 6] {
    let some = FilteredTransaction::of(&rich(), |group, index| {
        matches!(
            (group, index),
            (Group::Outputs, 1 | 4) | (Group::Commands, 1) | (Group::Inputs, 4)
        )
    });
    [
        (
            "issue for its notary",
            true,
            FilteredTransaction::for_notary(&issue()),
        ),
        (
            "pay for its notary",
            true,
            FilteredTransaction::for_notary(&pay()),
        ),
        (
            "rich for its notary",
            true,
            FilteredTransaction::for_notary(&rich()),
        ),
        (
            "two outputs, one input and one command of rich, with all signers",
            false,
            some,
        ),
        (
            "nothing of rich",
            false,
            FilteredTransaction::of(&rich(), |_, _| false),
        ),
        (
            "all of rich",
            true,
            FilteredTransaction::of(&rich(), |_, _| true),
        ),
    ]
}

pub fn vectors() -> Value {
    let tear_offs: Vec<Value> = all()
        .iter()
        .map(|(name, for_notary, tear_off)| {
            json!({
                "name": name,
                "encoding": encoded(tear_off),
                "id": tear_off.claimed_id(),
                "enough_for_a_notary": for_notary,
            })
        })
        .collect();
    json!({ "tear_offs": tear_offs })
}

pub fn check(file: &Value) {
    for entry in entries(file, "tear_offs") {
        let tear_off: FilteredTransaction = decoded(entry, "encoding");
        assert!(
            tear_off
                .open()
                .is_ok_and(|open| open.id.to_string() == text(entry, "id"))
        );
        let enough = entry["enough_for_a_notary"] == true;
        assert_eq!(tear_off.verify().is_ok(), enough, "{entry}");
    }
}
