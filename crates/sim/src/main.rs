//! Runs simulations: `sim --seed N [--runs N] [--bug NAME] [--trace]`.

use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use sim::{Bug, Tally, run_all};

const USAGE: &str = "usage: sim [--seed N] [--runs N] [--bug NAME] [--trace]

  --seed N     the first seed (default 1)
  --runs N     how many seeds, one after the other (default 1)
  --bug NAME   plant a bug, to see whether the auditor finds it
  --trace      print everything that happens";

struct Arguments {
    seed: u64,
    runs: u64,
    bug: Option<Bug>,
    trace: bool,
}

fn arguments() -> Result<Arguments, String> {
    let mut found = Arguments {
        seed: 1,
        runs: 1,
        bug: None,
        trace: false,
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
            "--trace" => found.trace = true,
            _ => return Err(USAGE.to_owned()),
        }
    }
    Ok(found)
}

fn main() -> ExitCode {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(text) => {
            eprintln!("{text}");
            return ExitCode::FAILURE;
        }
    };
    let seen = Mutex::new((0u64, 0u64, Tally::default()));
    let seeds = arguments.seed..arguments.seed.saturating_add(arguments.runs);
    run_all(seeds, arguments.bug, arguments.trace, |report| {
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
