//! The main type of the files, and the events about them from the shell and from users.

use flow::FlowEngine;
use ledger::PartyId;
use primitives::{Hash, Monotonic};

use super::limits::check_file_size;
use super::permits::PermitQueue;
use super::proposals::Proposals;
use super::row::{
    FILE_NAME_BYTES_MAX, FileOrigin, FileRecord, FileRow, MEDIA_TYPE_BYTES_MAX, hint,
};
use super::table::FileBook;
use super::upload::Stored;
use crate::command::{FilesCommand, IntakeCommand};
use crate::context::Context;
use crate::errors;
use crate::event::{Action, Reply, Token};
use crate::part::Part;
use crate::port::{Reads, StoreFailure};
use crate::writes::Batch;

/// The files of this node: their rows, the proposals of live flows that list them, and requests of peers that wait.
pub(crate) struct Files {
    pub(super) book: FileBook,
    pub(super) proposals: Proposals,
    pub(super) permits: PermitQueue,
}

impl Part for Files {
    fn committed(&mut self, upto: u64, now: Monotonic) {
        self.book.committed(upto, now);
    }

    fn next_time(&self, _: Monotonic) -> Option<Monotonic> {
        self.permits.next_time()
    }

    fn end_round(&mut self, batch: &mut Batch) {
        self.proposals.end_round(batch);
        self.book.end_round(batch);
    }
}

impl Files {
    /// Creates the part without a file in memory.
    pub(crate) fn new(cache_bytes: usize) -> Self {
        Self {
            book: FileBook::new(cache_bytes),
            proposals: Proposals::default(),
            permits: PermitQueue::default(),
        }
    }

    /// Restores the transactions that live flows had verified before the node stopped.
    pub(crate) fn restore_proposals(
        &mut self,
        engine: &FlowEngine,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let is_live = |flow: &flow::FlowId| engine.is_live(flow);
        self.proposals = Proposals::open(reads, is_live, &mut context.round.batch)?;
        Ok(())
    }

    /// Handles a user's upload that is on the disk: it gets a row, unless it has one. A file that a user uploads is trusted, unless a
    /// user has withdrawn the trust.
    pub(crate) fn on_stored(
        &mut self,
        stored: Stored,
        token: Token,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let (hash, size) = (stored.hash, stored.size);
        let before = self.book.get(&hash, reads)?;
        if let Err(rejection) = check_file_size(&hash, size, context) {
            if before.is_none() {
                context.act(Action::DropFile { hash });
            }
            context.reply(token, Reply::Rejected(rejection));
            return Ok(());
        }
        let is_new = before.is_none();
        let row = match before {
            Some(row) => uploaded_again(row, stored),
            None => FileRow {
                size,
                stored_at: context.now.wall,
                origin: FileOrigin::Uploaded {
                    user: stored.user.clone(),
                },
                trusted: true,
                trust_by: Some(stored.user),
                name: hint(&stored.name, FILE_NAME_BYTES_MAX),
                media_type: hint(&stored.media_type, MEDIA_TYPE_BYTES_MAX),
                refs: self.book.count_refs(&hash, reads)?,
            },
        };
        assert!(
            row.trust_by.is_some(),
            "the uploaded file {hash} has no decision on its trust"
        );
        self.set(hash, Some(row.clone()), context);
        let record = Box::new(FileRecord { hash, row });
        context.reply(token, Reply::FileKnown { record, is_new });
        context.command(IntakeCommand::FileIsHere {
            hash,
            size,
            is_upload: true,
        });
        Ok(())
    }

    /// Handles a requested file that is on the disk: it gets a row, unless it has one.
    pub(crate) fn on_arrived(
        &mut self,
        hash: Hash,
        size: u64,
        hints: (&str, &str),
        peer: PartyId,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        if self.book.get(&hash, reads)?.is_none() {
            let row = FileRow {
                size,
                stored_at: context.now.wall,
                origin: FileOrigin::Received { from: peer },
                trusted: context.options.trust_peers.contains(&peer),
                trust_by: None,
                name: hint(hints.0, FILE_NAME_BYTES_MAX),
                media_type: hint(hints.1, MEDIA_TYPE_BYTES_MAX),
                refs: self.book.count_refs(&hash, reads)?,
            };
            self.set(hash, Some(row), context);
            context.figures.files_arrived += 1;
        }
        context.command(IntakeCommand::FileIsHere {
            hash,
            size,
            is_upload: false,
        });
        Ok(())
    }

