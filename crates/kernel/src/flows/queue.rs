//! The starts that wait for a place: those of clients, and apart from them those that states have scheduled. Of each kind, first come
//! first served. A counterparty decides how many states schedule a flow, so the two kinds take turns.

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

/// The numbers of queued starts that have run in a round.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RoundStarts {
    /// Starts of both kinds.
    pub(super) all: usize,
    /// Scheduled starts.
    pub(super) scheduled: usize,
}

/// The starts that wait for a place, found by flow and by client id. The number of clients' starts is bounded by the option
/// `start_queue_max`, that of scheduled ones by [`QUEUED_MAX`](crate::schedule::table::QUEUED_MAX), the waits by the shell's connections.
#[derive(Debug, Default)]
pub(crate) struct StartQueue {
    next: u64,
    clients: BTreeMap<u64, Queued>,
    scheduled: BTreeMap<u64, Queued>,
    /// Whether the last start that was taken in its turn was a scheduled one.
    last_scheduled: bool,
    by_flow: HashMap<FlowId, u64>,
    by_client: HashMap<Hash, u64>,
    by_token: HashMap<Token, u64>,
    /// Bytes of the arguments of clients' starts.
    args_bytes: usize,
}

impl StartQueue {
    /// Returns the number of starts of both kinds.
    pub(crate) fn len(&self) -> usize {
        self.clients.len() + self.scheduled.len()
    }

    /// Returns the number of clients' starts.
    pub(super) fn clients(&self) -> usize {
        self.clients.len()
    }

    /// Returns the bytes of the arguments of clients' starts.
    pub(super) fn args_bytes(&self) -> usize {
        self.args_bytes
    }

    /// Returns the first start of a client.
    pub(super) fn first_of_clients(&self) -> Option<&Start> {
        let first = self.clients.first_key_value();
        first.map(|(_, queued)| &queued.start)
    }

    /// Returns the first scheduled start.
    pub(super) fn first_scheduled(&self) -> Option<&Start> {
        let first = self.scheduled.first_key_value();
        first.map(|(_, queued)| &queued.start)
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
        if queued.scheduled.is_some() {
            self.scheduled.insert(number, queued);
        } else {
            self.args_bytes += queued.start.args.len();
            self.clients.insert(number, queued);
        }
    }

    /// Takes out the next start of a kind that has a place. If both kinds have one, they take turns.
    pub(super) fn pop(&mut self, client_fits: bool, scheduled_fits: bool) -> Option<Queued> {
        let is_scheduled = match (client_fits, scheduled_fits) {
            (false, false) => return None,
            (true, true) => !self.last_scheduled,
            (_, scheduled) => scheduled,
        };
        let starts = match is_scheduled {
            true => &self.scheduled,
            false => &self.clients,
        };
        let number = *starts.first_key_value()?.0;
        self.last_scheduled = is_scheduled;
        self.take(number)
    }

    /// Takes a start back.
    pub(crate) fn remove(&mut self, flow: &FlowId) -> Option<Queued> {
        let number = *self.by_flow.get(flow)?;
        self.take(number)
    }

    /// Takes out all starts of clients.
    pub(super) fn take_unscheduled(&mut self) -> Vec<Queued> {
        let numbers: Vec<u64> = self.clients.keys().copied().collect();
        numbers
            .into_iter()
            .filter_map(|number| self.take(number))
            .collect()
    }

    fn take(&mut self, number: u64) -> Option<Queued> {
        let queued = match self.clients.remove(&number) {
            Some(queued) => {
                self.args_bytes -= queued.start.args.len();
                queued
            }
            None => self.scheduled.remove(&number)?,
        };
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
        let number = self.by_client.get(key)?;
        let of_clients = self.clients.get(number);
        of_clients.or_else(|| self.scheduled.get(number))
    }

    fn get_mut(&mut self, number: u64) -> Option<&mut Queued> {
        match self.clients.get_mut(&number) {
            Some(queued) => Some(queued),
            None => self.scheduled.get_mut(&number),
        }
    }

    /// Adds a client that waits for a queued start.
    pub(crate) fn wait(&mut self, flow: &FlowId, token: Token, wait: Wait) {
        if let Some(number) = self.by_flow.get(flow).copied()
            && let Some(queued) = self.get_mut(number)
        {
            queued.waits.push((token, wait));
            self.by_token.insert(token, number);
        }
    }

    /// Removes a client that no longer waits. The start keeps its place.
    pub(super) fn detach(&mut self, token: Token) {
        if let Some(number) = self.by_token.remove(&token)
            && let Some(queued) = self.get_mut(number)
        {
            queued.waits.retain(|(t, _)| *t != token);
        }
    }
}

#[cfg(test)]
mod tests {
    use ledger::{StateRef, TxId};
    use primitives::{Seed, Timestamp};

    use super::*;

    /// Queues a start with this number, of a client or of a state.
    fn push(queue: &mut StartQueue, number: u8, is_scheduled: bool) {
        let state = StateRef::new(TxId::from_array([number; 32]), 0);
        let start = Start {
            flow: FlowId([number; 16]),
            seed: Seed::new([number; 32]),
            name: "a.flow".to_owned(),
            version: None,
            args: vec![0; 10],
            user: "ann".to_owned(),
            client_id: None,
            wait: Wait::Accepted,
            token: Token(number.into()),
        };
        queue.push_queued(Queued {
            start,
            client: None,
            waits: Vec::new(),
            scheduled: is_scheduled.then_some((Timestamp::EPOCH, state)),
        });
    }

    #[test]
    fn clients_and_the_schedule_take_turns() {
        // Whether a client's start fits, whether a scheduled one does, and the start that is taken. Scheduled ones are those from 10 on.
        let mut queue = StartQueue::default();
        (10..14).for_each(|number| push(&mut queue, number, true));
        (0..4).for_each(|number| push(&mut queue, number, false));
        for (client_fits, scheduled_fits, expected) in [
            (false, false, None),
            (true, true, Some(10)),
            (true, true, Some(0)),
            (true, true, Some(11)),
            (true, false, Some(1)),
            (true, true, Some(12)),
            (false, true, Some(13)),
            (true, true, Some(2)),
            (true, false, Some(3)),
            (true, true, None),
        ] {
            let taken = queue.pop(client_fits, scheduled_fits);
            let number = taken.map(|queued| queued.start.flow.as_bytes()[0]);
            assert_eq!(number, expected);
        }
        assert_eq!((queue.len(), queue.args_bytes()), (0, 0));
    }

    #[test]
    fn starts_of_either_kind_are_taken_back() {
        let mut queue = StartQueue::default();
        push(&mut queue, 1, false);
        push(&mut queue, 2, true);
        assert_eq!((queue.len(), queue.clients()), (2, 1));
        assert_eq!(queue.args_bytes(), 10);
        assert!(queue.remove(&FlowId([2; 16])).is_some());
        assert!(queue.remove(&FlowId([2; 16])).is_none());
        assert_eq!((queue.len(), queue.clients()), (1, 1));
        assert_eq!(queue.take_unscheduled().len(), 1);
        assert_eq!((queue.len(), queue.args_bytes()), (0, 0));
    }
}
