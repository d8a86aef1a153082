//! The core's thread: takes waiting messages, runs one round, and submits its commit.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use primitives::storage::StoreFailure;
use store::{Class, CommitHandle};
use tokio::sync::OwnedSemaphorePermit;

use crate::commit::Performer;
use crate::core::{Commit, Core, Output, QueryOf, Shell};
use crate::handle::Message;

/// Maximum number of messages in one round. It bounds the time until the output of a round leaves the node.
pub const ROUND_EVENTS_MAX: usize = 1_024;

/// A query with its place.
type PlacedQuery<C> = (QueryOf<C>, OwnedSemaphorePermit);

/// The core, and its access to the committer.
pub(crate) struct CoreThread<C: Core, S> {
    pub(crate) core: C,
    pub(crate) committer: CommitHandle<C::Table>,
    pub(crate) performer: Arc<Performer<C, S>>,
}

impl<C: Core, S: Shell<C>> CoreThread<C, S> {
    /// Runs until the mailbox is closed, the store fails, or the core panics. After a panic the state of the core is unknown, so
    /// none of it is written.
    pub(crate) fn run(mut self, first: Output<C>) {
        let performer = Arc::clone(&self.performer);
        performer.contained(|| {
            match self.rounds(first) {
                Err(failure) => self.performer.fail(&failure),
                // Another thread of the node may have stopped the core. See [`crate::Handle::guard`].
                Ok(()) => {
                    if let Some(failure) = self.performer.handle.failure() {
                        self.performer.tell_shell(&failure);
                    }
                }
            }
        });
    }

    fn rounds(&mut self, first: Output<C>) -> Result<(), StoreFailure> {
        let performer = Arc::clone(&self.performer);
        let (mut messages, mut queries) = (VecDeque::new(), Vec::new());
        self.submit(first);
        loop {
            let mailbox = performer.handle.mailbox();
            let deadline = self.core.next_deadline();
            // A full round leaves messages for the next one.
            mailbox.take(ROUND_EVENTS_MAX, deadline, &mut messages);
            performer.shell.taken();
            if mailbox.is_closed() {
                return Ok(());
            }
            let began = Instant::now();
            self.handle(&mut messages, &mut queries)?;
            if let Some(events) = self.core.end_round()? {
                performer.metrics.round(events, began.elapsed());
            }
            let output = self.core.take_output(began);
            self.submit(output);
            for (query, _place) in queries.drain(..) {
                self.core.answer(query);
            }
        }
    }

    /// Handles messages in order, until there are none or the round is full. Queries are answered after the round.
    fn handle(
        &mut self,
        messages: &mut VecDeque<Message<C::Messages>>,
        queries: &mut Vec<PlacedQuery<C>>,
    ) -> Result<(), StoreFailure> {
        self.core.begin_round();
        while let Some(message) = messages.pop_front() {
            match message {
                Message::Event(event) => self.core.handle(event)?,
                Message::Committed(number) => self.core.committed(number)?,
                Message::Query(query, place) => queries.push((query, place)),
            }
            if self.core.is_full() {
                break;
            }
        }
        Ok(())
    }

    fn submit(&mut self, output: Output<C>) {
        let Output { commit, at_once } = output;
        if let Some(commit) = commit {
            let Commit {
                number,
                batch,
                actions,
            } = commit;
            self.performer.metrics.submitted(&batch);
            let (performer, began) = (Arc::clone(&self.performer), Instant::now());
            let completed =
                move |number, outcome| performer.completed(number, began, outcome, actions);
            self.committer
                .submit(number, Class::Normal, batch, completed);
        }
        if let Some(actions) = at_once {
            self.performer.shell.perform(actions);
        }
    }
}
