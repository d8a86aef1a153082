//! Writes rows directly as bytes. Data that the ledger holds is written by reference.

use ledger::{PartyId, Rejection, StateRef};
use primitives::{Encode, Encoder};

use super::row::ROW_VERSION;
use crate::{EffectKind, EffectResult, FlowError, StartRecord};

/// Writes a row, entry by entry.
pub(crate) struct RowWriter {
    encoder: Encoder,
    entries: u32,
}

impl RowWriter {
    pub(crate) fn new() -> RowWriter {
        let mut encoder = Encoder::with_capacity(256);
        encoder.u64(ROW_VERSION.into());
        RowWriter {
            encoder,
            entries: 0,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// Returns the current length: bytes and entries.
    pub(crate) fn mark(&self) -> (usize, u32) {
        (self.encoder.len(), self.entries)
    }

    /// Removes and returns everything written after a mark.
    pub(crate) fn split_off(&mut self, (bytes, entries): (usize, u32)) -> Vec<u8> {
        let mut written = std::mem::replace(&mut self.encoder, Encoder::new()).into_bytes();
        let taken = written.split_off(bytes.min(written.len()));
        self.encoder.raw(&written);
        self.entries = entries;
        taken
    }

    /// Appends an entry that was removed from a row.
    pub(crate) fn again(&mut self, entry: &[u8]) {
        self.entries += 1;
        self.encoder.raw(entry);
    }

    /// Returns the finished row.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.encoder.into_bytes()
    }

    fn entry(&mut self, tag: u64, fields: usize) -> &mut Encoder {
        self.entries += 1;
        self.encoder.array(fields + 1);
        self.encoder.u64(tag);
        &mut self.encoder
    }

    pub(crate) fn start(&mut self, record: &StartRecord) {
        record.encode(self.entry(0, 1));
    }

    pub(crate) fn result(
        &mut self,
        effect: u32,
        kind: EffectKind,
        digest: u64,
        result: &EffectResult,
        consumed: &[StateRef],
    ) {
        let e = self.entry(1, 4);
        e.u64(effect.into());
        e.u64(kind as u64);
        e.u64(digest);
        match result {
            EffectResult::Response(bytes) => tagged_bytes(e, 0, bytes),
            EffectResult::States(states) => {
                e.array(2);
                e.u64(1);
                e.array(states.len());
                states.iter().for_each(|s| s.reference.encode(e));
            }
            EffectResult::Done if kind == EffectKind::Record => {
                e.array(2);
                e.u64(3);
                encode_list(consumed, e);
            }
            EffectResult::Done => {
                e.array(1);
                e.u64(2);
            }
            EffectResult::Signature(signature) => {
                e.array(2);
                e.u64(4);
                signature.encode(e);
            }
            EffectResult::Transaction(found) => {
                e.array(2);
                e.u64(5);
                match found {
                    Some(transaction) => transaction.id().encode(e),
                    None => e.null(),
                }
            }
            EffectResult::External(bytes) => tagged_bytes(e, 6, bytes),
            EffectResult::Failed(error) => {
                e.array(2);
                e.u64(7);
                error.to_rejection().encode(e);
            }
        }
    }

    pub(crate) fn fact(&mut self, effect: u32, value: u64) {
        let e = self.entry(2, 2);
        e.u64(effect.into());
        e.u64(value);
    }

    pub(crate) fn opened(&mut self, session: u32, peer: &PartyId) {
        let e = self.entry(3, 2);
        e.u64(session.into());
        peer.encode(e);
    }

    pub(crate) fn received(&mut self, session: u32, index: u32, payload: &[u8], last: bool) {
        let e = self.entry(4, 4);
        e.u64(session.into());
        e.u64(index.into());
        e.bytes(payload);
        e.bool(last);
    }

    pub(crate) fn peer_ended(&mut self, session: u32, index: u32, error: Option<&Rejection>) {
        let e = self.entry(5, 3);
        e.u64(session.into());
        e.u64(index.into());
        match error {
            Some(error) => error.encode(e),
            None => e.null(),
        }
    }

    pub(crate) fn confirmed(&mut self, session: u32, version: u32) {
        let e = self.entry(6, 2);
        e.u64(session.into());
        e.u64(version.into());
    }

    pub(crate) fn sub_flow_ended(
        &mut self,
        effect: u32,
        digest: u64,
        result: Result<&[u8], &FlowError>,
    ) {
        let e = self.entry(7, 3);
        e.u64(effect.into());
        e.u64(digest);
        match result {
            Ok(bytes) => tagged_bytes(e, 0, bytes),
            Err(error) => {
                e.array(2);
                e.u64(1);
                error.to_rejection().encode(e);
            }
        }
    }

    pub(crate) fn kill_asked(&mut self) {
        self.entry(8, 0);
    }

    pub(crate) fn scope(&mut self, effect: u32, scope: u16) {
        let e = self.entry(9, 2);
        e.u64(effect.into());
        e.u64(scope.into());
    }

    pub(crate) fn deferred(&mut self) {
        self.entry(11, 0);
    }

    pub(crate) fn check(&mut self, value: u64) {
        self.entry(10, 1).u64(value);
    }
}

fn tagged_bytes(e: &mut Encoder, tag: u64, bytes: &[u8]) {
    e.array(2);
    e.u64(tag);
    e.bytes(bytes);
}

fn encode_list<T: Encode>(items: &[T], e: &mut Encoder) {
    e.array(items.len());
    items.iter().for_each(|item| item.encode(e));
}
