//! The notes: additions and removals by users.

use std::collections::VecDeque;

use ledger::{Rejection, TxId};
use primitives::{Encode, Monotonic};

use super::row::{NOTE_BYTES_MAX, NOTES_MAX, NoteId, NoteRow};
use crate::context::Context;
use crate::errors;
use crate::event::{Reply, Token};
use crate::part::Part;
use crate::port::{Reads, StoreFailure, Table};
use crate::rows::{note_key, prefix_end};
use crate::writes::{RowRange, Writer};

/// A user's request to attach a note.
pub(crate) struct NewNote {
    pub(crate) transaction: TxId,
    /// Random bytes of the shell's, the end of the note's name.
    pub(crate) salt: [u8; 4],
    pub(crate) user: String,
    pub(crate) text: String,
}

/// Notes whose rows the store may not show yet, with the commits that write them.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    undurable: VecDeque<(u64, TxId)>,
}

impl Part for Notes {
    fn committed(&mut self, upto: u64, _: Monotonic) {
        while self.undurable.front().is_some_and(|(n, _)| *n <= upto) {
            self.undurable.pop_front();
        }
    }
}

impl Writer for Notes {
    const ROWS: &'static [RowRange] = &[RowRange::table(Table::Notes)];
}

impl Notes {
    /// Attaches a note to a transaction. `recorded` says whether the ledger has the transaction.
    pub(crate) fn add(
        &mut self,
        new: NewNote,
        recorded: bool,
        token: Token,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let refused = match recorded {
            true => self.refusal(&new, reads)?,
            false => Some(errors::unknown_transaction(&new.transaction)),
        };
        if let Some(rejection) = refused {
            context.reply(token, Reply::Rejected(rejection));
            return Ok(());
        }
        let at = context.now.wall;
        let mut note = [0; 12];
        note[..8].copy_from_slice(&at.as_ms().to_be_bytes());
        note[8..].copy_from_slice(&new.salt);
        let (user, text) = (new.user, new.text);
        let row = NoteRow { user, at, text };
        let key = note_key(&new.transaction, &note);
        let mut rows = context.rows::<Notes>();
        rows.put(Table::Notes, key, row.to_bytes());
        let commit = context.commits.next();
        let last = self.undurable.back();
        assert!(
            last.is_none_or(|(last, _)| *last <= commit),
            "commits of notes are in order"
        );
        self.undurable.push_back((commit, new.transaction));
        context.reply(token, Reply::Noted { note, at });
        Ok(())
    }

    /// Returns why a note is refused, if it is. Notes of commits in flight count as well.
    fn refusal(&self, new: &NewNote, reads: &dyn Reads) -> Result<Option<Rejection>, StoreFailure> {
        let prefix = new.transaction.as_bytes();
        let to = prefix_end(prefix);
        let rows = reads.scan(Table::Notes, prefix, to.as_deref(), NOTES_MAX)?;
        let coming = self.undurable.iter();
        let coming = coming.filter(|(_, id)| *id == new.transaction).count();
        if rows.len() + coming < NOTES_MAX && new.text.len() <= NOTE_BYTES_MAX {
            return Ok(None);
        }
        let text = format!(
            "a transaction has at most {NOTES_MAX} notes of at most {NOTE_BYTES_MAX} bytes"
        );
        Ok(Some(errors::rejection(&errors::NOTE_REFUSED, text)))
    }

    /// Removes a note.
    pub(crate) fn remove(
        &mut self,
        transaction: TxId,
        note: NoteId,
        token: Token,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let key = note_key(&transaction, &note);
        let reply = if reads.get(Table::Notes, &key)?.is_some() {
            context.rows::<Notes>().delete(Table::Notes, key);
            Reply::Done
        } else {
            let text = format!("transaction {transaction} has no such note");
            Reply::Rejected(errors::rejection(&errors::UNKNOWN_NOTE, text))
        };
        context.reply(token, reply);
        Ok(())
    }
}
