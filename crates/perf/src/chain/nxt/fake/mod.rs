//! A small server of the Ardor/Nxt family with known behaviour, for testing the driver and whole runs.
//!
//! It speaks real HTTP on ports that the system chooses. All its nodes share one ledger in memory. Blocks come at a set
//! pace or on demand. It checks balances and fees only: its signatures are hashes, and it has no peers and no forks. Its
//! answers have the fields and types of a real node's, which `tests/it/nxt_recorded` compares with recorded ones.

mod answer;
mod behaviour;
mod form;
mod names;
mod objects;
mod paid;
mod refusal;
mod serve;
mod world;

use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub use behaviour::Behaviour;
use world::World;

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
