//! Batches of jobs: gathered from the parts, done by the workers, and taken back in order.

use flow::EffectResult;

use crate::command::NotaryCommand;
use crate::errors;
use crate::intake::item_id::ItemId;
use crate::jobs::{GATHERED_BYTES_MAX, JobBatch, JobOwner, Outcome};
use crate::kernel::Kernel;
use crate::port::{Reads, StoreFailure};
use crate::round::Work;

impl Kernel {
    /// Does the queued work, and the jobs if many are gathered.
    pub(super) fn proceed(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        self.do_queued_work(reads)?;
        let are_few = self.jobs() < self.context.options.gathered_jobs_max;
        match are_few && !self.context.jobs.is_heavy() {
            true => Ok(()),
            false => self.work_off(reads),
        }
    }

    /// Does jobs, and the work that follows from them, until no job is left.
    pub(super) fn work_off(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        while self.run_jobs(reads)? {
            self.do_queued_work(reads)?;
        }
        Ok(())
    }

    /// Returns whether a job is due.
    pub(super) fn has_jobs(&self) -> bool {
        self.jobs() > 0
    }

    /// Returns whether nothing is left to do in this round.
    pub(super) fn is_settled(&self) -> bool {
        self.context.work.is_empty() && !self.context.signatures.is_due() && !self.has_jobs()
    }

    fn jobs(&self) -> usize {
        self.context.jobs.len() + self.flows.engine().ready()
    }

    /// Does gathered jobs as one batch, and takes their results. Returns false if there were none. Items whose contracts need much
    /// memory together come in several batches.
    pub(super) fn run_jobs(&mut self, reads: &dyn Reads) -> Result<bool, StoreFailure> {
        if !self.has_jobs() {
            return Ok(false);
        }
        let mut batch = JobBatch::default();
        let concluding = self.add_contracts(&mut batch, reads)?;
        for (effect, signing) in self.context.jobs.take_signing() {
            batch.sign(effect, signing);
        }
        for (asked, job) in self.context.jobs.take_proving() {
            batch.prove(asked, job);
        }
        for step in self.flows.take_ready() {
            batch.step(step);
        }
        for (owner, outcome) in batch.run(&*self.workers) {
            self.take_outcome(owner, outcome);
        }
        self.route(reads)?;
        let judged = concluding.into_iter().map(Work::Judged);
        self.context.work.extend(judged);
        Ok(true)
    }

    /// Adds the contracts of gathered items to a batch, within its bounds, unless they have run. Returns these items.
    fn add_contracts(
        &mut self,
        batch: &mut JobBatch,
        reads: &dyn Reads,
    ) -> Result<Vec<ItemId>, StoreFailure> {
        self.contract_checks.begin_batch();
        let mut items = Vec::new();
        let mut bytes = 0;
        while bytes < GATHERED_BYTES_MAX
            && items.len() < self.context.options.gathered_jobs_max
            && let Some(item) = self.context.jobs.next_to_conclude()
        {
            items.push(item);
            let Some((transaction, is_to_record)) = self.intake.to_judge(item) else {
                continue;
            };
            let (checks, context) = (&mut self.contract_checks, &self.context);
            if let Some(job) =
                checks.job((transaction, is_to_record), &self.book, context, reads)?
            {
                bytes += job.weight();
                batch.judge(transaction.id(), job);
            }
        }
        Ok(items)
    }

    fn take_outcome(&mut self, owner: JobOwner, outcome: Outcome) {
        let context = &mut self.context;
        match (owner, outcome) {
            (JobOwner::Engine, Outcome::Stepped(stepped)) => self.flows.stepped(stepped, context),
            (JobOwner::Signature(wanted), Outcome::Signed(signature)) => {
                let result = match signature {
                    Some(signature) => {
                        let signatures = &mut context.signatures;
                        signatures.trust_own(
                            wanted.key,
                            wanted.purpose,
                            wanted.message,
                            &signature,
                        );
                        EffectResult::Signature(signature)
                    }
                    None => EffectResult::Failed(errors::unknown_key(&wanted.key)),
                };
                context.complete(wanted.effect, result);
            }
            (JobOwner::Contracts(id), Outcome::Judged(judgement, facts)) => {
                self.contract_checks.judged(id, (judgement, facts));
            }
            (JobOwner::Request(asked), Outcome::Proved(tear_off)) => {
                context.command(NotaryCommand::Proved { asked, tear_off });
            }
            _ => panic!("the result of a job has another kind than the job"),
        }
    }
}
