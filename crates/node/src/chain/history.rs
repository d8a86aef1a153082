//! A long history written into the store of a node that does not run, for tests of how a chain behaves when it has grown.
//!
//! ```text
//!   signers (threads) ──payments──► apply, block by block ──batches──► writer ──► disk
//! ```
//! Payments of the next blocks are signed while a block is applied and the one before it is written: memory holds a few blocks.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use chain::block::CheckedBlock;
use chain::genesis::GenesisSpec;
use chain::history::{Batch, History, SignedPayments};
use chain::port::{StoreFailure, Table, WriteBatch};
use chain::state::{BlockFault, Fault, Overlay, apply_block, prune};
use chain::{Height, Rejection, Seconds, key_of_passphrase};
use store::Embedded;

use super::clock::ChainClock;
use super::files::{ChainFiles, load_chain_dir};
use super::start_error::ChainStartError;
use super::store::open_store;
use crate::config::read_toml;

/// Blocks whose payments are signed ahead.
const AHEAD: usize = 2;
/// Batches on their way to the disk at most.
const FLYING: usize = 2;
/// Payments that a thread signs at a time.
const SLICE: usize = 1_024;
/// Threads that sign at most.
const SIGNERS_MAX: usize = 64;
/// Rows looked at for pruning after each block, as a running node does.
const PRUNE_ROWS: usize = 512;

/// The history to make.
#[derive(Clone, Copy, Debug)]
pub struct HistoryPlan {
    /// Payments.
    pub transactions: u64,
    /// Payments in a block at most; as many as the network allows if there is nothing.
    pub per_block: Option<usize>,
}

/// The progress, and at the end the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HistoryMade {
    /// Payments in blocks.
    pub transactions: u64,
    /// Blocks made, empty ones at the end included.
    pub blocks: u32,
    /// The tip.
    pub height: Height,
    /// Bytes of the store's files.
    pub disk_bytes: u64,
}

/// Makes a history after the tip of a node's store, and then empty blocks until the present. If it is interrupted, the store
/// holds a complete chain. It calls `told` after every block.
///
/// # Errors
/// The folder is not a node's folder, the node runs, its genesis names too few accounts by passphrases, there is no time left for this number
/// blocks, or the disk fails.
pub fn make_history(
    dir: &Path,
    plan: HistoryPlan,
    told: &mut dyn FnMut(&HistoryMade),
) -> Result<HistoryMade, ChainStartError> {
    let files = load_chain_dir(dir)?;
    let data = files.data();
    let store = open_store(&data, &files)?;
    // Without a wish, blocks are full.
    let per_block = plan.per_block.unwrap_or(usize::MAX);
    let genesis = Arc::clone(&files.genesis);
    let history =
        History::new(genesis, keys(&files)?, per_block).map_err(ChainStartError::Chain)?;
    let overlay = Overlay::open(store.clone(), &files.genesis).map_err(failed)?;
    let signers = std::thread::available_parallelism().map_or(1, usize::from);
    let (jobs, work) = channel();
    let work = Mutex::new(work);
    let (batches, to_write) = sync_channel(FLYING);
    let (written, acknowledged) = channel();
    std::thread::scope(|scope| {
        for _ in 0..signers.min(SIGNERS_MAX) {
            scope.spawn(|| sign(&history, &work));
        }
        let writing = store.clone();
        scope.spawn(move || write(&writing, &to_write, &written));
        let mut maker = Maker {
            clock: ChainClock::new(files.genesis.time_ms),
            files: &files,
            history: &history,
            overlay,
            jobs,
            batches,
            acknowledged,
            flying: 0,
            made: HistoryMade::default(),
        };
        maker.pay(plan.transactions, told)?;
        maker.fill(told)?;
        maker.finish()
        // The maker's ends of the channels go with it, and so the threads end.
    })
    .and_then(|made| {
        store.flush().map_err(ChainStartError::StoreFailed)?;
        let disk_bytes = store.disk_bytes();
        Ok(HistoryMade { disk_bytes, ..made })
    })
}

/// The keys of all accounts that the genesis names by a passphrase.
fn keys(files: &ChainFiles) -> Result<Vec<primitives::KeyPair>, ChainStartError> {
    let spec: GenesisSpec = read_toml(&files.dir.join(&files.config.node.genesis))?;
    let passphrases = spec
        .balances
        .iter()
        .filter_map(|one| one.passphrase.as_ref())
        .map(|text| key_of_passphrase(text.expose()));
    Ok(passphrases.collect())
}

/// The result of a job.
type Slice = SignedPayments;

/// A slice of a block's payments to sign, and where they go.
struct Job {
    batch: Batch,
    places: Range<usize>,
    reply: Sender<Slice>,
}

fn sign(history: &History, work: &Mutex<Receiver<Job>>) {
    loop {
        let job = work.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else {
            return;
        };
        // After a failure the receiver is gone.
        let _ = job.reply.send(history.payments(&job.batch, job.places));
    }
}

fn write(
    store: &Embedded<Table>,
    batches: &Receiver<WriteBatch>,
    written: &Sender<Result<(), StoreFailure>>,
) {
    for batch in batches {
        let outcome = store.write(vec![batch]).map(drop);
        if written.send(outcome).is_err() {
            return;
        }
    }
}

/// Lets blocks join.
struct Maker<'a> {
    clock: ChainClock,
    files: &'a ChainFiles,
    history: &'a History,
    overlay: Overlay<Embedded<Table>>,
    jobs: Sender<Job>,
    batches: SyncSender<WriteBatch>,
    acknowledged: Receiver<Result<(), StoreFailure>>,
    flying: usize,
    made: HistoryMade,
}

