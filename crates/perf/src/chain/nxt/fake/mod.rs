//! A small server of the Ardor/Nxt family with known behaviour, for testing the driver and whole runs.
//!
//! It speaks real HTTP on ports that the system chooses. All its nodes share one ledger in memory. Blocks come at a set
//! pace or on demand. It checks balances only: it has no signatures, no peers and no forks.

mod answer;
mod serve;
mod world;

use std::sync::Arc;
use std::time::Duration;

use primitives::SecretText;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::chain::Chain;
use world::World;

/// The behaviour of the fake, deliberate faults included. In every `*_every` field, 0 means never.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behaviour {
    /// Chains, parent first.
    pub chains: Vec<Chain>,
    /// Passphrases of accounts with an initial balance.
    pub passphrases: Vec<SecretText>,
    /// Initial balance of each account on each chain.
    pub balance: u64,
    /// Interval between blocks. If `None`, blocks are made only on demand.
    pub block_every: Option<Duration>,
    /// Upper limit on waiting transactions.
    pub pool_max: usize,
    /// Delay of every answer to a submission.
    pub slow: Duration,
    /// Every Nth submission is refused with `errorCode` 6.
    pub refuse_every: u64,
    /// Every Nth submission is answered with a page instead of JSON.
    pub malformed_every: u64,
    /// Every Nth accepted payment is forgotten.
    pub lose_every: u64,
    /// Every Nth accepted payment is put into two blocks.
    pub double_every: u64,
    /// Amount of the parent token that each block mints for the first account.
    pub minted: u64,
    /// Whether it supports `getBalances`. Members of the family with one chain do not.
    pub has_get_balances: bool,
}

impl Default for Behaviour {
    fn default() -> Self {
        let chain = |id, name: &str| Chain {
            id: crate::chain::ChainId(id),
            name: name.to_owned(),
            decimals: 8,
            fee: 1_000_000,
        };
        Self {
            chains: vec![chain(1, "PARENT"), chain(2, "CHILD1"), chain(3, "CHILD2")],
            passphrases: (0..10).map(|number| number.to_string().into()).collect(),
            balance: 1_000_000_000_000_000,
            block_every: None,
            pool_max: 2_000,
            slow: Duration::ZERO,
            refuse_every: 0,
            malformed_every: 0,
            lose_every: 0,
            double_every: 0,
            minted: 0,
            has_get_balances: true,
        }
    }
}

/// Running nodes with one ledger. Dropping it ends them.
pub struct Fake {
    urls: Vec<String>,
    world: Arc<World>,
    tasks: Vec<JoinHandle<()>>,
}

impl Fake {
    /// Starts this many nodes.
    ///
    /// # Errors
    /// Fails if the system provides no port.
    pub async fn start(nodes: usize, behaviour: Behaviour) -> std::io::Result<Self> {
        let every = behaviour.block_every;
        let world = Arc::new(World::new(behaviour));
        let (mut urls, mut tasks) = (Vec::new(), Vec::new());
        for _ in 0..nodes {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            urls.push(format!("http://{}", listener.local_addr()?));
            tasks.push(tokio::spawn(serve::serve(listener, Arc::clone(&world))));
        }
        if let Some(every) = every {
            let world = Arc::clone(&world);
            tasks.push(tokio::spawn(async move {
                loop {
                    tokio::time::sleep(every).await;
                    world.forge();
                }
            }));
        }
        Ok(Self { urls, world, tasks })
    }

    /// Returns the URLs of its nodes.
    #[must_use]
    pub fn urls(&self) -> &[String] {
        &self.urls
    }

    /// Makes a block of all waiting payments.
    pub fn forge(&self) {
        self.world.make_block();
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}
