//! Notes of transactions.

use kernel::port::Table;
use kernel::{Event, NOTE_BYTES_MAX, NOTES_MAX, NoteId, Reply, Token};
use ledger::TxId;

use crate::pay::issue;
use crate::testnet::Testnet;

fn note(net: &mut Testnet, transaction: TxId, text: &str) -> u64 {
    let token = net.token();
    let salt = u32::try_from(token).expect("few").to_be_bytes();
    let (user, text) = ("ann".to_owned(), text.to_owned());
    net.tell(
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

fn made(net: &mut Testnet, token: u64) -> Result<NoteId, String> {
    match net.replies.remove(&token) {
        Some(Reply::Noted { note, .. }) => Ok(note),
        Some(Reply::Rejected(rejection)) => Err(rejection.code),
        other => panic!("{other:?}"),
    }
}

#[test]
fn notes_are_bounded_and_last() {
    let mut net = Testnet::new(1);
    net.start(1, "cash.issue", &issue(5), None);
    net.settle();
    let (_, transaction) = net.nodes[1].disk.ledger().remove(0);
    let id = transaction.id();
    let long = "x".repeat(NOTE_BYTES_MAX + 1);
    let unknown = note(&mut net, TxId::from_array([9; 32]), "no such transaction");
    let too_long = note(&mut net, id, &long);
    // All at once: none of them is durable when the next one comes.
    let tokens: Vec<u64> = (0..=NOTES_MAX)
        .map(|_| note(&mut net, id, &long[1..]))
        .collect();
    net.settle();
    assert_eq!(
        made(&mut net, unknown),
        Err("node.unknown_transaction".into())
    );
    assert_eq!(made(&mut net, too_long), Err("node.note_refused".into()));
    let mut notes: Vec<_> = tokens.iter().map(|t| made(&mut net, *t)).collect();
    assert_eq!(notes.pop(), Some(Err("node.note_refused".into())));
    assert!(notes.iter().all(Result::is_ok));
    net.down(1);
    net.up(1);
    net.settle();
    assert_eq!(net.nodes[1].disk.count(Table::Notes), NOTES_MAX);

    for expected in [Reply::Done, Reply::Rejected(unknown_note(id))] {
        let token = net.token();
        net.tell(
            1,
            Event::RemoveNote {
                transaction: id,
                note: notes[0].clone().expect("a note"),
                token: Token(token),
            },
        );
        net.settle();
        let reply = net.replies.remove(&token).expect("a reply");
        match (&reply, &expected) {
            (Reply::Rejected(is), Reply::Rejected(wanted)) => assert_eq!(is.code, wanted.code),
            _ => assert_eq!(reply, expected),
        }
    }
    let again = note(&mut net, id, "there is room again");
    net.settle();
    assert!(made(&mut net, again).is_ok());
}

fn unknown_note(id: TxId) -> ledger::Rejection {
    ledger::Rejection::new("node.unknown_note", format!("{id}"), "")
}
