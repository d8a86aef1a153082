//! Runs simulations: `sim --seed N [--runs N] [--bug NAME] [--trace]`.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use sim::{Bug, SimOptions, run};

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
    let next = AtomicU64::new(0);
    let failed = AtomicU64::new(0);
    let out = Mutex::new(());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(arguments.runs as usize) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= arguments.runs {
                        return;
                    }
                    let report = run(&SimOptions {
                        seed: arguments.seed + at,
                        bug: arguments.bug,
                        keep_trace: arguments.trace,
                    });
                    let _one_at_a_time = out.lock();
                    if let Some(text) = &report.text {
                        print!("{text}");
                    }
                    if !report.is_clean() {
                        failed.fetch_add(1, Ordering::Relaxed);
                        println!("{}", report.failure());
                    } else if arguments.runs == 1 {
                        println!(
                            "seed {}: {:?}, {} lines, trace {}",
                            arguments.seed, report.tally, report.lines, report.trace
                        );
                    }
                }
            });
        }
    });
    let failed = failed.into_inner();
    println!("{} runs, {failed} failed", arguments.runs);
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
