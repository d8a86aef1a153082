//! A small server of the Ardor/Nxt family whose behaviour is known: the driver, and whole runs, are tried on it.
//!
//! Real HTTP on ports that the system chooses, a ledger in memory that all its nodes share, blocks at a set pace or when told.
//! It checks balances and nothing else: there are no signatures, no peers and no forks in it.

mod answer;
mod serve;
mod world;

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::chain::Chain;
use world::World;

/// What such a server does, and what it does wrong on purpose. Of `*_every`, 0 is never.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behaviour {
    /// Chains, parent first.
    pub chains: Vec<Chain>,
    /// Passphrases of accounts that have something.
    pub passphrases: Vec<String>,
    /// What each has on each chain at the beginning.
    pub balance: u64,
    /// A block is made so often; only when told if `None`.
    pub block_every: Option<Duration>,
    /// Transactions that wait at most.
    pub pool_max: usize,
    /// What every answer to a submission takes.
    pub slow: Duration,
    /// Every so manyeth submission is refused with `errorCode` 6.
    pub refuse_every: u64,
    /// Every so manyeth submission is answered with a page instead of JSON.
    pub malformed_every: u64,
    /// Every so manyeth accepted payment is forgotten.
    pub lose_every: u64,
    /// Every so manyeth accepted payment stands in two blocks.
    pub double_every: u64,
    /// Each block mints so much of the parent token for the first account.
    pub minted: u64,
    /// Whether it has `getBalances`; members of the family with one chain have not.
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
            passphrases: (0..10).map(|number| number.to_string()).collect(),
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
    /// Starts so many nodes.
    ///
    /// # Errors
    /// Ports that the system does not give.
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

    /// Where its nodes are.
    #[must_use]
    pub fn urls(&self) -> &[String] {
        &self.urls
    }

    /// Makes a block of everything that waits.
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