impl Maker<'_> {
    /// Blocks full of payments.
    fn pay(
        &mut self,
        wanted: u64,
        told: &mut dyn FnMut(&HistoryMade),
    ) -> Result<(), ChainStartError> {
        self.check_room(wanted)?;
        let mut asked = 0;
        let mut signing: VecDeque<(usize, Vec<Receiver<Slice>>)> = VecDeque::new();
        while self.made.transactions < wanted {
            while signing.len() < AHEAD && asked < wanted {
                let time = self.overlay.tip().time;
                let batch = self.history.batch(asked, wanted - asked, time);
                asked += batch.len() as u64;
                signing.push_back((batch.len(), self.ask(&batch)));
            }
            let Some((count, slices)) = signing.pop_front() else {
                break;
            };
            let mut payments = SignedPayments::default();
            for slice in slices {
                let signed = slice.recv();
                payments.append(signed.map_err(|_| gone("a thread that signs"))?);
            }
            let Some(block) = self.block(payments, false)? else {
                // The finished blocks are kept.
                self.drain()?;
                let made = self.made.transactions;
                return Err(self.no_time(format!("{made} payments fill it")));
            };
            self.join(&block)?;
            self.made.transactions += count as u64;
            told(&self.made);
        }
        Ok(())
    }

    /// Checks beforehand that the blocks of this number of payments fit into the time until now, at the network's block interval.
    fn check_room(&self, wanted: u64) -> Result<(), ChainStartError> {
        let blocks = wanted.div_ceil(self.history.per_block() as u64);
        // A time that is clipped is longer than every chain has.
        let block_seconds = self.files.genesis.params.block_seconds.get();
        let needed = blocks.saturating_mul(u64::from(block_seconds));
        if needed > u64::from(self.tip_age().get()) {
            return Err(self.no_time(format!("{blocks} blocks take about {needed} s")));
        }
        Ok(())
    }

    /// Returns the time from the tip until now.
    fn tip_age(&self) -> Seconds {
        let age = self.clock.now().since(self.overlay.tip().time);
        // Clipped at 0: a tip ahead of the clock leaves no time.
        age.unwrap_or(Seconds::ZERO)
    }

    fn no_time(&self, what: String) -> ChainStartError {
        let detail = format!(
            "the tip is {} s old, with {} payments a block: {what}",
            self.tip_age(),
            self.history.per_block()
        );
        ChainStartError::Chain(Rejection::new("chain_history.no_time", detail))
    }

    fn ask(&self, batch: &Batch) -> Vec<Receiver<Slice>> {
        let starts = (0..batch.len()).step_by(SLICE);
        starts
            .map(|start| {
                let (reply, answer) = channel();
                let places = start..(start + SLICE).min(batch.len());
                // Where the threads are gone, nothing comes, and that is told.
                let _ = self.jobs.send(Job {
                    batch: batch.clone(),
                    places,
                    reply,
                });
                answer
            })
            .collect()
    }

    /// Empty blocks until the present, so that a node that is started on it does not make them all at once.
    fn fill(&mut self, told: &mut dyn FnMut(&HistoryMade)) -> Result<(), ChainStartError> {
        while let Some(block) = self.block(SignedPayments::default(), true)? {
            self.join(&block)?;
            told(&self.made);
        }
        Ok(())
    }

    fn block(
        &self,
        payments: SignedPayments,
        jump: bool,
    ) -> Result<Option<CheckedBlock>, ChainStartError> {
        let latest = self.clock.now();
        let block = self.history.block(&self.overlay, payments, latest, jump);
        let block = block.map_err(ChainStartError::StoreFailed)?;
        block.map_err(ChainStartError::Chain)
    }

    fn join(&mut self, block: &CheckedBlock) -> Result<(), ChainStartError> {
        let genesis = &self.files.genesis;
        apply_block(&mut self.overlay, genesis, block).map_err(|fault| match fault {
            BlockFault::Store(failure) => ChainStartError::StoreFailed(failure),
            BlockFault::Body(rejection) | BlockFault::Invalid(rejection) => {
                ChainStartError::Chain(rejection)
            }
            BlockFault::NotNext => {
                ChainStartError::System("a block does not follow the one before it".into())
            }
        })?;
        let kept = self.files.config.node.keep_blocks;
        prune(&mut self.overlay, genesis, kept, PRUNE_ROWS)
            .map_err(ChainStartError::StoreFailed)?;
        if self.flying >= FLYING {
            self.acknowledge()?;
        }
        let batch = self.overlay.take_batch();
        self.flying += 1;
        self.batches
            .send(batch)
            .map_err(|_| gone("the thread that writes"))?;
        self.made.blocks += 1;
        self.made.height = block.header.height;
        Ok(())
    }

    fn acknowledge(&mut self) -> Result<(), ChainStartError> {
        let outcome = self.acknowledged.recv();
        outcome
            .map_err(|_| gone("the thread that writes"))?
            .map_err(ChainStartError::StoreFailed)?;
        self.flying -= 1;
        self.overlay.committed();
        Ok(())
    }

    fn drain(&mut self) -> Result<(), ChainStartError> {
        while self.flying > 0 {
            self.acknowledge()?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<HistoryMade, ChainStartError> {
        self.drain()?;
        self.made.height = self.overlay.tip().height;
        Ok(self.made)
    }
}

fn gone(who: &str) -> ChainStartError {
    ChainStartError::System(format!("{who} has ended"))
}

fn failed(fault: Fault) -> ChainStartError {
    let rejection = fault.rejection();
    rejection.map_or_else(ChainStartError::StoreFailed, ChainStartError::Chain)
}
