//! Notes of transactions.

use kernel::port::Table;
use kernel::{Event, NOTE_BYTES_MAX, NOTES_MAX, NoteId, Reply, Token};
use ledger::TxId;

use crate::pay::issue;
use crate::town::Town;

fn note(town: &mut Town, transaction: TxId, text: &str) -> u64 {
    let token = town.token();
    let salt = u32::try_from(token).expect("few").to_be_bytes();
    let (user, text) = ("ann".to_owned(), text.to_owned());
    town.tell(
        1,
        Event::Note {
            transaction,
            salt,
            user,
            text,
            token: Token(token),
        },
    );
    token
}

fn made(town: &mut Town, token: u64) -> Result<NoteId, String> {
    match town.replies.remove(&token) {
        Some(Reply::Noted { note, .. }) => Ok(note),
        Some(Reply::Rejected(rejection)) => Err(rejection.code),
        other => panic!("{other:?}"),
    }
}

#[test]
fn notes_are_bounded_and_last() {
    let mut town = Town::new(1);
    town.start(1, "cash.issue", &issue(5), None);
    town.settle();
    let (_, transaction) = town.nodes[1].disk.ledger().remove(0);
    let id = transaction.id();
    let long = "x".repeat(NOTE_BYTES_MAX + 1);
    let unknown = note(&mut town, TxId::from_array([9; 32]), "no such transaction");
    let too_long = note(&mut town, id, &long);
    // All at once: none of them is durable when the next one comes.
    let tokens: Vec<u64> = (0..=NOTES_MAX)
        .map(|_| note(&mut town, id, &long[1..]))
        .collect();
    town.settle();
    assert_eq!(
        made(&mut town, unknown),
        Err("node.unknown_transaction".into())
    );
    assert_eq!(made(&mut town, too_long), Err("node.note_refused".into()));
    let mut notes: Vec<_> = tokens.iter().map(|t| made(&mut town, *t)).collect();
    assert_eq!(notes.pop(), Some(Err("node.note_refused".into())));
    assert!(notes.iter().all(Result::is_ok));
    town.down(1);
    town.up(1);
    town.settle();
    assert_eq!(town.nodes[1].disk.count(Table::Notes), NOTES_MAX);

    for expected in [Reply::Done, Reply::Rejected(unknown_note(id))] {
        let token = town.token();
        town.tell(
            1,
            Event::RemoveNote {
                transaction: id,
                note: notes[0].clone().expect("a note"),
                token: Token(token),
            },
        );
        town.settle();
        let reply = town.replies.remove(&token).expect("a reply");
        match (&reply, &expected) {
            (Reply::Rejected(is), Reply::Rejected(wanted)) => assert_eq!(is.code, wanted.code),
            _ => assert_eq!(reply, expected),
        }
    }
    let again = note(&mut town, id, "there is room again");
    town.settle();
    assert!(made(&mut town, again).is_ok());
}

fn unknown_note(id: TxId) -> ledger::Rejection {
    ledger::Rejection::new("node.unknown_note", format!("{id}"), "")
}
