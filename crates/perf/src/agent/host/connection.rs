//! A coordinator's connection to a host, on a thread of its own: callers wait for answers wherever they run.

use std::collections::BTreeMap;
use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use primitives::Hash;
use rustix::process::Signal;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use super::order::{Answer, Facts, Order, ProcessEvent};
use super::process_state::ProcessState;
use crate::agent::AgentAddress;
use crate::agent::channel::{Gone, Sender, Token};
use crate::agent::connect::{Connected, connect};
use crate::agent::error::AgentError;
use crate::agent::wire::{Ask, Service, Tell};
use crate::topology::host::HostError;

/// Interval between two signs of life.
const ALIVE_EVERY: Duration = Duration::from_secs(1);
/// A host that says nothing in so many of these intervals is lost. It gives a sign of life in each.
const SILENT_INTERVALS_MAX: u32 = 10;

/// Takes the answer to an order. Called on the connection's thread, so it must not wait.
pub(super) type Reply = Box<dyn FnOnce(Result<Answer, HostError>) + Send>;

/// A connection to a host. Dropping it ends everything that runs there.
pub(super) struct Connection {
    host: Arc<HostState>,
    asks: Option<mpsc::UnboundedSender<(Order, Reply)>>,
    thread: Option<JoinHandle<()>>,
}

/// A host as the coordinator knows it.
struct HostState {
    name: String,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// The reason, once the host is lost.
    lost: Option<String>,
    processes: BTreeMap<u32, Arc<ProcessState>>,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("host", &self.host.name)
            .finish_non_exhaustive()
    }
}

impl Connection {
    /// Connects to a host of this name. Returns also the facts about the host, and its certificate's fingerprint.
    pub(super) fn open(
        name: &str,
        address: AgentAddress,
        token: &Token,
    ) -> Result<(Self, Facts, Hash), AgentError> {
        let host = Arc::new(HostState {
            name: name.to_owned(),
            known: Mutex::default(),
        });
        let (asks, orders) = mpsc::unbounded_channel();
        let (ready, connected) = std::sync::mpsc::sync_channel(1);
        let place = address.address.clone();
        let failed = |error: std::io::Error| AgentError::Unreachable {
            address: place.clone(),
            reason: error.to_string(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed)?;
        let (token, state) = (token.clone(), Arc::clone(&host));
        let thread = std::thread::Builder::new()
            .name(format!("host-{name}"))
            .spawn(move || {
                runtime.block_on(async move {
                    let connected = connect(&address, &token, Service::Host).await;
                    let (told, connected) = match connected {
                        Ok(connected) => {
                            (Ok((connected.host, connected.fingerprint)), Some(connected))
                        }
                        Err(error) => (Err(error), None),
                    };
                    // Ignore the error: the caller waits for this.
                    let _ = ready.send(told);
                    if let Some(connected) = connected {
                        drive(connected, &state, orders).await;
                    }
                });
            })
            .map_err(failed)?;
        let connection = Self {
            host,
            asks: Some(asks),
            thread: Some(thread),
        };
        let ended = |_| AgentError::Tls("the thread of the connection ended".to_owned());
        let (facts, fingerprint) = connected.recv().map_err(ended)??;
        let facts = facts.ok_or_else(|| AgentError::Tls("it says nothing of itself".to_owned()))?;
        Ok((connection, facts, fingerprint))
    }

    /// Gives an order. `reply` is called with the answer, or with an error if the host is lost.
    pub(super) fn ask(&self, order: Order, reply: Reply) {
        let unsent = match &self.asks {
            Some(asks) => asks.send((order, reply)).err(),
            None => return reply(Err(self.host.error())),
        };
        if let Some(mpsc::error::SendError((_, reply))) = unsent {
            reply(Err(self.host.error()));
        }
    }

    /// Gives an order and waits for the answer.
    pub(super) fn call(&self, order: Order) -> Result<Answer, HostError> {
        let (to, answer) = std::sync::mpsc::sync_channel(1);
        let reply = move |answer| {
            // Ignore the error: the caller waits for this.
            let _ = to.send(answer);
        };
        self.ask(order, Box::new(reply));
        answer.recv().unwrap_or_else(|_| Err(self.host.error()))
    }

    /// Returns the error if the host is lost.
    pub(super) fn lost(&self) -> Option<HostError> {
        let is_lost = self.host.known().lost.is_some();
        is_lost.then(|| self.host.error())
    }

    /// Returns the state of a process that is about to be started.
    pub(super) fn expect(&self, process: u32) -> Arc<ProcessState> {
        let state = Arc::new(ProcessState::default());
        let mut known = self.host.known();
        known.processes.insert(process, Arc::clone(&state));
        if known.lost.is_some() {
            state.end(killed());
        }
        state
    }

    /// Forgets a process.
    pub(super) fn forget(&self, process: u32) {
        self.host.known().processes.remove(&process);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        drop(self.asks.take());
        if let Some(thread) = self.thread.take() {
            // The thread returns nothing, and a panic in it has been printed.
            let _ = thread.join();
        }
    }
}

impl HostState {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn error(&self) -> HostError {
        let reason = self.known().lost.clone();
        HostError::Lost {
            host: self.name.clone(),
            reason: reason.unwrap_or_else(|| "the connection has ended".to_owned()),
        }
    }

