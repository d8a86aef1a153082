//! Jobs: work of a round that depends on nothing but its input, so that it may be done on any thread.
//!
//! The kernel gathers jobs while it handles events, and hands them out in batches ([`Workers`]). Decisions stay in the kernel: it
//! waits for a batch, and takes the results in the order of the jobs.
//!
//! # Invariants
//! - A job is a pure function of its input. Two jobs of a batch share nothing that one of them changes.
//! - Results are taken in the order of their jobs. So a round depends neither on the number of threads nor on their speed.

use std::collections::VecDeque;

use flow::{FlowStep, FlowStepped};
use ledger::{CheckedTearOff, TearOffError, TxId};
use primitives::{
    CheckPortion, CheckWorkers, CheckedPortion, Hash, KeyPair, PublicKey, Signature,
    SignatureChecker, SignatureContext,
};

use crate::flows::waits::EffectId;
use crate::intake::contract_job::{ContractJob, Judgement, OutputFacts};
use crate::intake::item_id::ItemId;
use crate::notarisation::tear_off_job::{AskedWith, TearOffJob};

/// Size of the transactions that the contracts of one batch are shown, and of the tear-offs of one batch, in bytes. The last one of each
/// may exceed it.
pub(crate) const GATHERED_BYTES_MAX: usize = 16 << 20;

/// Does the jobs of a kernel, on one or several threads.
pub trait Workers: Send {
    /// Does all jobs, in any order and on any threads. Returns their results in the order of the jobs. A panic of a job must reach the
    /// caller.
    fn run(&self, jobs: Vec<Job>) -> Vec<Done>;

    /// Returns the number of threads that do jobs at the same time. It decides how large a job is, never what its result is.
    fn threads(&self) -> usize;

    /// Returns the minimum number of signatures in a job that checks some, if so many are due.
    fn portion_min(&self) -> usize {
        SignatureChecker::PORTION_MIN
    }
}

/// Does the jobs in the caller's thread, one after another.
#[derive(Clone, Copy, Debug, Default)]
pub struct Inline;

impl Workers for Inline {
    fn run(&self, jobs: Vec<Job>) -> Vec<Done> {
        jobs.into_iter().map(Job::run).collect()
    }

    fn threads(&self) -> usize {
        1
    }
}

/// A piece of work without side effects.
pub struct Job(Kind);

enum Kind {
    Step(FlowStep),
    Sign(Box<Signing>),
    Judge(ContractJob),
    Check(CheckPortion),
    Prove(TearOffJob),
}

/// The result of a job.
pub struct Done(pub(crate) Outcome);

pub(crate) enum Outcome {
    Stepped(FlowStepped),
    /// `None` if the key is not the one that was asked for.
    Signed(Option<Signature>),
    Judged(Judgement, Option<OutputFacts>),
    Checked(CheckedPortion),
    Proved(Result<Box<CheckedTearOff>, TearOffError>),
}

impl Job {
    /// Returns whether the job makes a signature.
    pub fn is_signature(&self) -> bool {
        matches!(self.0, Kind::Sign(_))
    }

    /// Estimates the time that the job takes, in units of ten microseconds.
    pub fn cost(&self) -> usize {
        match &self.0 {
            Kind::Step(_) | Kind::Sign(_) | Kind::Judge(_) => 1,
            Kind::Prove(job) => job.cost(),
            Kind::Check(portion) => portion.cost(),
        }
    }

    /// Does the job.
    #[must_use]
    pub fn run(self) -> Done {
        Done(match self.0 {
            Kind::Step(step) => Outcome::Stepped(step.run()),
            Kind::Sign(signing) => Outcome::Signed(signing.sign()),
            Kind::Judge(job) => {
                let (judgement, facts) = job.run();
                Outcome::Judged(judgement, facts)
            }
            Kind::Check(portion) => Outcome::Checked(portion.check()),
            Kind::Prove(job) => Outcome::Proved(job.run()),
        })
    }
}

/// A signature to make with a key of this node.
pub(crate) struct Signing {
    /// The key pair of this node's party, or another one of its fixed pairs.
    pub(crate) pair: KeyPair,
    /// The number of the fresh key to derive from it.
    pub(crate) fresh: Option<u64>,
    pub(crate) key: PublicKey,
    pub(crate) purpose: SignatureContext,
    pub(crate) message: Hash,
}

impl Signing {
    fn sign(&self) -> Option<Signature> {
        let derived = self.fresh.map(|number| self.pair.derive(number));
        let pair = derived.as_ref().unwrap_or(&self.pair);
        // Another key than asked for: the store was made by a node with another identity.
        (pair.public() == &self.key).then(|| pair.sign(self.purpose, &self.message))
    }
}

/// Has signatures checked as jobs.
pub(crate) struct CheckJobs<'a>(pub(crate) &'a dyn Workers);