    /// Handles a user's request to delete a file. A file that a transaction lists stays.
    pub(crate) fn on_remove(
        &mut self,
        hash: Hash,
        token: Token,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let reply = match self.book.get(&hash, reads)? {
            None => Reply::Rejected(errors::unknown_file(&hash)),
            Some(row) if row.refs > 0 => {
                let text = match row.refs {
                    1 => format!("1 recorded transaction lists file {hash}"),
                    refs => format!("{refs} recorded transactions list file {hash}"),
                };
                Reply::Rejected(errors::rejection(&errors::FILE_REFERENCED, text))
            }
            Some(_) if self.proposals.holds(&hash) => {
                let text = format!("a running flow has a transaction that lists file {hash}");
                Reply::Rejected(errors::rejection(&errors::FILE_IN_USE, text))
            }
            Some(_) => {
                self.drop_file(hash, context);
                Reply::Done
            }
        };
        context.reply(token, reply);
        Ok(())
    }

    /// Handles a user's decision whether a file is to be trusted.
    pub(crate) fn on_trust(
        &mut self,
        hash: Hash,
        trusted: bool,
        user: String,
        token: Token,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let reply = match self.book.get(&hash, reads)? {
            None => Reply::Rejected(errors::unknown_file(&hash)),
            Some(mut row) => {
                row.trusted = trusted;
                row.trust_by = Some(user);
                self.set(hash, Some(row.clone()), context);
                known(hash, row)
            }
        };
        context.reply(token, reply);
        Ok(())
    }

    /// Answers a request for the record of a file.
    pub(crate) fn on_look(
        &mut self,
        hash: Hash,
        token: Token,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let reply = match self.book.get(&hash, reads)? {
            None => Reply::Rejected(errors::unknown_file(&hash)),
            Some(row) => known(hash, row),
        };
        context.reply(token, reply);
        Ok(())
    }

    /// Carries out a command.
    pub(crate) fn on_command(
        &mut self,
        command: FilesCommand,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        match command {
            FilesCommand::NoteProposal { flow, transaction } => {
                self.note_proposal(flow, &transaction, context);
                Ok(())
            }
            FilesCommand::DropBrought { from, files } => {
                self.drop_brought(from, files, context, reads)
            }
        }
    }

    /// Deletes the files that a peer sent, as it seems, for a transaction that is refused, and that nothing else needs.
    fn drop_brought(
        &mut self,
        from: PartyId,
        files: Vec<Hash>,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        for hash in files {
            let Some(row) = self.book.get(&hash, reads)? else {
                continue;
            };
            let is_theirs = row.origin == FileOrigin::Received { from } && row.trust_by.is_none();
            // Other items that wait for it together with other files look again once those are here.
            if is_theirs && row.refs == 0 && !self.proposals.holds(&hash) {
                self.drop_file(hash, context);
            }
        }
        Ok(())
    }

    /// Deletes a file that no transaction lists: first its row, then its bytes.
    fn drop_file(&mut self, hash: Hash, context: &mut Context) {
        assert!(
            !self.proposals.holds(&hash),
            "file {hash} is deleted, and a live flow has proposed it"
        );
        self.set(hash, None, context);
        context.act(Action::DropFile { hash });
    }

    fn set(&mut self, hash: Hash, row: Option<FileRow>, context: &Context) {
        self.book.set(hash, row, context.commits.next());
    }
}

/// Returns the row of a file that a user uploads although it is here. If a user has decided whether it is trusted, that stays.
fn uploaded_again(mut row: FileRow, stored: Stored) -> FileRow {
    if row.trust_by.is_none() {
        row.trusted = true;
        row.trust_by = Some(stored.user);
    }
    let name = hint(&stored.name, FILE_NAME_BYTES_MAX);
    let media_type = hint(&stored.media_type, MEDIA_TYPE_BYTES_MAX);
    for (hint, given) in [(&mut row.name, name), (&mut row.media_type, media_type)] {
        if hint.is_empty() {
            *hint = given;
        }
    }
    row
}

fn known(hash: Hash, row: FileRow) -> Reply {
    let record = Box::new(FileRecord { hash, row });
    let is_new = false;
    Reply::FileKnown { record, is_new }
}
