//! The starts that wait for a place, first come first served, found by flow and by client id.

use std::collections::{BTreeMap, HashMap};

use flow::FlowId;
use primitives::Hash;

use crate::event::{Start, Token, Wait};

/// A start that waits.
#[derive(Debug)]
pub(crate) struct Queued {
    /// The start.
    pub start: Start,
    /// The key of its client id and the digest of the start.
    pub client: Option<(Hash, Hash)>,
    /// Who asked for the same start since.
    pub also: Vec<(Token, Wait)>,
}

/// See the module. Its length is bounded by the option `start_queue_max`, the waits by the shell's connections.
#[derive(Debug, Default)]
pub(crate) struct StartQueue {
    next: u64,
    starts: BTreeMap<u64, Queued>,
    by_flow: HashMap<FlowId, u64>,
    by_client: HashMap<Hash, u64>,
}

impl StartQueue {
    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    pub(crate) fn push(&mut self, start: Start, client: Option<(Hash, Hash)>) {
        let number = self.next;
        self.next += 1;
        self.by_flow.insert(start.flow, number);
        if let Some((key, _)) = client {
            self.by_client.insert(key, number);
        }
        self.starts.insert(
            number,
            Queued {
                start,
                client,
                also: Vec::new(),
            },
        );
    }

    pub(crate) fn pop(&mut self) -> Option<Queued> {
        let number = *self.starts.first_key_value()?.0;
        self.take(number)
    }

    /// Takes a start back.
    pub(crate) fn remove(&mut self, flow: &FlowId) -> Option<Queued> {
        let number = *self.by_flow.get(flow)?;
        self.take(number)
    }

    fn take(&mut self, number: u64) -> Option<Queued> {
        let queued = self.starts.remove(&number)?;
        self.by_flow.remove(&queued.start.flow);
        if let Some((key, _)) = queued.client {
            self.by_client.remove(&key);
        }
        Some(queued)
    }

    pub(crate) fn by_flow(&mut self, flow: &FlowId) -> Option<&mut Queued> {
        self.starts.get_mut(self.by_flow.get(flow)?)
    }

    pub(crate) fn by_client(&mut self, key: &Hash) -> Option<&mut Queued> {
        self.starts.get_mut(self.by_client.get(key)?)
    }
}
