//! Journals for operators: the entries in order, with large values shown only by size and hash. The seed of a flow is never
//! shown, because its random values derive from it.

use ledger::{PartyId, Rejection, StateRef, TxId};
use primitives::{DecodeError, Hash};

use super::row::{Entry, Outcome, decode_row};

/// One entry of a journal, readable. Fields that do not apply are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JournalItem {
    /// The kind of entry.
    pub entry: &'static str,
    /// The number of the effect or session; the upper 16 bits are its scope.
    pub effect: Option<u32>,
    /// The kind of the effect.
    pub kind: Option<&'static str>,
    /// The digest of the request.
    pub digest: Option<u64>,
    /// The party on the other side.
    pub peer: Option<PartyId>,
    /// Size and hash of a value.
    pub value: Option<(usize, Hash)>,
    /// A number: a time, a version, a scope, the position of a message.
    pub number: Option<u64>,
    /// States.
    pub states: Vec<StateRef>,
    /// A transaction.
    pub transaction: Option<TxId>,
    /// A failure.
    pub error: Option<Rejection>,
    /// The flow's name, version and encoded arguments, at its start.
    pub start: Option<(String, u32, Vec<u8>)>,
}

/// Returns the entries of a row.
///
/// # Errors
/// The row does not decode.
pub fn journal_items(row: &[u8]) -> Result<Vec<JournalItem>, DecodeError> {
    Ok(decode_row(row)?.into_iter().map(item).collect())
}

fn value(bytes: &[u8]) -> Option<(usize, Hash)> {
    Some((bytes.len(), Hash::plain(bytes)))
}

fn item(entry: Entry) -> JournalItem {
    let of = |entry| JournalItem {
        entry,
        ..JournalItem::default()
    };
    match entry {
        Entry::Start(start) => JournalItem {
            peer: start.origin.map(|origin| origin.peer),
            start: Some((start.flow, start.version, start.args)),
            number: Some(start.at.as_ms()),
            ..of("start")
        },
        Entry::Result {
            effect,
            kind,
            digest,
            result,
        } => JournalItem {
            effect: Some(effect),
            kind: Some(kind.name()),
            digest: Some(digest),
            ..outcome(result, of("result"))
        },
        Entry::Fact { effect, value } => JournalItem {
            effect: Some(effect),
            number: Some(value),
            ..of("fact")
        },
        Entry::Opened { session, peer } => JournalItem {
            effect: Some(session),
            peer: Some(peer),
            ..of("opened")
        },
        Entry::Received {
            session,
            index,
            payload,
            ..
        } => JournalItem {
            effect: Some(session),
            number: Some(index.into()),
            value: value(&payload),
            ..of("received")
        },
        Entry::PeerEnded { session, error, .. } => JournalItem {
            effect: Some(session),
            error,
            ..of("peer_ended")
        },
        Entry::Confirmed { session, version } => JournalItem {
            effect: Some(session),
            number: Some(version.into()),
            ..of("confirmed")
        },
        Entry::SubFlowEnded {
            effect,
            digest,
            result,
        } => JournalItem {
            effect: Some(effect),
            digest: Some(digest),
            value: result.as_ref().ok().and_then(|bytes| value(bytes)),
            error: result.err(),
            ..of("sub_flow_ended")
        },
        Entry::KillAsked => of("kill_asked"),
        Entry::Scope { effect, scope } => JournalItem {
            effect: Some(effect),
            number: Some(scope.into()),
            ..of("scope")
        },
        Entry::Check { value } => JournalItem {
            digest: Some(value),
            ..of("check")
        },
        Entry::Deferred => of("deferred"),
    }
}

fn outcome(outcome: Outcome, item: JournalItem) -> JournalItem {
    match outcome {
        Outcome::Response(bytes) | Outcome::External(bytes) => JournalItem {
            value: value(&bytes),
            ..item
        },
        Outcome::States(states) | Outcome::Recorded(states) => JournalItem { states, ..item },
        Outcome::Transaction(transaction) => JournalItem {
            transaction,
            ..item
        },
        Outcome::Failed(error) => JournalItem {
            error: Some(error),
            ..item
        },
        _ => item,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::RowWriter;
    use crate::{EffectKind, EffectResult};

    #[test]
    fn values_are_shown_by_size_and_hash() {
        let mut row = RowWriter::new();
        row.fact(1, 7);
        let answer = EffectResult::External(b"secret".to_vec());
        row.result(2, EffectKind::External, 3, &answer, &[]);
        row.check(9);
        let items = journal_items(&row.into_bytes()).expect("a row");
        let entries: Vec<&str> = items.iter().map(|item| item.entry).collect();
        assert_eq!(entries, ["fact", "result", "check"]);
        assert_eq!(items[1].value, Some((6, Hash::plain(b"secret"))));
        assert_eq!(items[1].kind, Some("external"));
        assert!(journal_items(&[1, 0xff]).is_err());
    }
}
