//! The notary of this node: its engine, the requests that wait for a decision, and its rows.

use std::collections::BTreeMap;

use flow::messaging::RequestId;
use ledger::{PartyId, StateRef, TxId};
use notary::{
    Notary, NotaryOptions, Request, RequestRecord, RequesterFigures, UniquenessAnswer,
    UniquenessCheck,
};
use primitives::{Coded, Encode, Monotonic, Timestamp};
use thiserror::Error;

use crate::context::Context;
use crate::errors;
use crate::notarisation::whole::Wholes;
use crate::part::Part;
use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::rows::{META_JUDGED, META_NOTARY_ACCEPTED, state_ref_key};
use crate::writes::{Batch, RowRange, Writer};

/// The state of a notary: its requests and their decisions.
pub(crate) struct Notarisation {
    pub(super) notary: Notary,
    /// Several notaries share one record of consumed states, so this node's store has none of it.
    pub(super) is_shared: bool,
    /// Whole transactions that are not decided yet.
    pub(super) wholes: Wholes,
    /// The number of transactions accepted in all.
    pub(super) accepted: u64,
    next: u64,
    /// Requests whose requester's signature is being checked in this round.
    pub(super) checking: BTreeMap<u64, Request>,
    /// The requester of each request, and its id there.
    asked_by: BTreeMap<u64, (PartyId, RequestId)>,
}

impl Writer for Notarisation {
    const ROWS: &'static [RowRange] = &[
        RowRange::table(Table::NotaryStates),
        RowRange::table(Table::NotaryTxs),
        RowRange::meta(META_JUDGED),
        RowRange::meta(META_NOTARY_ACCEPTED),
    ];
}

impl Part for Notarisation {
    fn committed(&mut self, upto: u64, now: Monotonic) {
        self.notary.committed(upto, now);
    }

    fn next_time(&self, _: Monotonic) -> Option<Monotonic> {
        self.wholes.next_due()
    }
}

impl Notarisation {
    /// Creates the service of a notary without requests.
    pub(crate) fn new(
        options: NotaryOptions,
        me: ledger::Party,
        judged: Timestamp,
        accepted: u64,
    ) -> Self {
        Self {
            is_shared: options.is_shared,
            notary: Notary::new(options, me, judged),
            wholes: Wholes::default(),
            accepted,
            next: 0,
            checking: BTreeMap::new(),
            asked_by: BTreeMap::new(),
        }
    }

    /// Judges windows while the machine's clock is trusted. When the trust returns, time windows are judged by the clock as it is,
    /// although it may have been ahead at earlier judgements.
    pub(crate) fn follow_clock(&mut self, is_trusted: bool, context: &mut Context) {
        if !is_trusted {
            self.notary.doubt_clock();
            return;
        }
        let Some(wall) = self.notary.trust_clock(context.now.wall) else {
            return;
        };
        let mut batch = context.round.batch.of::<Notarisation>();
        batch.put(Table::Meta, META_JUDGED, wall.to_bytes());
        let text = format!(
            "time windows were judged at a later time than {wall}, which the confirmed clock shows; they are judged from then on"
        );
        context.warn(errors::CLOCK_JUMPED.code, text);
    }

    /// Returns whether several notaries share one record of consumed states.
    pub(crate) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Returns whether a batch of waiting requests can be looked up in the store now.
    pub(crate) fn can_ask(&self) -> bool {
        self.notary.can_ask()
    }

    /// Returns whether this notary has accepted a transaction.
    pub(crate) fn has_accepted(&self, id: &TxId, reads: &dyn Reads) -> Result<bool, StoreFailure> {
        Ok(self.notary.remembers(id) || is_accepted(id, reads)?)
    }

    /// Returns the transaction that consumed a state.
    pub(super) fn consumer(
        &self,
        state: &StateRef,
        reads: &dyn Reads,
    ) -> Result<Option<TxId>, StoreFailure> {
        match self.notary.remembered_consumer(state) {
            Some(consumer) => Ok(Some(consumer)),
            None => consumer_of(state, reads),
        }
    }

    /// Returns whether windows were judged at a later time than the clock shows. It was set then while the node was down.
    pub(crate) fn contradicts_judgements(&self, wall: Timestamp) -> bool {
        self.notary.contradicts_judgements(wall)
    }

