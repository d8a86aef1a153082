//! Transactions that wait for files: the peers that are asked, and the ends of the waits.

use ledger::{PartyId, SignedTransaction};
use primitives::Hash;

use crate::back_chains::BackChains;
use crate::command::IntakeCommand;
use crate::context::Context;
use crate::errors;
use crate::event::Action;
use crate::files::limits::{check_file_size, check_files_size, files_of};
use crate::files::requests::{FILE_TRIES_MAX, MISMATCH_WEIGHT, Waiter};
use crate::files::{FileFailure, FilesFound};
use crate::intake::classify::with_parameters;
use crate::intake::fault::Fault;
use crate::intake::goal::Goal;
use crate::intake::item_id::ItemId;
use crate::intake::items::Intake;
use crate::round::Work;

impl Intake {
    /// Lets the items continue that waited for a file. After an upload, a running request for the file is given up.
    pub(super) fn file_is_here(
        &mut self,
        hash: Hash,
        size: u64,
        is_upload: bool,
        context: &mut Context,
    ) {
        let (ready, is_asked) = self.files.arrived(&hash, size);
        context.work.extend(ready.into_iter().map(Work::Ready));
        if is_upload && is_asked {
            context.act(Action::AbandonFile { hash });
        }
        assert!(
            self.files.waiting_for(&hash).is_empty(),
            "items wait for file {hash}, which is here"
        );
    }

    /// Checks the size that a peer announces for a file. A file over the limits is refused before its bytes move.
    pub(super) fn file_offered(
        &mut self,
        hash: Hash,
        peer: PartyId,
        size: u64,
        context: &mut Context,
    ) {
        for item in self.files.offered(&hash, &peer, size) {
            let together = self.files.known_bytes(&item, None);
            self.refuse_if_too_large(item, &hash, size, together, context);
        }
    }

    /// Handles a file that does not come from the peer that was asked.
    pub(super) fn file_failed(
        &mut self,
        (hash, peer): (Hash, PartyId),
        failure: FileFailure,
        chains: &BackChains,
        context: &mut Context,
    ) {
        let Some(tries) = self.files.failed(&hash, &peer) else {
            return;
        };
        assert!(
            tries > 0,
            "a failed request for file {hash} was not counted"
        );
        context.figures.files_failed += 1;
        match failure {
            FileFailure::Unknown => {
                self.files.fault(peer, hash, 1, context.now.monotonic);
                let text = format!("the peer does not give file {hash}");
                let rejection = errors::rejection(&errors::FILE_UNAVAILABLE, text);
                for item in self.files.relying_on(&hash, &peer) {
                    leave_unanswered(item, errors::FILE_UNAVAILABLE.code, &rejection, context);
                }
            }
            FileFailure::Mismatch => {
                let now = context.now.monotonic;
                self.files.fault(peer, hash, MISMATCH_WEIGHT, now);
                let text = format!("the peer sent other bytes as file {hash}");
                let rejection = errors::rejection(&errors::FILE_MISMATCH, text);
                for item in self.files.relying_on(&hash, &peer) {
                    leave_unanswered(item, errors::FILE_MISMATCH.code, &rejection, context);
                }
            }
            FileFailure::TooLarge { size } => {
                for item in self.files.relying_on(&hash, &peer) {
                    let others = self.files.known_bytes(&item, Some(&hash));
                    // A sum that is too large for the type is over every limit, so it is clipped.
                    let together = others.saturating_add(size);
                    self.refuse_if_too_large(item, &hash, size, together, context);
                }
                // The file is not too large for the items that are left.
                let why = "it was requested with too small a size limit";
                self.file_comes_later((&hash, tries), why, chains, context);
            }
            FileFailure::Disk { code } => {
                if tries == 1 {
                    let name = context.name_of(&peer);
                    let text =
                        format!("file {hash} from {name} could not be stored on the disk: {code}");
                    context.warn(errors::FILE_NOT_STORED.code, text);
                }
                self.file_comes_later((&hash, tries), &code, chains, context);
            }
            FileFailure::Gone => {
                let why = "the peer does not answer";
                self.file_comes_later((&hash, tries), why, chains, context);
            }
        }
    }

    /// Asks for a file again after a while, up to a maximum number of attempts.
    fn file_comes_later(
        &mut self,
        (hash, tries): (&Hash, u32),
        why: &str,
        chains: &BackChains,
        context: &mut Context,
    ) {
        self.files.later(hash, context.now.monotonic);
        if tries < FILE_TRIES_MAX {
            return;
        }
        let text = format!("file {hash} was requested {tries} times without success: {why}");
        let rejection = errors::rejection(&errors::FILE_UNAVAILABLE, text);
        for item in self.files.waiting_for(hash) {
            // A delivery of a peer that is away comes again. A proposal of such a peer waits until the peer is back.
            let waits_for_peer = self.get(item).is_some_and(|waiting| {
                let peer = waiting.from.unwrap_or(context.my_id);
                matches!(waiting.goal, Goal::Verify { .. }) && !chains.is_up(&peer)
            });
            if !waits_for_peer {
                leave_unanswered(item, errors::FILE_UNAVAILABLE.code, &rejection, context);
            }
        }
    }

