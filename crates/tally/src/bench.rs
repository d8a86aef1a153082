//! `tally bench NAME` is a short name for shipped scenarios with the settings of a benchmark. The last line on standard output is one
//! line of JSON with their main figures, and standard error shows progress.

mod attachments;
mod chain;
mod ledger;
mod load;
mod node;
pub(crate) mod parts;
mod production;
mod takeover;

use crate::failure::Failure;

/// Arguments of `tally bench`.
#[derive(Debug, clap::Args)]
pub struct BenchArgs {
    /// The benchmark to run.
    name: Benchmark,
    /// Length of each measured window in seconds.
    #[arg(long, default_value_t = 3, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=60))]
    window_seconds: u32,
    /// Windows measured for each rate after a warm-up. The median is reported.
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=25))]
    windows: u32,
    /// Flows outstanding at the same time (`production`: only where node databases are compared).
    #[arg(long, default_value_t = 800, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4000))]
    outstanding: u32,
    /// Keep-alive connections that start flows (`load`).
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    connections: u32,
    /// Concurrent followers of the vault's changes (`load`).
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    followers: u32,
    /// Flows offered, as a multiple of the node's capacity (`load`).
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    overload: u32,
    /// Length of the overload in seconds (`load`).
    #[arg(long, default_value_t = 120, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=3600))]
    overload_seconds: u32,
    /// Seconds of measured load, on one node and on four: four blocks or more, so that the rate is one of blocks (`chain`).
    #[arg(long, default_value_t = 60, value_name = "S", value_parser = clap::value_parser!(u32).range(20..=3600))]
    chain_seconds: u32,
    /// Transactions of the chain that a new node joins (`chain`).
    #[arg(long, default_value_t = 1_000_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1_000..=1_000_000_000))]
    chain_transactions: u64,
    /// States in the queried vault (`node`).
    #[arg(long, default_value_t = 1_000_000, value_name = "N", value_parser = clap::value_parser!(u32).range(100..=100_000_000))]
    states: u32,
    /// Repetitions of each query (`node`).
    #[arg(long, default_value_t = 101, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    repeats: u32,
    /// Files of 50 MB that are sent at once (`attachments`). They take twice their size on the disk under TMPDIR.
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    large_files: u32,
}

/// The available benchmarks.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Benchmark {
    /// Issue and pay cash between two nodes at full speed.
    Ledger,
    /// A node with many connections and followers, and under more load than it can handle.
    Load,
    /// Queries of a vault with a million states, and the cost of a start over the API.
    Node,
    /// Transactions that refer to files, by size and by location of the bytes, and many large files at once.
    Attachments,
    /// Payments in blocks of a chain, on one node and on four, and the catch-up speed of a new node.
    Chain,
    /// Nodes on a database server and a replicated notary, and how long a failover and a takeover take.
    Production,
}

/// Runs the benchmark to its end, or until Ctrl-C, and prints its line.
pub fn run(arguments: BenchArgs) -> Result<(), Failure> {
    let figures = match arguments.name {
        Benchmark::Ledger => ledger::run,
        Benchmark::Load => load::run,
        Benchmark::Node => node::run,
        Benchmark::Attachments => attachments::run,
        Benchmark::Chain => chain::run,
        Benchmark::Production => production::run,
    };
    println!("{}", parts::rounded(figures(&arguments)?));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        bench: BenchArgs,
    }

    #[test]
    fn all_scenarios_of_all_benchmarks_open() {
        for words in [
            &["bench", "ledger"][..],
            &["bench", "ledger", "--windows", "1", "--window-seconds", "1"],
            &["bench", "load", "--connections", "5000", "--followers", "1"],
            &["bench", "node", "--states", "100", "--repeats", "3"],
            &["bench", "attachments", "--large-files", "1"],
        ] {
            let bench = Line::parse_from(words).bench;
            let mut parts: Vec<parts::Part> = ledger::parts(&bench).into();
            parts.extend(load::parts(&bench));
            parts.push(load::overload(&bench, 51_234.56));
            parts.extend(node::parts(&bench));
            parts.extend(chain::parts(&bench));
            parts.extend(attachments::parts(&bench));
            parts.extend(production::parts(&bench));
            for part in parts {
                if let Err(failure) = part.open() {
                    panic!("{words:?}: {failure:?}");
                }
            }
        }
    }
}
