//! `tally lab connector`: the shipped connectors.

use clap::ValueEnum;
use perf::connector::postgres;

use crate::failure::Failure;

/// The arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The system
    system: System,
}

/// A system that a shipped connector connects.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum System {
    /// A private PostgreSQL server with a table of transfers.
    Postgres,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(anyhow::Error::from)?;
        let served = match self.system {
            System::Postgres => runtime.block_on(postgres::serve()),
        };
        Ok(served.map_err(anyhow::Error::msg)?)
    }
}
