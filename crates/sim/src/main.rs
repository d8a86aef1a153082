//! Runs simulations: `sim [--chain] --seed N [--runs N] [--nodes N] [--bug NAME] [--trace]`.

use std::ops::Range;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use sim::chain::{ChainOptions, ChainTally, Scenario, run_chain};
use sim::{Adversary, Bug, SimOptions, Tally, run_like};

const USAGE: &str = "usage: sim [--chain] [--seed N] [--runs N] [--nodes N] [--scenario S] [--bug NAME] [--adversary NAME] [--rollback] [--trace]

  --chain      networks of the chain, instead of the ledger's
  --seed N     the first seed (default 1)
  --runs N     how many seeds, one after the other (default 1)
  --scenario S mixed (default), liars, siege:PERCENT:BLOCKS, long-siege:PERCENT:BLOCKS,
                equivocation:PERCENT:BLOCKS, fast-clock:TENTHS:DRIFT_PERCENT:BLOCKS
  --nodes N    nodes of a network of the chain (default: the seed chooses)
  --bug NAME   plant a bug, to see whether the auditor finds it
  --adversary NAME  have this dishonest member in all seeds
  --rollback   put nodes back on older copies of their disks at the end
  --trace      print everything that happens";

/// Maximum number of nodes in a chain network.
const NODES_MAX: usize = 200;

struct Arguments {
    seed: u64,
    runs: u64,
    bug: Option<Bug>,
    adversary: Option<Adversary>,
    rollback: bool,
    trace: bool,
    chain: bool,
    nodes: usize,
    scenario: Scenario,
}

impl Arguments {
    /// Returns the seeds to run. The last seed ends the range.
    fn seeds(&self) -> Range<u64> {
        self.seed..self.seed.saturating_add(self.runs)
    }
}

fn arguments() -> Result<Arguments, String> {
    let mut found = Arguments {
        seed: 1,
        runs: 1,
        bug: None,
        adversary: None,
        rollback: false,
        trace: false,
        chain: false,
        nodes: 0,
        scenario: Scenario::Mixed,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        let number = |text: String| {
            text.parse::<u64>()
                .map_err(|_| format!("{text:?} is no number"))
        };
        match word.as_str() {
            "--seed" => found.seed = number(value()?)?,
            "--runs" => found.runs = number(value()?)?,
            "--bug" => found.bug = Some(value()?.parse()?),
            "--adversary" => found.adversary = Some(value()?.parse()?),
            "--rollback" => found.rollback = true,
            "--trace" => found.trace = true,
            "--chain" => found.chain = true,
            "--scenario" => found.scenario = value()?.parse()?,
            "--nodes" => {
                // More nodes than the most are the most.
                found.nodes = number(value()?)?.min(NODES_MAX as u64) as usize;
            }
            _ => return Err(USAGE.to_owned()),
        }
    }
    Ok(found)
}

/// Runs chain networks, one after the other.
fn run_chains(arguments: &Arguments) -> ExitCode {
    let (mut failed, mut all) = (0u64, ChainTally::default());
    for seed in arguments.seeds() {
        let report = run_chain(&ChainOptions {
            nodes: arguments.nodes,
            keep_trace: arguments.trace,
            scenario: arguments.scenario,
            ..ChainOptions::new(seed)
        });
        if let Some(text) = &report.text {
            print!("{text}");
            println!("hash {:016x}", report.trace);
        }
        if !report.is_clean() {
            println!("{}", report.failure());
            failed += 1;
        }
        all += report.tally;
    }
    println!("{all:?}");
    println!("{} runs, {failed} failed", arguments.runs);
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn main() -> ExitCode {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(text) => {
            eprintln!("{text}");
            return ExitCode::FAILURE;
        }
    };
    if arguments.chain {
        return run_chains(&arguments);
    }
    let seen = Mutex::new((0u64, 0u64, Tally::default()));
    let seeds = arguments.seeds();
    let options = SimOptions {
        bug: arguments.bug,
        adversary: arguments.adversary,
        rollback: arguments.rollback,
        keep_trace: arguments.trace,
        ..SimOptions::new(0)
    };
    run_like(seeds, &options, |report| {
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = &report.text {
            print!("{text}");
            println!("{} lines, hash {}", report.lines, report.trace);
        }
        if !report.is_clean() {
            println!("{}", report.failure());
            seen.1 += 1;
        }
        seen.0 += 1;
        seen.2 += report.tally;
    });
    let (runs, failed, tally) = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
    println!("{tally:?}");
    println!("{runs} runs, {failed} failed");
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
