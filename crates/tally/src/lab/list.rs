//! `tally lab list`: the shipped scenarios.

use perf::plan::SHIPPED;
use serde::Serialize;

use super::scenario::{Opening, Shown, about};
use crate::failure::Failure;
use crate::output::{Output, Table, stdout_ink};

/// Arguments of `tally lab list`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub output: Output,
}

/// A shipped scenario.
#[derive(Debug, Serialize)]
struct Entry {
    name: String,
    title: String,
    about: String,
    main_metric: String,
    points: usize,
    seconds_expected: f64,
    points_full: usize,
    seconds_expected_full: f64,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        let mut entries = Vec::new();
        for shipped in SHIPPED {
            let [small, full] = [false, true].map(|full| {
                let plan = Opening::sized(full).open(shipped.name)?;
                Shown::of(&plan, full)
            });
            let (small, full) = (small?, full?);
            entries.push(Entry {
                name: small.name,
                title: small.title,
                about: small.about,
                main_metric: small.main_metric,
                points: small.points.len(),
                seconds_expected: small.seconds_expected,
                points_full: full.points.len(),
                seconds_expected_full: full.seconds_expected,
            });
        }
        self.output.show(&entries, |entries| people(entries))
    }
}

fn people(entries: &[Entry]) -> String {
    let mut table = Table::new(&["name", "title", ">points", ">about", ">with --full"]);
    for entry in entries {
        table.row([
            entry.name.clone(),
            entry.title.clone(),
            entry.points.to_string(),
            about(entry.seconds_expected),
            about(entry.seconds_expected_full),
        ]);
    }
    table.render(stdout_ink())
}
