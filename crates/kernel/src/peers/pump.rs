//! Turns the actions of the messaging's state machines into rows of the round's batch and messages after it, and reads rows back
//! for them.

use flow::SessionMessage;
use flow::messaging::{DeliveryAction, InboxAction, OutboxAction, PendingDelivery, RequestAction};
use ledger::{PartyId, TxId};
use primitives::{Decode, Encode, Encoder};

use crate::context::Context;
use crate::errors;
use crate::event::Priority;
use crate::ledger_book::Book;
use crate::message::{DELIVER_TRANSACTIONS_MAX, PeerMessage};
use crate::pages::row_page;
use crate::peers::along::{ALONG_BYTES_MAX, Parcel};
use crate::peers::links::Links;
use crate::peers::read_back::{ReadBack, decode_delivery, encode_delivery};
use crate::port::{Reads, StoreFailure, Table};
use crate::rows::{META_INBOUND, meta_key, peer_seq_key, prefix_end, seq_of};

/// The actions of the messaging's state machines.
struct MachineActions {
    inbox: Vec<InboxAction>,
    outbox: Vec<OutboxAction>,
    deliveries: Vec<DeliveryAction>,
    requests: Vec<RequestAction>,
}

impl Links {
    /// Carries out the actions of the state machines, until they have none.
    pub(crate) fn pump(
        &mut self,
        book: &Book,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        while let Some(actions) = self.take_actions() {
            for action in actions.inbox {
                self.on_inbox_action(action, context);
            }
            for action in actions.outbox {
                self.on_outbox_action(action, context);
            }
            for action in actions.deliveries {
                self.on_delivery_action(action, book, context, reads)?;
            }
            for action in actions.requests {
                on_request_action(action, context);
            }
        }
        Ok(())
    }

    /// Returns the actions of the state machines, if there are any.
    fn take_actions(&mut self) -> Option<MachineActions> {
        let actions = MachineActions {
            inbox: std::mem::take(&mut self.inbox_out),
            outbox: std::mem::take(&mut self.outbox_out),
            deliveries: std::mem::take(&mut self.delivery_out),
            requests: std::mem::take(&mut self.request_out),
        };
        let is_idle = actions.inbox.is_empty()
            && actions.outbox.is_empty()
            && actions.deliveries.is_empty()
            && actions.requests.is_empty();
        if is_idle {
            self.sizes.clear();
            return None;
        }
        Some(actions)
    }

    /// Handles an action of the inbox.
    fn on_inbox_action(&mut self, action: InboxAction, context: &mut Context) {
        match action {
            InboxAction::Deliver { peer, bytes } => {
                self.took(peer);
                match SessionMessage::from_bytes(&bytes) {
                    Ok(message) => self.pass_session(peer, message, context),
                    Err(error) => {
                        context.bad_message(peer, &format!("a session message: {error}"));
                    }
                }
            }
            InboxAction::StoreCursor { peer, epoch, upto } => {
                let mut e = Encoder::new();
                e.array(2);
                e.u64(epoch);
                e.u64(upto);
                let key = meta_key(META_INBOUND, peer.as_bytes());
                context
                    .round
                    .batch
                    .of::<Links>()
                    .put(Table::Meta, key, e.into_bytes());
            }
            InboxAction::Ack { peer, upto } => {
                context.send(peer, Priority::Normal, PeerMessage::SessionAck { upto });
            }
        }
    }

    /// Handles an action of the outbox.
    fn on_outbox_action(&mut self, action: OutboxAction, context: &mut Context) {
        match action {
            OutboxAction::Store { peer, seq, bytes } => {
                context.round.batch.of::<Links>().put(
                    Table::Outbox,
                    peer_seq_key(&peer, seq),
                    bytes,
                );
            }
            OutboxAction::Send { peer, seq, bytes } => {
                context.send(
                    peer,
                    Priority::Normal,
                    PeerMessage::Session { seq, body: bytes },
                );
            }
            OutboxAction::Delete { peer, from, upto } => {
                for seq in from..=upto {
                    context
                        .round
                        .batch
                        .of::<Links>()
                        .delete(Table::Outbox, peer_seq_key(&peer, seq));
                }
            }
            OutboxAction::Refill { peer, after, limit } => {
                let back = ReadBack::Outbox { peer, after, limit };
                self.read_backs.push_back((context.commits.next(), back));
            }
        }
    }

