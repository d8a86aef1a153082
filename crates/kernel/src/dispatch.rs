//! The events of the kernel, each passed to the part that it is for.

use crate::command::{IntakeCommand, NotaryCommand};
use crate::event::{Event, Reply};
use crate::files::{Participation, Stored};
use crate::kernel::Kernel;
use crate::notes::NewNote;
use crate::port::{Reads, StoreFailure};

impl Kernel {
    /// Passes an event to its part.
    pub(crate) fn dispatch(&mut self, event: Event, reads: &dyn Reads) -> Result<(), StoreFailure> {
        match event {
            Event::Start(start) => {
                let older_copy = self.integrity.rollback.as_ref();
                let older_copy = older_copy.map(|row| row.data_until);
                let (deliveries, context) = (&self.links.unanswered, &mut self.context);
                self.flows
                    .on_start(*start, older_copy, deliveries, context, reads)?;
            }
            Event::Attach { flow, wait, token } => {
                let (deliveries, context) = (&self.links.unanswered, &mut self.context);
                self.flows.on_attach(flow, wait, token, deliveries, context);
            }
            Event::Detach { token } => self.flows.detach(token),
            Event::Cancel { flow, token } => self.on_cancel(flow, token, reads)?,
            Event::Order {
                order,
                filter,
                after,
                dry_run,
                token,
            } => self.on_order(order, &filter, after, (dry_run, token), reads)?,
            Event::Flows {
                filter,
                after,
                limit,
                token,
            } => {
                let ids = self.flows.engine().flow_ids();
                let ids = ids
                    .iter()
                    .filter(|id| after.is_none_or(|after| **id > after));
                let flows = ids
                    .filter_map(|id| self.flows.engine().status(id))
                    .filter(|status| filter.meets(status, self.context.now.wall))
                    .take(limit)
                    .collect();
                self.context.reply(token, Reply::Flows(flows));
            }
            Event::Locks { of, limit, token } => {
                let of: Vec<[u8; 16]> = of.into_iter().map(|flow| flow.0).collect();
                let of = (!of.is_empty()).then_some(of.as_slice());
                let (locks, more) = self.selection.locks(of, limit);
                self.context.reply(token, Reply::Locks { locks, more });
            }
            Event::RemoveClient {
                user,
                client_id,
                token,
            } => {
                let context = &mut self.context;
                self.flows
                    .on_remove_client(&user, &client_id, token, context, reads)?;
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
            Event::PeerDown { peer } => self.on_peer_down(peer),
            Event::Message { peer, bytes } => self.on_message(peer, bytes, reads)?,
            Event::Committed { number } => self.on_committed(number),
            Event::Refilled {
                token,
                rows,
                view_seq,
                total,
                more,
            } => {
                let out = self.selection.refilled(
                    token,
                    rows,
                    view_seq,
                    total,
                    more,
                    self.context.now.monotonic,
                );
                self.on_selection(out);
            }
            Event::LookedUp {
                flow,
                effect,
                found,
            } => self.on_looked_up((flow, effect), found, reads)?,
            Event::UniquenessChecked { number, answer } => {
                let answer = answer?;
                let command = NotaryCommand::UniquenessChecked { number, answer };
                self.carry(command.into(), reads)?;
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
                self.carry(command.into(), reads)?;
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
                self.carry(command.into(), reads)?;
            }
            Event::FilePermit {
                peer,
                hash,
                transaction,
            } => {
                let others = Participation {
                    engine: self.flows.engine(),
                    book: &self.book,
                    unanswered: &self.links.unanswered,
                    keys: &self.keys,
                };
                let context = &mut self.context;
                self.files
                    .on_permit(peer, hash, &transaction, &others, context, reads)?
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
            Event::Integrity { order, token } => self.on_integrity(order, token),
            Event::Tick => {}
            Event::Drain => self.flows.drain(),
        }
        Ok(())
    }
}
