//! The events about files, from the shell and from users.

use ledger::{PartyId, Rejection};
use primitives::Hash;

use super::requests::{FILE_TRIES_MAX, MISMATCH_WEIGHT};
use super::row::{
    FILE_NAME_BYTES_MAX, FileFailure, FileOrigin, FileRecord, FileRow, MEDIA_TYPE_BYTES_MAX, hint,
};
use super::upload::Stored;
use crate::errors;
use crate::event::{Action, Reply, Token};
use crate::intake::fault::Fault;
use crate::intake::item_id::ItemId;
use crate::intake::items::Goal;
use crate::kernel::Kernel;
use crate::port::{Reads, StoreFailure};
use crate::round::Work;

impl Kernel {
    /// Handles a user's upload that is on the disk: it gets a row, unless it has one. A file that a user uploads is trusted.
    pub(crate) fn on_file_stored(
        &mut self,
        stored: Stored,
        token: Token,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let hash = stored.hash;
        let before = self.files.get(&hash, reads)?;
        if let Err(rejection) = self.check_file_size(&hash, stored.size) {
            if before.is_none() {
                self.context.round.then.push(Action::DropFile { hash });
            }
            self.context.reply(token, Reply::Rejected(rejection));
            return Ok(());
        }
        let is_new = before.is_none();
        let name = hint(&stored.name, FILE_NAME_BYTES_MAX);
        let media_type = hint(&stored.media_type, MEDIA_TYPE_BYTES_MAX);
        let user = stored.user;
        let row = match before {
            Some(mut row) => {
                if !row.trusted {
                    row.trusted = true;
                    row.trust_by = Some(user);
                }
                for (hint, given) in [(&mut row.name, name), (&mut row.media_type, media_type)] {
                    if hint.is_empty() {
                        *hint = given;
                    }
                }
                row
            }
            None => FileRow {
                size: stored.size,
                stored_at: self.context.now.wall,
                origin: FileOrigin::Uploaded { user: user.clone() },
                trusted: true,
                trust_by: Some(user),
                name,
                media_type,
                refs: self.files.count_refs(&hash, reads)?,
            },
        };
        self.files
            .set(hash, Some(row.clone()), self.context.commits.next());
        let record = Box::new(FileRecord { hash, row });
        self.context
            .reply(token, Reply::FileKnown { record, is_new });
        if self.file_is_here(&hash, stored.size) {
            self.context.round.then.push(Action::AbandonFile { hash });
        }
        Ok(())
    }

    /// A file that was asked for is on the disk.
    pub(crate) fn on_file_arrived(
        &mut self,
        hash: Hash,
        size: u64,
        hints: (&str, &str),
        peer: PartyId,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        if self.files.get(&hash, reads)?.is_none() {
            let row = FileRow {
                size,
                stored_at: self.context.now.wall,
                origin: FileOrigin::Received { from: peer },
                trusted: self.context.options.trust_peers.contains(&peer),
                trust_by: None,
                name: hint(hints.0, FILE_NAME_BYTES_MAX),
                media_type: hint(hints.1, MEDIA_TYPE_BYTES_MAX),
                refs: self.files.count_refs(&hash, reads)?,
            };
            self.files.set(hash, Some(row), self.context.commits.next());
            self.context.figures.files_arrived += 1;
        }
        self.file_is_here(&hash, size);
        Ok(())
    }

    /// Wakes the items that wait for a file. Returns whether a peer is asked for it.
    fn file_is_here(&mut self, hash: &Hash, size: u64) -> bool {
        let (ready, is_asked) = self.intake.files.arrived(hash, size);
        self.context.work.extend(ready.into_iter().map(Work::Ready));
        is_asked
    }

