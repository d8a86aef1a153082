//! The events of the kernel, each passed to the part that it is for.

use ledger::PartyId;
use primitives::Decode;

use crate::command::{
    FlowsCommand, IntakeCommand, IntegrityCommand, NotaryCommand, SelectionCommand,
};
use crate::event::{Event, Reply};
use crate::files::{Participation, PermitRequest, Stored};
use crate::kernel::Kernel;
use crate::message::PeerMessage;
use crate::notes::NewNote;
use crate::peers::budget::Door;
use crate::peers::messages::Duties;
use crate::port::{Reads, StoreFailure};

impl Kernel {
    /// Passes an event to its part.
    pub(super) fn dispatch(&mut self, event: Event, reads: &dyn Reads) -> Result<(), StoreFailure> {
        match event {
            Event::Start(start) => self.carry(FlowsCommand::Start(start), reads)?,
            Event::Attach { flow, wait, token } => {
                self.carry(FlowsCommand::Attach { flow, wait, token }, reads)?;
            }
            Event::Detach { token } => self.carry(FlowsCommand::Detach { token }, reads)?,
            Event::Cancel { flow, token } => {
                self.carry(FlowsCommand::Cancel { flow, token }, reads)?;
            }
            Event::Order {
                order,
                filter,
                after,
                dry_run,
                token,
            } => {
                let order = FlowsCommand::Order {
                    order,
                    filter,
                    after,
                    dry_run,
                    token,
                };
                self.carry(order, reads)?;
            }
            Event::Flows {
                filter,
                after,
                limit,
                token,
            } => {
                let context = &mut self.context;
                self.flows.list(&filter, after, limit, token, context);
            }
            Event::Locks { of, limit, token } => {
                let (locks, more) = self.selection.locks(&of, limit);
                self.context.reply(token, Reply::Locks { locks, more });
            }
            Event::RemoveClient {
                user,
                client_id,
                token,
            } => {
                let remove = FlowsCommand::RemoveClient {
                    user,
                    client_id,
                    token,
                };
                self.carry(remove, reads)?;
            }
            Event::Note {
                transaction,
                salt,
                user,
                text,
                token,
            } => {
                let recorded = self.book.contains(&transaction, reads)?;
                let new = NewNote {
                    transaction,
                    salt,
                    user,
                    text,
                };
                let context = &mut self.context;
                self.notes.add(new, recorded, token, context, reads)?;
            }
            Event::RemoveNote {
                transaction,
                note,
                token,
            } => {
                let context = &mut self.context;
                self.notes
                    .remove(transaction, note, token, context, reads)?;
            }
            Event::PeerUp { peer, epoch } => self.on_peer_up(peer, epoch, reads)?,
            Event::PeerDown { peer } => self.on_peer_down(&peer),
            Event::Message { peer, bytes } => self.on_message(peer, bytes, reads)?,
            Event::Committed { number } => self.on_committed(number, reads)?,
            Event::Refilled {
                token,
                rows,
                view_seq,
                total,
                more,
            } => {
                let refilled = SelectionCommand::Refilled {
                    token,
                    rows,
                    view_seq,
                    total,
                    more,
                };
                self.carry(refilled, reads)?;
            }
            Event::LookedUp {
                flow,
                effect,
                found,
            } => {
                let effect = (flow, effect);
                self.carry(FlowsCommand::LookedUp { effect, found }, reads)?;
            }
            Event::Recall {
                outcome,
                wait,
                token,
            } => {
                let recall = FlowsCommand::Recall {
                    outcome,
                    wait,
                    token,
                };
                self.carry(recall, reads)?;
            }
            Event::HistoryLookedUp { found } => {
                let found = found?;
                self.carry(FlowsCommand::HistoryLookedUp { found }, reads)?;
            }
            Event::UniquenessChecked { number, outcome } => {
                let outcome = outcome?;
                let command = NotaryCommand::UniquenessChecked { number, outcome };
                self.carry(command, reads)?;
            }
            Event::SignaturesChecked { batch, good } => {
                let verdicts = self.context.put_off_checked(&batch, &good);
                self.tell_owners(verdicts, reads)?;
            }
            Event::Consents {
                change,
                user,
                token,
            } => self
                .consents
                .on_change(change, user, token, &mut self.context),
            Event::FileStored {
                hash,
                size,
                name,
                media_type,
                user,
                token,
            } => {
                let stored = Stored {
                    hash,
                    size,
                    name,
                    media_type,
                    user,
                };
                self.files
                    .on_stored(stored, token, &mut self.context, reads)?;
            }
            Event::FileArrived {
                hash,
                size,
                name,
                media_type,
                peer,
            } => self.files.on_arrived(
                hash,
                size,
                (&name, &media_type),
                peer,
                &mut self.context,
                reads,
            )?,
            Event::FileOffered { hash, peer, size } => {
                let command = IntakeCommand::FileOffered { hash, peer, size };
                self.carry(command, reads)?;
            }
            Event::FileFailed {
                hash,
                peer,
                failure,
            } => {
                let command = IntakeCommand::FileFailed {
                    hash,
                    peer,
                    failure,
                };
                self.carry(command, reads)?;
            }
            Event::FilePermit {
                peer,
                hash,
                transaction,
            } => {
                let request = PermitRequest {
                    peer,
                    hash,
                    transaction,
                };
                if !self.files.puts_off(request, &self.context) {
                    self.decide_permit(request, reads)?;
                }
            }
            Event::FileRemove { hash, token } => {
                self.files
                    .on_remove(hash, token, &mut self.context, reads)?
            }
            Event::FileTrust {
                hash,
                trusted,
                user,
                token,
            } => self
                .files
                .on_trust(hash, trusted, user, token, &mut self.context, reads)?,
            Event::FileLook { hash, token } => {
                self.files.on_look(hash, token, &mut self.context, reads)?
            }
            Event::ConfirmClock { user, token } => {
                self.clock.on_confirmed(&user, token, &mut self.context);
            }
            Event::AuditMarked(mark) => self.folder.on_audited(&mark, &mut self.context),
            Event::Integrity { order, token } => {
                self.carry(IntegrityCommand::Order { order, token }, reads)?;
            }
            Event::Tick => {}
            Event::Drain => self.flows.drain(),
        }
        Ok(())
    }

