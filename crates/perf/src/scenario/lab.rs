//! A network under cash load: payments, issues, their acknowledgements, and the audit at the end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use api::StartFlow;
use client::{Client, Stream};
use primitives::Hash;
use thiserror::Error;

use crate::audit::{self, Acknowledged, Books, CollectError, Sample, Verdict};
use crate::load::{
    Arrivals, Arrived, FlowWork, Live, Load, SingleStarts, Window, Work, arrivals, window,
};
use crate::topology::{Network, NetworkError, Who};

use super::cash;
use super::issued::{Faults, IssuedCash, unknown};

/// Positions of payer and payee among the network's banks.
const PAYER: usize = 0;
const PAYEE: usize = 1;
/// Time limit for the views to catch up after a window.
const CATCH_UP_MAX: Duration = Duration::from_secs(120);
/// Starts outstanding while coins are made.
const FUNDING_OUTSTANDING: usize = 256;
/// Upper limit on transactions that an audit reads in full. Further ones are sampled evenly.
const SPENDS_READ_MAX: usize = 20_000;

/// The kinds of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CashWork {
    /// Issue to oneself.
    Issue,
    /// Issue, then pay that to the other bank.
    IssueAndPay,
    /// Pay the other bank in this number of states, from coins made before.
    Pay {
        /// States for the payee in each transaction.
        states: u32,
    },
}

impl CashWork {
    fn issues(self) -> bool {
        matches!(self, Self::Issue | Self::IssueAndPay)
    }

    /// Returns the banks that the last transaction of a unit concerns.
    fn participants(self) -> &'static [usize] {
        match self {
            Self::Issue => &[PAYER],
            Self::IssueAndPay | Self::Pay { .. } => &[PAYER, PAYEE],
        }
    }
}