    /// Checks the size that a peer announces for a file. A file over the limits is refused before its bytes move.
    pub(crate) fn on_file_offered(
        &mut self,
        hash: Hash,
        peer: PartyId,
        size: u64,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        for item in self.intake.files.offered(&hash, &peer, size) {
            let together = self.intake.files.known_bytes(&item, None);
            let checked = self.check_file_size(&hash, size);
            if let Err(rejection) = checked.and_then(|()| self.check_files_size(together)) {
                self.refuse_for_files(item, rejection, reads)?;
            }
        }
        Ok(())
    }

    /// Refuses a transaction for the size of its files. Those that its peer sent for it, as it seems, and that nothing else needs
    /// go again.
    pub(super) fn refuse_for_files(
        &mut self,
        item: ItemId,
        rejection: Rejection,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let listed = self.intake.get(item).and_then(|waiting| {
            let files = self.files_of(waiting.transaction.wire());
            Some((waiting.from?, files))
        });
        // The network's parameters may allow them another time.
        self.refuse(item, Fault::Local(rejection));
        let Some((from, files)) = listed else {
            return Ok(());
        };
        for hash in files {
            let Some(row) = self.files.get(&hash, reads)? else {
                continue;
            };
            let is_theirs = row.origin == FileOrigin::Received { from } && row.trust_by.is_none();
            // Other items that wait for it together with other files look again once those are here.
            if is_theirs && row.refs == 0 && !self.proposals.holds(&hash) {
                self.files.set(hash, None, self.context.commits.next());
                self.context.round.then.push(Action::DropFile { hash });
            }
        }
        Ok(())
    }

    /// A file does not come.
    pub(crate) fn on_file_failed(
        &mut self,
        hash: Hash,
        peer: PartyId,
        failure: FileFailure,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let Some(tries) = self.intake.files.failed(&hash, &peer) else {
            return Ok(());
        };
        self.context.figures.files_failed += 1;
        match failure {
            FileFailure::Unknown => {
                self.intake
                    .files
                    .fault(peer, hash, 1, self.context.now.monotonic);
                let text = format!("the peer does not give file {hash}");
                let rejection = errors::rejection(&errors::FILE_UNAVAILABLE, text);
                for item in self.intake.files.relying_on(&hash, &peer) {
                    let code = errors::FILE_UNAVAILABLE.code;
                    self.leave_unanswered(item, code, rejection.clone());
                }
            }
            FileFailure::Mismatch => {
                self.intake
                    .files
                    .fault(peer, hash, MISMATCH_WEIGHT, self.context.now.monotonic);
                let text = format!("the peer sent other bytes as file {hash}");
                let rejection = errors::rejection(&errors::FILE_MISMATCH, text);
                for item in self.intake.files.relying_on(&hash, &peer) {
                    let code = errors::FILE_MISMATCH.code;
                    self.leave_unanswered(item, code, rejection.clone());
                }
            }
            FileFailure::TooLarge { size } => {
                for item in self.intake.files.relying_on(&hash, &peer) {
                    let others = self.intake.files.known_bytes(&item, Some(&hash));
                    let together = others.saturating_add(size);
                    let checked = self.check_file_size(&hash, size);
                    if let Err(rejection) = checked.and_then(|()| self.check_files_size(together)) {
                        self.refuse_for_files(item, rejection, reads)?;
                    }
                }
                // It is not too large for the remaining items.
                self.file_comes_later(&hash, tries, "it was asked for with too little room");
            }
            FileFailure::Disk { code } => {
                if tries == 1 {
                    let text =
                        format!("file {hash} from {peer} does not get onto the disk: {code}");
                    self.context.warn(errors::FILE_NOT_STORED.code, text);
                }
                self.file_comes_later(&hash, tries, &code);
            }
            FileFailure::Gone => self.file_comes_later(&hash, tries, "the peer does not answer"),
        }
        Ok(())
    }