impl CheckWorkers for CheckJobs<'_> {
    fn threads(&self) -> usize {
        self.0.threads()
    }

    fn portion_min(&self) -> usize {
        self.0.portion_min()
    }

    fn check(&self, portions: Vec<CheckPortion>) -> Vec<CheckedPortion> {
        let jobs = portions
            .into_iter()
            .map(|portion| Job(Kind::Check(portion)));
        let done = self.0.run(jobs.collect()).into_iter();
        let checked = done.map(|Done(outcome)| match outcome {
            Outcome::Checked(checked) => checked,
            _ => panic!("the result of a job has another kind than the job"),
        });
        checked.collect()
    }
}

/// The owner of a result.
pub(crate) enum JobOwner {
    /// The flow engine. A step knows its flow.
    Engine,
    /// An effect of a flow.
    Signature(Wanted),
    /// The contract checks.
    Contracts(TxId),
    /// A request to this notary.
    Request(Box<AskedWith>),
}

/// The signature that an effect asked for.
pub(crate) struct Wanted {
    pub(crate) effect: EffectId,
    pub(crate) key: PublicKey,
    pub(crate) purpose: SignatureContext,
    pub(crate) message: Hash,
}

/// The jobs that were gathered and not handed out yet, apart from steps of flows, which the engine gathers.
#[derive(Default)]
pub(crate) struct Gathered {
    signing: Vec<(EffectId, Box<Signing>)>,
    /// Items to conclude after their contracts have run.
    concluding: VecDeque<ItemId>,
    /// Requests to this notary whose proofs are to be checked.
    proving: Vec<(Box<AskedWith>, TearOffJob)>,
    /// The size of their messages, in bytes.
    proving_bytes: usize,
}

impl Gathered {
    /// Adds a signature for an effect.
    pub(crate) fn sign(&mut self, effect: EffectId, signing: Signing) {
        self.signing.push((effect, Box::new(signing)));
    }

    /// Adds an item whose dependencies are all recorded.
    pub(crate) fn conclude(&mut self, item: ItemId) {
        self.concluding.push_back(item);
    }

    /// Adds the tear-off of a request to this notary.
    pub(crate) fn prove(&mut self, asked: AskedWith, job: TearOffJob) {
        self.proving_bytes += job.bytes;
        self.proving.push((Box::new(asked), job));
    }

    /// Returns the number of jobs.
    pub(crate) fn len(&self) -> usize {
        self.signing.len() + self.concluding.len() + self.proving.len()
    }

    /// Returns whether the input of the jobs takes so much memory that they should be done now.
    pub(crate) fn is_heavy(&self) -> bool {
        self.proving_bytes >= GATHERED_BYTES_MAX
    }

    /// Takes the tear-offs whose proofs are to be checked.
    pub(crate) fn take_proving(&mut self) -> Vec<(Box<AskedWith>, TearOffJob)> {
        self.proving_bytes = 0;
        std::mem::take(&mut self.proving)
    }

    /// Takes the next item to conclude.
    pub(crate) fn next_to_conclude(&mut self) -> Option<ItemId> {
        self.concluding.pop_front()
    }

    /// Takes the signatures to make.
    pub(crate) fn take_signing(&mut self) -> Vec<(EffectId, Box<Signing>)> {
        std::mem::take(&mut self.signing)
    }
}

/// A batch of jobs with the owners of their results.
#[derive(Default)]
pub(crate) struct JobBatch {
    jobs: Vec<Job>,
    owners: Vec<JobOwner>,
}

impl JobBatch {
    /// Adds the contracts of a transaction.
    pub(crate) fn judge(&mut self, id: TxId, job: ContractJob) {
        self.add(JobOwner::Contracts(id), Kind::Judge(job));
    }

    /// Adds a signature.
    pub(crate) fn sign(&mut self, effect: EffectId, signing: Box<Signing>) {
        let wanted = Wanted {
            effect,
            key: signing.key.clone(),
            purpose: signing.purpose,
            message: signing.message,
        };
        self.add(JobOwner::Signature(wanted), Kind::Sign(signing));
    }

    /// Adds the tear-off of a request to this notary.
    pub(crate) fn prove(&mut self, asked: Box<AskedWith>, job: TearOffJob) {
        self.add(JobOwner::Request(asked), Kind::Prove(job));
    }

    /// Adds a step of a flow.
    pub(crate) fn step(&mut self, step: FlowStep) {
        self.add(JobOwner::Engine, Kind::Step(step));
    }

    fn add(&mut self, owner: JobOwner, kind: Kind) {
        self.owners.push(owner);
        self.jobs.push(Job(kind));
    }

    /// Does the jobs. Returns the results with their owners, in the order of the jobs.
    pub(crate) fn run(
        self,
        workers: &dyn Workers,
    ) -> impl Iterator<Item = (JobOwner, Outcome)> + use<> {
        let count = self.jobs.len();
        let done = match count {
            0 => Vec::new(),
            _ => workers.run(self.jobs),
        };
        assert_eq!(done.len(), count, "each job has one result");
        let outcomes = done.into_iter().map(|Done(outcome)| outcome);
        self.owners.into_iter().zip(outcomes)
    }
}
