//! The starts that wait for a place, first come first served, found by flow and by client id.

use std::collections::BTreeMap;

use flow::FlowId;
use primitives::Hash;
use primitives::collections::HashMap;

use crate::event::{Start, Token, Wait};
use crate::schedule::table::Due;

/// A start that waits.
#[derive(Debug)]
pub(crate) struct Queued {
    /// The start.
    pub start: Start,
    /// The key of its client id and the digest of the start.
    pub client: Option<(Hash, Hash)>,
    /// The clients that wait: the one that started the flow, unless it has detached, and those that repeated the start.
    pub waits: Vec<(Token, Wait)>,
    /// The row of the schedule that it comes from, if a state has scheduled it.
    pub scheduled: Option<Due>,
}

/// The starts that wait for a place. Its length is bounded by the option `start_queue_max`, the waits by the shell's connections.
#[derive(Debug, Default)]
pub(crate) struct StartQueue {
    next: u64,
    starts: BTreeMap<u64, Queued>,
    by_flow: HashMap<FlowId, u64>,
    by_client: HashMap<Hash, u64>,
    by_token: HashMap<Token, u64>,
    args_bytes: usize,
}

impl StartQueue {
    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Returns the bytes of their arguments.
    pub(super) fn args_bytes(&self) -> usize {
        self.args_bytes
    }

    /// Returns the first start in the queue.
    pub(crate) fn first(&self) -> Option<&Start> {
        self.starts.first_key_value().map(|(_, first)| &first.start)
    }

    pub(crate) fn push(&mut self, start: Start, client: Option<(Hash, Hash)>) {
        let waits = vec![(start.token, start.wait)];
        self.push_queued(Queued {
            start,
            client,
            waits,
            scheduled: None,
        });
    }

    pub(super) fn push_queued(&mut self, queued: Queued) {
        let number = self.next;
        self.next += 1;
        self.by_flow.insert(queued.start.flow, number);
        if let Some((key, _)) = queued.client {
            self.by_client.insert(key, number);
        }
        for (token, _) in &queued.waits {
            self.by_token.insert(*token, number);
        }
        self.args_bytes += queued.start.args.len();
        self.starts.insert(number, queued);
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

    /// Takes out all starts that no schedule asked for.
    pub(super) fn take_unscheduled(&mut self) -> Vec<Queued> {
        let starts = self.starts.iter();
        let numbers: Vec<u64> = starts
            .filter(|(_, queued)| queued.scheduled.is_none())
            .map(|(number, _)| *number)
            .collect();
        numbers
            .into_iter()
            .filter_map(|number| self.take(number))
            .collect()
    }

    fn take(&mut self, number: u64) -> Option<Queued> {
        let queued = self.starts.remove(&number)?;
        self.args_bytes -= queued.start.args.len();
        self.by_flow.remove(&queued.start.flow);
        if let Some((key, _)) = queued.client {
            self.by_client.remove(&key);
        }
        for (token, _) in &queued.waits {
            self.by_token.remove(token);
        }
        Some(queued)
    }

    pub(crate) fn contains(&self, flow: &FlowId) -> bool {
        self.by_flow.contains_key(flow)
    }

    pub(super) fn by_client(&self, key: &Hash) -> Option<&Queued> {
        self.starts.get(self.by_client.get(key)?)
    }

    /// Adds a client that waits for a queued start.
    pub(crate) fn wait(&mut self, flow: &FlowId, token: Token, wait: Wait) {
        if let Some(number) = self.by_flow.get(flow)
            && let Some(queued) = self.starts.get_mut(number)
        {
            queued.waits.push((token, wait));
            self.by_token.insert(token, *number);
        }
    }

    /// Removes a client that no longer waits. The start keeps its place.
    pub(super) fn detach(&mut self, token: Token) {
        if let Some(number) = self.by_token.remove(&token)
            && let Some(queued) = self.starts.get_mut(&number)
        {
            queued.waits.retain(|(t, _)| *t != token);
        }
    }
}
