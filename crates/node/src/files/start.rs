//! Bringing the transfers up.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use ledger::NetworkMap;
use store::Files;
use transfer::{Options, Transfers};

use super::handle::TransferHandle;
use super::thread::TransferThread;
use super::upkeep::{Upkeep, UpkeepOptions};
use super::workers::Workers;
use crate::core::messages::KernelHandle;
use crate::core::start_error::PANICKED;
use crate::ledger_store::LedgerStore;
use crate::metrics::NodeMetrics;

/// The parts of the node that the transfers use.
pub(crate) struct Shell {
    pub(crate) transfers: Arc<TransferHandle>,
    pub(crate) files: Files,
    pub(crate) store: LedgerStore,
    pub(crate) kernel: KernelHandle,
    pub(crate) net: net::Handle,
    pub(crate) network: Arc<NetworkMap>,
    pub(crate) metrics: Arc<NodeMetrics>,
    /// Returns whether the node's wall clock is confirmed.
    pub(crate) trusts_clock: Box<dyn Fn() -> bool + Send>,
}

/// Transfers that run. They end once the transfers are closed and this is dropped.
pub(crate) struct Running {
    pub(crate) threads: Vec<JoinHandle<()>>,
    /// While it is there, the upkeep goes on.
    pub(crate) upkeep: Sender<()>,
}

/// Starts the threads.
///
/// # Errors
/// The system refuses a thread.
pub(crate) fn start(
    shell: Shell,
    options: Options,
    upkeep: UpkeepOptions,
) -> std::io::Result<Running> {
    let Shell {
        transfers,
        files,
        store,
        kernel,
        net,
        network,
        metrics,
        trusts_clock,
    } = shell;
    let (workers, mut threads) = Workers::start(&files, &store, &transfers, &kernel)?;
    let thread = TransferThread {
        machine: Transfers::new(options),
        transfers,
        workers,
        kernel: kernel.clone(),
        net,
        network,
        store: store.clone(),
    };
    let named = |name: &str| std::thread::Builder::new().name(name.to_owned());
    let beside = kernel.clone();
    let work = move || beside.guard(PANICKED, "transfer of files", || thread.run());
    threads.push(named("files").spawn(work)?);
    let beside = kernel.clone();
    let keeper = Upkeep {
        files,
        store,
        kernel,
        metrics,
        options: upkeep,
        trusts_clock,
    };
    let (sender, stopped) = channel();
    let work = move || beside.guard(PANICKED, "upkeep of files", || keeper.run(&stopped));
    threads.push(named("files-upkeep").spawn(work)?);
    Ok(Running {
        threads,
        upkeep: sender,
    })
}