    /// Notes that the host is lost, and with it all its processes.
    fn lose(&self, reason: String) {
        let mut known = self.known();
        known.lost = Some(reason);
        for state in known.processes.values() {
            state.end(killed());
        }
    }

    fn note(&self, process: u32, event: ProcessEvent) {
        // A process that is unknown was killed and forgotten.
        let Some(state) = self.known().processes.get(&process).cloned() else {
            return;
        };
        match event {
            ProcessEvent::Ready { after_us } => state.ready(Duration::from_micros(after_us)),
            ProcessEvent::Ended { status } => state.end(ExitStatus::from_raw(status)),
        }
    }
}

/// Returns the status of a process that was killed: the agent does that if the connection ends.
fn killed() -> ExitStatus {
    ExitStatus::from_raw(Signal::KILL.as_raw())
}

/// Carries orders, answers and events until either end is gone.
async fn drive(
    connected: Connected,
    host: &HostState,
    mut orders: mpsc::UnboundedReceiver<(Order, Reply)>,
) {
    let mut channel = connected.channel;
    // Writes wait in a task of their own, so that a host that takes nothing is still found silent.
    let (outgoing, asks) = mpsc::unbounded_channel();
    tokio::spawn(write(channel.sender(), asks));
    let mut waiting: BTreeMap<u64, Reply> = BTreeMap::new();
    let mut last = 0;
    let mut silent = 0;
    let mut ticks = interval(ALIVE_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let reason = loop {
        let told = tokio::select! {
            told = channel.receive() => told,
            order = orders.recv() => {
                let Some((order, reply)) = order else {
                    break "the run has ended".to_owned();
                };
                last += 1;
                waiting.insert(last, reply);
                // If the writer has ended, so does the channel.
                let _ = outgoing.send(Ask::Order { number: last, order });
                continue;
            }
            _ = ticks.tick() => {
                silent += 1;
                if silent > SILENT_INTERVALS_MAX {
                    break format!("it was silent for {SILENT_INTERVALS_MAX} s");
                }
                let _ = outgoing.send(Ask::Alive);
                continue;
            }
        };
        silent = 0;
        match told {
            Ok(Tell::Alive) => {}
            Ok(Tell::Answer { number, answer }) => {
                if let Some(reply) = waiting.remove(&number) {
                    reply(answer.map_err(|trouble| trouble.at(&host.name)));
                }
            }
            Ok(Tell::Process { process, event }) => host.note(process, event),
            Ok(_) => break "it does not speak as a host".to_owned(),
            Err(Gone) => break "it ended the connection".to_owned(),
        }
    };
    host.lose(reason);
    orders.close();
    for reply in waiting.into_values() {
        reply(Err(host.error()));
    }
    while let Ok((_, reply)) = orders.try_recv() {
        reply(Err(host.error()));
    }
}

async fn write(to: Sender, mut asks: mpsc::UnboundedReceiver<Ask>) {
    while let Some(ask) = asks.recv().await {
        if to.send(&ask).await.is_err() {
            return;
        }
    }
}