    /// Returns how far the clock is behind the latest judgement, in milliseconds.
    pub(crate) fn clock_behind_ms(&self, wall: Timestamp) -> u64 {
        self.notary.clock_behind_ms(wall)
    }

    /// Returns the figures of each requester.
    pub(crate) fn requesters(&self) -> impl Iterator<Item = (PartyId, RequesterFigures)> + '_ {
        self.notary.requesters()
    }

    /// Gives a request its number, and remembers where the answer goes.
    pub(super) fn number(&mut self, peer: PartyId, id: RequestId) -> u64 {
        let number = self.next;
        self.next += 1;
        self.asked_by.insert(number, (peer, id));
        number
    }

    /// Takes out the requester of a request that is answered now.
    pub(super) fn answered(&mut self, number: u64) -> Option<(PartyId, RequestId)> {
        self.asked_by.remove(&number)
    }

    /// Requests that wait.
    pub(crate) fn queued(&self) -> usize {
        self.notary.figures().queued_requests
    }
}

/// A request is not the requester's own.
#[derive(Debug, Error)]
#[error("the request names another requester or key than the node that sent it")]
pub(super) struct NotTheRequester;

impl Coded for NotTheRequester {
    fn code(&self) -> &'static str {
        errors::REQUESTER_MISMATCHED.code
    }

    fn hint(&self) -> &'static str {
        errors::REQUESTER_MISMATCHED.action
    }
}

/// Answers a notary's question from the rows of its store. It may be called on any thread.
///
/// # Errors
/// A row could not be read.
pub fn check_uniqueness(
    check: &UniquenessCheck,
    reads: &dyn Reads,
) -> Result<UniquenessAnswer, StoreFailure> {
    let mut answer = UniquenessAnswer::default();
    for id in &check.transactions {
        if is_accepted(id, reads)? {
            answer.accepted.insert(*id);
        }
    }
    for state in &check.states {
        if let Some(consumer) = consumer_of(state, reads)? {
            answer.consumers.insert(*state, consumer);
        }
    }
    Ok(answer)
}

fn consumer_of(state: &StateRef, reads: &dyn Reads) -> Result<Option<TxId>, StoreFailure> {
    let row = reads.get(Table::NotaryStates, &state_ref_key(state))?;
    row.map(|row| {
        <[u8; 32]>::try_from(&row[..])
            .map_err(|_| damaged(format!("the consumer of the state {state}")))
    })
    .transpose()
    .map(|consumer| consumer.map(TxId::from_array))
}

fn is_accepted(transaction: &TxId, reads: &dyn Reads) -> Result<bool, StoreFailure> {
    let row = reads.get(Table::NotaryTxs, transaction.as_bytes())?;
    Ok(row.is_some())
}

/// Writes the consumer of a state.
pub(super) fn put_consumer(state: &StateRef, consumer: &TxId, batch: &mut Batch) {
    let value = consumer.as_bytes().to_vec();
    batch
        .of::<Notarisation>()
        .put(Table::NotaryStates, state_ref_key(state), value);
}

/// Writes the record of the request for a notarised transaction.
pub(super) fn put_record(transaction: &TxId, record: &RequestRecord, batch: &mut Batch) {
    let key = transaction.as_bytes().to_vec();
    batch
        .of::<Notarisation>()
        .put(Table::NotaryTxs, key, record.to_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_store::FakeStore;

    #[test]
    fn a_damaged_row_of_a_consumer_does_not_count_as_unconsumed() {
        let state = StateRef {
            tx: TxId::from_array([1; 32]),
            index: 0,
        };
        let mut store = FakeStore::default();
        let mut put = |bytes: &[u8]| {
            let mut batch = Batch::default();
            batch.of::<Notarisation>().put(
                Table::NotaryStates,
                state_ref_key(&state),
                bytes.to_vec(),
            );
            store.apply(batch);
            consumer_of(&state, &store)
        };
        assert_eq!(put(&[7; 32]).ok(), Some(Some(TxId::from_array([7; 32]))));
        for damaged in [&[][..], &[7; 31], &[7; 33]] {
            let failure = put(damaged).expect_err("damage");
            assert_eq!(failure.code, errors::DAMAGED.code);
        }
    }
}