    /// Returns whether an item, valid but for that, is not to be settled now: it waits for its files, or is refused for them.
    pub(super) fn await_files(
        &mut self,
        item: ItemId,
        transaction: &SignedTransaction,
        found: FilesFound,
        context: &mut Context,
    ) -> bool {
        let mut here = found.here.iter();
        let too_large = here.find_map(|(hash, size)| check_file_size(hash, *size, context).err());
        if let Some(rejection) = too_large {
            let rejection = with_parameters(rejection, transaction, context);
            refuse(item, rejection, context);
            return true;
        }
        let here_bytes = found.bytes();
        if let Err(rejection) = check_files_size(here_bytes, context) {
            let rejection = with_parameters(rejection, transaction, context);
            context.command(IntakeCommand::RefuseForFiles { item, rejection });
            return true;
        }
        let Some(first) = found.missing.first().copied() else {
            return false;
        };
        let from = self.get(item).and_then(|waiting| waiting.from);
        let Some(peer) = from.filter(|peer| *peer != context.my_id) else {
            let text = format!("file {first} is not here");
            refuse(
                item,
                errors::rejection(&errors::FILE_MISSING, text),
                context,
            );
            return true;
        };
        let now = context.now.monotonic;
        let mut missing = found.missing.iter();
        if let Some(hash) = missing.find(|hash| self.files.is_barred(&peer, hash, now)) {
            let text = format!("the peer did not give file {hash} of late");
            let rejection = errors::rejection(&errors::FILE_UNAVAILABLE, text);
            leave_unanswered(item, errors::FILE_UNAVAILABLE.code, &rejection, context);
            return true;
        }
        let waiter = Waiter {
            peer,
            transaction: transaction.id(),
            missing: found.missing,
            here_bytes,
        };
        // Items that wait for this transaction need not wait for its files.
        for waiting in self.wait_for_files(item, waiter, context) {
            context.work.push_back(Work::Signed(waiting));
        }
        true
    }

    /// Returns the peer that sent an item, and the files that the item lists.
    pub(super) fn brought(&self, item: ItemId, context: &Context) -> Option<(PartyId, Vec<Hash>)> {
        let waiting = self.get(item)?;
        Some((waiting.from?, files_of(waiting.transaction.wire(), context)))
    }

    /// Requests the files that items wait for, and withdraws the requests for those that no item needs any more.
    pub(crate) fn ask_for_files(&mut self, context: &mut Context) {
        if !self.files.is_touched(context.now.monotonic) {
            return;
        }
        let (asks, abandoned) = self.files.tend(context.now.monotonic);
        let parameters = context.identity.network.parameters();
        let max = parameters.max_attachment_bytes;
        let together_max = parameters.max_transaction_attachment_bytes;
        for ask in asks {
            let others = self.files.known_bytes(&ask.item, Some(&ask.hash));
            context.act(Action::FetchFile {
                hash: ask.hash,
                peer: ask.peer,
                transaction: ask.transaction,
                // Nothing is left if the other files are over the limit. The peer's announcement is refused then.
                size_max: max.min(together_max.saturating_sub(others)),
            });
        }
        for hash in abandoned {
            context.act(Action::AbandonFile { hash });
        }
    }

    fn refuse_if_too_large(
        &self,
        item: ItemId,
        hash: &Hash,
        size: u64,
        together: u64,
        context: &mut Context,
    ) {
        let checked = check_file_size(hash, size, context);
        let checked = checked.and_then(|()| check_files_size(together, context));
        let (Err(rejection), Some(waiting)) = (checked, self.get(item)) else {
            return;
        };
        let rejection = with_parameters(rejection, &waiting.transaction, context);
        context.command(IntakeCommand::RefuseForFiles { item, rejection });
    }

    /// Returns the number of files that are waited for.
    pub(crate) fn files_awaited(&self) -> usize {
        self.files.len()
    }
}

fn refuse(item: ItemId, rejection: ledger::Rejection, context: &mut Context) {
    let fault = Fault::Local(rejection);
    context.command(IntakeCommand::Refuse { item, fault });
}

fn leave_unanswered(
    item: ItemId,
    code: &'static str,
    rejection: &ledger::Rejection,
    context: &mut Context,
) {
    let rejection = rejection.clone();
    context.command(IntakeCommand::LeaveUnanswered {
        item,
        code,
        rejection,
    });
}