    /// Asks for a file again after a while, up to a maximum number of attempts.
    fn file_comes_later(&mut self, hash: &Hash, tries: u32, why: &str) {
        if tries < FILE_TRIES_MAX {
            self.intake.files.later(hash, self.context.now.monotonic);
            return;
        }
        let text = format!("file {hash} was asked for {tries} times: {why}");
        let rejection = errors::rejection(&errors::FILE_UNAVAILABLE, text);
        for item in self.intake.files.waiting_for(hash) {
            // A delivery of a peer that is away comes again. A proposal of such a peer waits until the peer is back.
            let waits_for_peer = self.intake.get(item).is_some_and(|waiting| {
                let peer = waiting.from.unwrap_or(self.context.my_id);
                matches!(waiting.goal, Goal::Verify { .. }) && !self.intake.resolutions.is_up(&peer)
            });
            if !waits_for_peer {
                let code = errors::FILE_UNAVAILABLE.code;
                self.leave_unanswered(item, code, rejection.clone());
            }
        }
        self.intake.files.later(hash, self.context.now.monotonic);
    }

    /// A user takes a file away.
    pub(crate) fn on_file_remove(
        &mut self,
        hash: Hash,
        token: Token,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let reply = match self.files.get(&hash, reads)? {
            None => Reply::Rejected(errors::unknown_file(&hash)),
            Some(row) if row.refs > 0 => {
                let text = format!("{} recorded transactions list file {hash}", row.refs);
                Reply::Rejected(errors::rejection(&errors::FILE_REFERENCED, text))
            }
            Some(_) if self.proposals.holds(&hash) => {
                let text = format!("a running flow has a transaction that lists file {hash}");
                Reply::Rejected(errors::rejection(&errors::FILE_IN_USE, text))
            }
            Some(_) => {
                self.files.set(hash, None, self.context.commits.next());
                self.context.round.then.push(Action::DropFile { hash });
                Reply::Done
            }
        };
        self.context.reply(token, reply);
        Ok(())
    }

    /// A user says whether a file is to be trusted.
    pub(crate) fn on_file_trust(
        &mut self,
        hash: Hash,
        trusted: bool,
        user: String,
        token: Token,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let reply = match self.files.get(&hash, reads)? {
            None => Reply::Rejected(errors::unknown_file(&hash)),
            Some(mut row) => {
                row.trusted = trusted;
                row.trust_by = Some(user);
                self.files
                    .set(hash, Some(row.clone()), self.context.commits.next());
                let record = Box::new(FileRecord { hash, row });
                let is_new = false;
                Reply::FileKnown { record, is_new }
            }
        };
        self.context.reply(token, reply);
        Ok(())
    }

    /// Answers a request for the record of a file.
    pub(crate) fn on_file_look(
        &mut self,
        hash: Hash,
        token: Token,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let reply = match self.files.get(&hash, reads)? {
            None => Reply::Rejected(errors::unknown_file(&hash)),
            Some(row) => {
                let record = Box::new(FileRecord { hash, row });
                let is_new = false;
                Reply::FileKnown { record, is_new }
            }
        };
        self.context.reply(token, reply);
        Ok(())
    }

    /// Whether the network allows a file of this size.
    pub(crate) fn check_file_size(&self, hash: &Hash, size: u64) -> Result<(), Rejection> {
        let max = self
            .context
            .identity
            .network
            .parameters()
            .max_attachment_bytes;
        if size <= max {
            return Ok(());
        }
        let text = format!("file {hash} has {size} bytes; this network allows {max}");
        Err(errors::rejection(&errors::FILE_TOO_LARGE, text))
    }

    /// Whether the network allows a transaction that lists files of so many bytes together.
    pub(crate) fn check_files_size(&self, bytes: u64) -> Result<(), Rejection> {
        let parameters = self.context.identity.network.parameters();
        let max = parameters.max_transaction_attachment_bytes;
        if bytes <= max {
            return Ok(());
        }
        let text = format!(
            "the transaction's files have {bytes} bytes together; this network allows {max}"
        );
        Err(errors::rejection(&errors::FILES_TOO_LARGE, text))
    }
}
