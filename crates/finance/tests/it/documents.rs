//! The decisions of the document contract, one transaction per row, and the flow.

use finance::ERRORS;
use finance::document::{
    DocumentCommand, DocumentContract, DocumentState, document_code, document_name,
};
use ledger::{Command, Contract, LedgerTransaction, TransactionState};
use primitives::{Decode, Encode, ErrorInfo, Hash};

use crate::fixtures::*;
use crate::world::World;

fn file(name: &str) -> Hash {
    Hash::plain(name.as_bytes())
}

/// `"A>B:f"` is file f that A shares with B; `x` is data that is not a document.
fn documents(text: &str) -> Vec<TransactionState> {
    let parse = |word: &str| {
        let data = match word.split_once(':') {
            Some((ends, name)) => DocumentState {
                from: party(ends.chars().next().unwrap()),
                to: party(ends.chars().nth(2).unwrap()),
                title: "a title".into(),
                attachment: file(name),
            }
            .to_bytes(),
            None => vec![0xff],
        };
        TransactionState {
            contract: document_name().clone(),
            constraint: document_code().1.clone(),
            ..state(data)
        }
    };
    list(text, parse)
}

fn commands(text: &str) -> Vec<Command> {
    let value = |verb: &str| match verb {
        "share" => DocumentCommand::Share.to_bytes(),
        _ => vec![0xff],
    };
    orders(document_name(), value, text)
}

#[test]
fn accepted_and_rejected_transactions() {
    // Inputs, outputs, commands, attached files, and the code of the rejection or an empty text.
    let table = [
        ("", "A>B:f", "share by A", "f", ""),
        ("", "A>B:f, A>C:f, A>C:g", "share by A", "f, g", ""),
        ("", "A>B:f, C>B:g", "share by AC", "f, g, more", ""),
        ("", "A>B:f", "share by A", "", "document.not_attached"),
        ("", "A>B:f", "share by A", "g", "document.not_attached"),
        ("", "A>B:f", "share by B", "f", "document.sharer_must_sign"),
        (
            "",
            "A>B:f, C>B:g",
            "share by A",
            "f, g",
            "document.sharer_must_sign",
        ),
        ("", "A>A:f", "share by A", "f", "document.with_itself"),
        ("", "A>B:f", "", "f", "document.commands_mismatched"),
        ("", "", "share by A", "f", "document.commands_mismatched"),
        (
            "",
            "A>B:f",
            "share by A, share by A",
            "f",
            "document.commands_mismatched",
        ),
        ("", "A>B:f", "x by A", "f", "document.command_malformed"),
        ("", "x", "share by A", "f", "document.state_malformed"),
        ("A>B:f", "", "share by AB", "f", "document.kept"),
        ("A>B:f", "A>B:f", "share by AB", "f", "document.kept"),
        ("x", "", "", "", "document.kept"),
    ];
    for (inputs, outputs, given, attached, expected) in table {
        let tx = LedgerTransaction {
            attachments: list(attached, file),
            ..transaction(documents(inputs), documents(outputs), commands(given))
        };
        let code = match DocumentContract.verify(&tx) {
            Ok(()) => String::new(),
            Err(rejection) => rejection.code,
        };
        assert_eq!(
            code, expected,
            "{inputs} | {outputs} | {given} | {attached}"
        );
        assert!(code.is_empty() || !ErrorInfo::action_of(ERRORS, &code).is_empty());
    }
}

#[test]
fn titles() {
    let long = "é".repeat(128);
    let table = [
        ("a", true),
        (long.as_str(), true),
        ("", false),
        ("two\nlines", false),
        (&format!("{long}e"), false),
    ];
    for (title, is_title) in table {
        assert_eq!(DocumentState::is_title(title), is_title, "{title:?}");
        let state = DocumentState {
            from: party('A'),
            to: party('B'),
            title: title.into(),
            attachment: Hash::ZERO,
        };
        let decoded = DocumentState::from_bytes(&state.to_bytes());
        assert_eq!(decoded.is_ok(), is_title, "{title:?}");
    }
}

#[test]
fn share() {
    let mut world = World::new();
    let args = |to: &str, title: &str| {
        let hash = file("f");
        format!(r#"{{"to":"O=Bank {to}, L=London, C=GB","attachment":"{hash}","title":"{title}"}}"#)
    };
    let table = [
        (args("B", ""), "document.title_invalid"),
        (args("A", "t"), "document.with_itself"),
        (args("Nobody", "t"), "cash.unknown_party"),
    ];
    for (json, code) in table {
        let error = world.run("document.share", &json).expect_err(&json);
        assert_eq!(error.code, code, "{json}: {error}");
    }
    world
        .run("document.share", &args("B", "a contract"))
        .expect("it is shared");
    assert_eq!(world.notarised, 0, "nothing is consumed");
    let (id, to) = world.delivered[0];
    assert_eq!((world.delivered.len(), to), (1, party('B').id()));
    let shared = world.transactions[&id].wire();
    assert_eq!(shared.attachments(), [document_code().0, file("f")]);
    let state = DocumentState::from_bytes(&shared.outputs()[0].data).expect("a document");
    assert_eq!(
        (state.title.as_str(), state.attachment),
        ("a contract", file("f"))
    );
}
