//! `tally lab selftest` tests the comparison on itself.

use perf::plan::{Options, parse};
use perf::run::Events;
use perf::selftest::{Planted, SCENARIO, Tried, judge, on_fake, planted, sides};
use perf::stats::{ERRORS, SELFTEST_FAILED};
use serde::Serialize;

use super::checks::ProgramChecks;
use super::run::{interrupted, options, stamp, to_the_end, verdict};
use crate::failure::Failure;
use crate::output::{Output, pairs};

/// The change that must be found.
const PLANTED: f64 = 1.05;
/// Maximum number of false findings in twenty comparisons. By chance, a larger number occurs once in a thousand times.
const FALSE_FINDINGS_MAX: u32 = 2;

/// Arguments of `tally lab selftest`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Test only the fake target, which takes moments and needs no network
    #[arg(long)]
    fake: bool,
    /// The seed of all random decisions
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    #[command(flatten)]
    pub output: Output,
}

/// The findings.
#[derive(Debug, Serialize)]
struct Found {
    /// The fake target against itself.
    fake: Tried,
    /// A change of 5 % on the fake target.
    planted: Planted,
    /// The network against itself. `None` if it was not requested.
    network: Option<Tried>,
    /// False findings in twenty comparisons on the network, or else on the fake target.
    aa_false_findings: u32,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        let fake = on_fake(self.seed);
        let planted = planted(self.seed, PLANTED);
        let network = if self.fake {
            None
        } else {
            Some(self.on_network()?)
        };
        let found = Found {
            // Without a network, the simulated servers are measured.
            aa_false_findings: network.as_ref().unwrap_or(&fake).false_findings,
            fake,
            planted,
            network,
        };
        self.output.show(&found, people)?;
        match wrong(&found) {
            None => Ok(()),
            Some(message) => {
                let info = ERRORS.iter().find(|info| info.code == SELFTEST_FAILED);
                let hint = info.map_or("", |info| info.action);
                Err(Failure::local(SELFTEST_FAILED, message, hint))
            }
        }
    }

    fn on_network(&self) -> Result<Tried, Failure> {
        let set = vec![format!("seed={}", self.seed)];
        let opened = Options { full: false, set };
        let plan = parse(
            "selftest",
            "selftest.toml",
            SCENARIO.as_bytes(),
            &opened,
            &ProgramChecks::new(),
        )
        .map_err(|error| Failure::coded(&error))?;
        let options = options(plan.title.clone(), false)?;
        let run = async |events: &Events| {
            perf::run::run_sides(&plan, sides(&plan), &options, events).await
        };
        let Some(report) = to_the_end(&options.stop, run)? else {
            // There is no folder of results, so the name is one that does not exist.
            interrupted(&stamp::folder())
        };
        verdict(&report)?;
        Ok(judge(&report))
    }
}

fn wrong(found: &Found) -> Option<String> {
    let places = [
        ("the fake target", Some(&found.fake)),
        ("a network", found.network.as_ref()),
    ];
    for (place, tried) in places {
        if let Some(tried) = tried.filter(|tried| tried.false_findings > FALSE_FINDINGS_MAX) {
            return Some(format!(
                "{} of {} comparisons of the same on {place} found a change",
                tried.false_findings, tried.comparisons
            ));
        }
    }
    (!found.planted.found).then(|| "a change of 5 % was not found".to_owned())
}

fn people(found: &Found) -> String {
    let tried = |tried: &Tried| {
        let mut text = format!(
            "{} false findings in {} comparisons of {} pairs (0.2 are expected)",
            tried.false_findings, tried.comparisons, tried.pairs
        );
        for found in &tried.found {
            text.push_str(&format!("\n{found}"));
        }
        text
    };
    let planted = &found.planted;
    let seen = if planted.found { "found" } else { "NOT found" };
    let change = |ratio: f64| format!("{:+.1} %", (ratio - 1.0) * 100.0);
    pairs(&[
        ("same, fake target", tried(&found.fake)),
        (
            "changed by 5 %, fake target",
            format!(
                "{seen}: measured {}; found four times of five from {} on",
                change(planted.measured),
                planted.seen_from.map_or("-".to_owned(), change)
            ),
        ),
        (
            "same, network",
            found
                .network
                .as_ref()
                .map_or("not asked for".to_owned(), tried),
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_is_no_failure_and_more_is() {
        let found = |fake: u32, network: Option<u32>, five: bool| {
            let tried = |false_findings| Tried {
                comparisons: 20,
                false_findings,
                ..Tried::default()
            };
            wrong(&Found {
                fake: tried(fake),
                planted: Planted {
                    found: five,
                    ..Planted::default()
                },
                network: network.map(tried),
                aa_false_findings: 0,
            })
        };
        assert_eq!(found(0, None, true), None);
        assert_eq!(found(2, Some(1), true), None);
        assert!(found(3, None, true).is_some_and(|words| words.contains("fake")));
        assert!(found(0, Some(3), true).is_some_and(|words| words.contains("network")));
        assert!(found(0, Some(0), false).is_some());
    }
}
