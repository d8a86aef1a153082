//! Checks the history of a notary service: `history-check FILE`.

use std::fs::File;
use std::io::BufReader;
use std::process::ExitCode;

use historycheck::{HistoryError, Verdict, check};

const USAGE: &str = "usage: history-check FILE

Checks the history that the clients of a notary service have written (docs/formats/notary-history.md).
Prints the verdict as one JSON object to the standard output, and the violations as text to the standard error.

exit status: 0 no violation, 1 violations, 2 the history can't be checked";

/// Violations that are shown as text. The JSON object has all of them.
const SHOWN: usize = 20;

const FAILED: u8 = 2;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let path = match (words.next(), words.next()) {
        (Some(word), None) if word == "--help" || word == "-h" => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        (Some(path), None) => path,
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(FAILED);
        }
    };
    let file = File::open(&path).map_err(HistoryError::Read);
    let checked = file.and_then(|file| check(BufReader::new(file)));
    match checked
        .map_err(|error| error.to_string())
        .and_then(|verdict| report(&verdict))
    {
        Ok(status) => status,
        Err(error) => {
            eprintln!("history-check: {}: {error}", path.display());
            ExitCode::from(FAILED)
        }
    }
}

/// Prints a verdict, and returns the exit status.
fn report(verdict: &Verdict) -> Result<ExitCode, String> {
    println!(
        "{}",
        serde_json::to_string(verdict).map_err(|error| error.to_string())?
    );
    eprintln!(
        "{} requests: {} signed, {} conflicts, {} refused, {} unanswered; {} of {} transactions signed; longest silence {} ms",
        verdict.asked,
        verdict.signed,
        verdict.conflicts,
        verdict.refused,
        verdict.unanswered,
        verdict.signed_transactions,
        verdict.transactions,
        verdict.longest_silence_ms
    );
    for violation in verdict.violations.iter().take(SHOWN) {
        eprintln!("violation: {}", violation.message);
    }
    match verdict.violations.len() {
        0 => {
            eprintln!("no violation");
            Ok(ExitCode::SUCCESS)
        }
        count => {
            let more = count.saturating_sub(SHOWN);
            if more > 0 {
                eprintln!("and {more} more violations");
            }
            Ok(ExitCode::FAILURE)
        }
    }
}
