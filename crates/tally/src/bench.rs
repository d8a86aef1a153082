//! `tally bench NAME`: a benchmark; one line of JSON, last on standard output, everything for people on standard error.

use anyhow::Result;

/// Arguments of `tally bench`.
#[derive(Debug, clap::Args)]
pub struct BenchArgs {
    /// Which benchmark.
    name: Benchmark,
}

/// The benchmarks there are.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Benchmark {
    /// Issue and pay cash between two nodes at full speed.
    Ledger,
}

/// Runs the benchmark to its end.
pub fn run(arguments: BenchArgs) -> Result<()> {
    match arguments.name {
        Benchmark::Ledger => anyhow::bail!("the benchmark needs a node that runs"),
    }
}
