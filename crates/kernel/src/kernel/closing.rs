//! The end of a round: its one commit, and the effects of a commit that has become durable.

use crate::event::Action;
use crate::kernel::Kernel;
use crate::port::{Reads, StoreFailure};
use crate::round::Submitted;

impl Kernel {
    /// Commits the round. If the round writes nothing, and has no actions or waits for no earlier commit, its actions are performed at
    /// once.
    pub(super) fn close_round(&mut self, out: &mut Vec<Action>) {
        self.flows.report_drain(&mut self.context);
        assert!(
            self.context.work.is_empty() && !self.context.has_commands(),
            "a round ends with work left"
        );
        let round = std::mem::take(&mut self.context.round);
        let all_durable = self.context.commits.are_durable();
        if round.batch.is_empty() && (all_durable || round.then.is_empty()) {
            self.links.round_without_commit(&self.context);
            out.extend(round.then);
            return;
        }
        let submitted = Submitted {
            recorded: round.recorded,
            last_seq: self.book.last_seq(),
            changes: round.changes,
        };
        let number = self.context.commits.submit(submitted);
        self.context.figures.commits += 1;
        self.context.figures.commit_rows += round.batch.writes.len() as u64;
        let (batch, then) = (round.batch.finish(), round.then);
        out.push(Action::Commit {
            number,
            batch,
            then,
        });
    }

    /// Tells all parts that every commit up to `number` is durable.
    pub(super) fn on_committed(
        &mut self,
        number: u64,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let number = number.min(self.context.commits.handed());
        self.context.commits.note_durable(number);
        while let Some(done) = self.context.commits.pop(number) {
            for id in &done.recorded {
                self.book.durable(id);
            }
            self.selection
                .durable(done.last_seq, done.changes, &mut self.context);
        }
        self.route(reads)?;
        self.parts_committed(number);
        Ok(())
    }
}