/// Why a run cannot continue.
#[derive(Debug, Error)]
pub enum LabError {
    /// The network.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A client.
    #[error("{} ({})", .0, .0.hint())]
    Client(#[from] client::ClientError),
    /// The audit's reading.
    #[error(transparent)]
    Collect(#[from] CollectError),
    /// Coins could not be made.
    #[error("{failed} of {wanted} issues failed: {first}")]
    Funding {
        /// The number of failed issues.
        failed: u64,
        /// The number of issues.
        wanted: u64,
        /// The first reason.
        first: String,
    },
    /// The views are too far behind.
    #[error("the vault view of {0} has not caught up after {max} s", max = CATCH_UP_MAX.as_secs())]
    ViewBehind(String),
}

/// A network under cash load.
pub struct CashLab {
    /// The network under load.
    pub network: Network,
    clients: Vec<Client>,
    notary: Client,
    stream: Stream,
    acknowledged: Vec<Acknowledged>,
    issued: IssuedCash,
    unknown: u64,
    units: u64,
}

impl CashLab {
    /// Creates a laboratory over a network with at least two banks, all ready.
    pub fn new(network: Network) -> Result<Self, LabError> {
        let clients: Result<Vec<Client>, _> = (0..network.banks())
            .map(|bank| network.client(Who::Bank(bank)))
            .collect();
        let clients = clients?;
        let notary = network.client(Who::Notary)?;
        let stream = clients[PAYER].stream();
        Ok(Self {
            network,
            clients,
            notary,
            stream,
            acknowledged: Vec::new(),
            issued: IssuedCash::default(),
            unknown: 0,
            units: 0,
        })
    }

    /// Gives the payer `coins` coins of `quantity` each in `currency`.
    pub async fn fund(
        &mut self,
        currency: &str,
        coins: u64,
        quantity: u64,
    ) -> Result<(), LabError> {
        let start = cash::issue(currency, quantity)?;
        let load = Load {
            outstanding: FUNDING_OUTSTANDING,
            duration: CATCH_UP_MAX,
            most: coins,
        };
        let work = Arc::new(FlowWork::new(self.stream.clone(), start));
        let window = self.stretch(work, load, Arc::default(), &[PAYER]).await?;
        self.note_issued(currency, quantity, window.done.len(), &window.faults);
        match window.faults.values().next() {
            None if window.done.len() as u64 == coins => Ok(()),
            first => Err(LabError::Funding {
                failed: coins - window.done.len() as u64,
                wanted: coins,
                first: first.map_or_else(|| "out of time".to_owned(), |(_, text)| text.clone()),
            }),
        }
    }

    /// Runs one window of work in `currency`, each unit of `quantity` minor units. Counts *delivered* flows.
    pub async fn run(
        &mut self,
        work: CashWork,
        currency: &str,
        quantity: u64,
        load: Load,
        live: Arc<Live>,
    ) -> Result<Window<Vec<Hash>>, LabError> {
        let start = self.start_of(work, currency, quantity)?;
        let starts = Arc::new(FlowWork::new(self.stream.clone(), start));
        let window = self
            .stretch(starts, load, live, work.participants())
            .await?;
        if work.issues() {
            self.note_issued(currency, quantity, window.done.len(), &window.faults);
        }
        Ok(window)
    }

    fn start_of(
        &self,
        work: CashWork,
        currency: &str,
        quantity: u64,
    ) -> Result<StartFlow, LabError> {
        let payee = self.network.name(Who::Bank(PAYEE));
        Ok(match work {
            CashWork::Issue => cash::issue(currency, quantity)?,
            CashWork::IssueAndPay => cash::issue_and_pay(currency, quantity, payee)?,
            CashWork::Pay { states } => cash::pay(currency, None, quantity, payee, states)?,
        })
    }

    fn note_issued(&mut self, currency: &str, quantity: u64, done: usize, faults: &Faults) {
        let issuer = self.network.name(Who::Bank(PAYER));
        let token = audit::token_label(currency, issuer);
        self.issued.add(&token, quantity, done, faults);
    }

    async fn stretch<W: Work<Done = Vec<Hash>>>(
        &mut self,
        work: Arc<W>,
        load: Load,
        live: Arc<Live>,
        participants: &[usize],
    ) -> Result<Window<Vec<Hash>>, LabError> {
        let mut behind = Ok(());
        let caught_up = async { behind = self.catch_up().await };
        let window = window(work, live, load, self.units, caught_up).await;
        self.units += load.most.min(1 << 40);
        behind?;
        for transactions in &window.done {
            self.acknowledge(transactions, participants);
        }
        self.note_faults(&window.faults);
        Ok(window)
    }

    /// Issues to the payer by single requests over many connections. Counts *delivered* flows.
    pub async fn issue_by_requests(
        &mut self,
        currency: &str,
        quantity: u64,
        connections: usize,
        load: Load,
        live: Arc<Live>,
    ) -> Result<Window<Vec<Hash>>, LabError> {
        let start = cash::issue(currency, quantity)?;
        let endpoint = self.network.endpoint(Who::Bank(PAYER))?;
        let work = Arc::new(SingleStarts::connect(&endpoint, connections, start).await?);
        let window = self.stretch(work, load, live, &[PAYER]).await?;
        self.note_issued(currency, quantity, window.done.len(), &window.faults);
        Ok(window)
    }

    /// Runs work at a set rate, even if the payer does not keep up. The starts come from this number of clients in turn.
    pub async fn run_at(
        &mut self,
        work: CashWork,
        currency: &str,
        quantity: u64,
        (rate, clients): (Arrivals, u32),
        live: Arc<Live>,
    ) -> Result<Arrived, LabError> {
        let start = self.start_of(work, currency, quantity)?;
        let mut starts = FlowWork::new(self.stream.clone(), start);
        for _ in 1..clients {
            starts = starts.with_stream(self.network.client(Who::Bank(PAYER))?.stream());
        }
        let starts = Arc::new(starts);
        let done: Arc<Mutex<Vec<Vec<Hash>>>> = Arc::default();
        let note = Arc::clone(&done);
        let arrived = arrivals(starts, live, rate, self.units, move |transactions| {
            lock(&note).push(transactions);
        })
        .await;
        self.units += arrived.due;
        self.catch_up().await?;
        let done = std::mem::take(&mut *lock(&done));
        for transactions in &done {
            self.acknowledge(transactions, work.participants());
        }
        if work.issues() {
            self.note_issued(currency, quantity, done.len(), &arrived.faults);
        }
        self.note_faults(&arrived.faults);
        Ok(arrived)
    }

    /// Waits until every vault view shows its whole ledger.
    async fn catch_up(&self) -> Result<(), LabError> {
        for (bank, client) in self.clients.iter().enumerate() {
            if !view_caught_up(client).await {
                let name = self.network.name(Who::Bank(bank));
                return Err(LabError::ViewBehind(name.to_owned()));
            }
        }
        Ok(())
    }

    /// Records acknowledgements. The last transaction of a flow concerns all participants, an earlier one (an issue) only
    /// its maker.
    fn acknowledge(&mut self, transactions: &[Hash], participants: &[usize]) {
        for (at, id) in transactions.iter().enumerate() {
            let last = at + 1 == transactions.len();
            self.acknowledged.push(Acknowledged {
                transactions: vec![*id],
                participants: if last {
                    participants.to_vec()
                } else {
                    vec![PAYER]
                },
            });
        }
    }

    fn note_faults(&mut self, faults: &Faults) {
        self.unknown += unknown(faults);
    }

    /// Reads all books and judges them. The load must have come to rest.
    pub async fn audit(&self) -> Result<Verdict, LabError> {
        let mut books = Books {
            acknowledged: self.acknowledged.clone(),
            in_circulation: self.issued.in_circulation().clone(),
            in_doubt: self.issued.in_doubt().clone(),
            whole: true,
            nothing_else_ran: self.unknown == 0,
            ..Books::default()
        };
        for (bank, client) in self.clients.iter().enumerate() {
            let name = self.network.name(Who::Bank(bank));
            books
                .nodes
                .push(audit::node_books(name, client, Sample::ALL, None).await?);
        }
        let notary = self.network.name(Who::Notary);
        let (consumed, count) = audit::consumed(notary, &self.notary, Sample::ALL).await?;
        (books.consumed, books.consumed_count) = (Some(consumed), count);
        let payee_ledger = &books.nodes[PAYEE].ledger;
        let step = payee_ledger.len().div_ceil(SPENDS_READ_MAX).max(1);
        let sample: Vec<_> = payee_ledger.iter().step_by(step).copied().collect();
        let reader = &self.clients[PAYEE];
        books.spends = audit::spends(self.network.name(Who::Bank(PAYEE)), reader, &sample).await?;
        Ok(audit::judge(&books))
    }

    /// Returns the number of flows that failed without a known outcome.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }
}

/// Waits until a node's vault view shows the state of its ledger at the time of the call.
pub(super) async fn view_caught_up(client: &Client) -> bool {
    let deadline = tokio::time::Instant::now() + CATCH_UP_MAX;
    while tokio::time::Instant::now() < deadline {
        // A reader has the view updated at once.
        let is_read = client.balances().await.is_ok();
        match client.health().await {
            Ok(health) if is_read && health.view_seq >= health.ledger_seq => return true,
            _ => tokio::time::sleep(Duration::from_millis(2)).await,
        }
    }
    false
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