    /// Handles an action of the deliveries.
    fn on_delivery_action(
        &mut self,
        action: DeliveryAction,
        book: &Book,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        match action {
            DeliveryAction::Store {
                peer,
                seq,
                transaction,
            } => {
                let bytes = self.sizes.get(&transaction).copied().unwrap_or_default();
                let row = encode_delivery(&transaction, bytes);
                context.round.batch.of::<Links>().put(
                    Table::Deliveries,
                    peer_seq_key(&peer, seq),
                    row,
                );
            }
            DeliveryAction::Delete { peer, seq } => {
                context
                    .round
                    .batch
                    .of::<Links>()
                    .delete(Table::Deliveries, peer_seq_key(&peer, seq));
            }
            DeliveryAction::Send { peer, transactions } => {
                self.send_delivery(peer, &transactions, book, context, reads)?;
            }
            DeliveryAction::Refill { peer, after, limit } => {
                let back = ReadBack::Deliveries { peer, after, limit };
                self.read_backs.push_back((context.commits.next(), back));
            }
            DeliveryAction::Refused {
                peer,
                transaction,
                rejection,
            } => {
                let text = format!(
                    "it refuses transaction {transaction}: {} ({})",
                    rejection.message, rejection.code
                );
                context.complain(errors::DELIVERY_REFUSED.code, peer, &text);
            }
            DeliveryAction::AllAnswered { .. } => {}
        }
        Ok(())
    }

    fn send_delivery(
        &mut self,
        peer: PartyId,
        ids: &[TxId],
        book: &Book,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let along_max = ALONG_BYTES_MAX.min(context.message_limits.part());
        for ids in ids.chunks(DELIVER_TRANSACTIONS_MAX) {
            let mut transactions = Vec::with_capacity(ids.len());
            let mut parcel = Parcel::default();
            for id in ids {
                let Some(recorded) = book.get(id, reads)? else {
                    continue;
                };
                self.along
                    .add(peer, &recorded.transaction, along_max, &mut parcel);
                transactions.push(recorded.transaction.to_bytes());
            }
            if !transactions.is_empty() {
                let message = PeerMessage::Deliver {
                    transactions,
                    dependencies: parcel.transactions,
                };
                context.send(peer, Priority::Normal, message);
            }
        }
        Ok(())
    }

    /// Handles a round without a commit: read-backs that would have waited for its commit wait for the previous one.
    pub(crate) fn round_without_commit(&mut self, context: &Context) {
        let (next, handed) = (context.commits.next(), context.commits.handed());
        for (number, _) in &mut self.read_backs {
            if *number == next {
                *number = handed;
            }
        }
    }

    /// Reads rows back from the store whose commit is durable.
    pub(crate) fn read_back(
        &mut self,
        context: &Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        while self.has_read_backs() {
            let Some((_, back)) = self.read_backs.pop_front() else {
                break;
            };
            match back {
                ReadBack::Outbox { peer, after, limit } => {
                    let bytes_max = context.options.outbox.window_bytes_max;
                    let (rows, more) =
                        rows_after(reads, Table::Outbox, &peer, after, limit, bytes_max)?;
                    let now = context.now.monotonic;
                    self.outbox
                        .refilled(peer, rows, more, now, &mut self.outbox_out);
                }
                ReadBack::Deliveries { peer, after, limit } => {
                    let all = usize::MAX;
                    let (rows, more) =
                        rows_after(reads, Table::Deliveries, &peer, after, limit, all)?;
                    let rows = rows.into_iter().filter_map(|(seq, value)| {
                        let (transaction, bytes) = decode_delivery(&value)?;
                        Some(PendingDelivery {
                            seq,
                            transaction,
                            bytes,
                        })
                    });
                    let rows = rows.collect();
                    self.deliveries.refilled(peer, rows, more);
                }
            }
        }
        Ok(())
    }
}

/// Sends a request.
fn on_request_action(action: RequestAction, context: &mut Context) {
    let RequestAction::Send {
        peer,
        id,
        service,
        body,
    } = action;
    let service = service as u8;
    let request = PeerMessage::Request { id, service, body };
    context.send(peer, Priority::Normal, request);
}

/// Rows with their numbers.
type Numbered = Vec<(u64, Vec<u8>)>;

/// Returns up to `limit` rows of a peer, of at most `bytes_max` together, and whether there are more. The caller needs to know
/// that: in the meantime the first of these rows may have been answered, so a short page does not show that it was the last.
fn rows_after(
    reads: &dyn Reads,
    table: Table,
    peer: &PartyId,
    after: u64,
    limit: usize,
    bytes_max: usize,
) -> Result<(Numbered, bool), StoreFailure> {
    let to = prefix_end(peer.as_bytes());
    // Nothing comes after the last number, which no peer reaches.
    let from = peer_seq_key(peer, after.saturating_add(1));
    let page = row_page(reads, table, from, to.as_deref(), limit, bytes_max)?;
    let rows = page.rows.into_iter();
    let rows = rows.filter_map(|(key, value)| Some((seq_of(&key)?, value)));
    Ok((rows.collect(), page.more))
}