    fn on_peer_up(
        &mut self,
        peer: PartyId,
        epoch: u64,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        self.clock.peer_up(peer);
        self.context.forget_backlog(&peer);
        self.links.peer_up(peer, epoch, self.context.now.monotonic);
        self.back_chains.peer_up(peer);
        self.intake.peer_up(peer);
        self.carry(IntegrityCommand::SendStanding { peer }, reads)
    }

    fn on_peer_down(&mut self, peer: &PartyId) {
        self.clock.peer_down(peer);
        self.context.forget_backlog(peer);
        self.links.peer_down(*peer, self.context.now.monotonic);
        self.integrity.peer_down(peer);
        self.back_chains.peer_down(peer);
        self.intake.peer_down(*peer, &mut self.context);
    }

    fn on_message(
        &mut self,
        peer: PartyId,
        bytes: Vec<u8>,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        match self.context.arrived(peer, bytes) {
            Door::Handle(bytes) => self.take_message(peer, &bytes, reads),
            Door::Kept => Ok(()),
        }
    }

    /// Returns whether session messages may be taken.
    fn takes_sessions(&self) -> bool {
        self.integrity.is_rolled_back() || self.flows.is_witnessed()
    }

    /// Handles messages and requests for files of earlier rounds, within each peer's share of this one.
    pub(super) fn take_deferred_messages(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        if self.takes_sessions() {
            self.links.take_all_untaken();
        }
        while let Some((peer, bytes)) = self.context.next_deferred() {
            self.take_message(peer, &bytes, reads)?;
            self.proceed(reads)?;
        }
        while let Some(request) = self.files.next_permit(&self.context) {
            self.decide_permit(request, reads)?;
        }
        Ok(())
    }

    fn decide_permit(
        &mut self,
        request: PermitRequest,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let others = Participation {
            engine: self.flows.engine(),
            book: &self.book,
            unanswered: self.links.unanswered(),
            keys: &self.keys,
        };
        let context = &mut self.context;
        self.files.on_permit(request, &others, context, reads)
    }

    fn take_message(
        &mut self,
        peer: PartyId,
        bytes: &[u8],
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        match PeerMessage::from_bytes(bytes) {
            Ok(message) => self.on_peer_message(peer, message, reads),
            Err(error) => {
                self.context.bad_message(peer, &error.to_string());
                Ok(())
            }
        }
    }

    /// Handles a message of a peer, or one of this node to itself.
    pub(super) fn on_peer_message(
        &mut self,
        peer: PartyId,
        message: PeerMessage,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let duties = Duties {
            takes_sessions: self.takes_sessions(),
            is_notary: self.notarisation.is_some(),
        };
        let context = &mut self.context;
        self.links.on_message(peer, message, duties, context);
        self.route(reads)
    }
}
