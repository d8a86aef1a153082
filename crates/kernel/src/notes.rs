//! Notes that users attach to recorded transactions. They are this node's own: no peer ever sees them.

use std::collections::VecDeque;

use ledger::TxId;
use primitives::{Encode, Timestamp};

use crate::errors;
use crate::event::{Reply, Token};
use crate::kernel::Kernel;
use crate::part::Part;
use crate::port::{Reads, StoreFailure, Table};
use crate::rows::{note_key, prefix_end};
use crate::writes::{RowRange, Writer};
use primitives::Monotonic;

/// Notes of one transaction.
pub const NOTES_MAX: usize = 100;
/// The longest note, in bytes.
pub const NOTE_BYTES_MAX: usize = 4_096;

/// Names a note of a transaction: the time it was made, then random bytes of the shell's.
pub type NoteId = [u8; 12];

/// A note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteRow {
    /// Who made it.
    pub user: String,
    /// When.
    pub at: Timestamp,
    /// Its text, at most [`NOTE_BYTES_MAX`] bytes.
    pub text: String,
}

primitives::record!(NoteRow { user, at, text });

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

impl Kernel {
    /// A user makes a note of a transaction.
    pub(crate) fn on_note(
        &mut self,
        transaction: TxId,
        salt: [u8; 4],
        user: String,
        text: String,
        token: Token,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        if !self.book.contains(&transaction, reads)? {
            self.reply(
                token,
                Reply::Rejected(errors::unknown_transaction(&transaction)),
            );
            return Ok(());
        }
        let prefix = transaction.as_bytes();
        let to = prefix_end(prefix);
        let rows = reads.scan(Table::Notes, prefix, to.as_deref(), NOTES_MAX)?;
        let coming = self.notes.undurable.iter();
        let coming = coming.filter(|(_, id)| *id == transaction).count();
        if rows.len() + coming >= NOTES_MAX || text.len() > NOTE_BYTES_MAX {
            let text = format!(
                "a transaction has at most {NOTES_MAX} notes of at most {NOTE_BYTES_MAX} bytes"
            );
            let rejection = errors::rejection(&errors::NOTE_REFUSED, text);
            self.reply(token, Reply::Rejected(rejection));
            return Ok(());
        }
        let at = self.now.wall;
        let mut note = [0; 12];
        note[..8].copy_from_slice(&at.as_ms().to_be_bytes());
        note[8..].copy_from_slice(&salt);
        let row = NoteRow { user, at, text };
        let key = note_key(&transaction, &note);
        self.round
            .batch
            .of::<Notes>()
            .put(Table::Notes, key, row.to_bytes());
        let commit = self.commits.next();
        self.notes.undurable.push_back((commit, transaction));
        self.reply(token, Reply::Noted { note, at });
        Ok(())
    }

    /// A user takes a note away.
    pub(crate) fn on_remove_note(
        &mut self,
        transaction: TxId,
        note: NoteId,
        token: Token,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let key = note_key(&transaction, &note);
        let reply = if reads.get(Table::Notes, &key)?.is_some() {
            self.round.batch.of::<Notes>().delete(Table::Notes, key);
            Reply::Done
        } else {
            let text = format!("transaction {transaction} has no such note");
            Reply::Rejected(errors::rejection(&errors::UNKNOWN_NOTE, text))
        };
        self.reply(token, reply);
        Ok(())
    }
}
