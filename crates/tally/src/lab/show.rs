//! `tally lab show` shows one scenario as it will run.

use super::scenario::{Opening, Shown, about};
use crate::failure::Failure;
use crate::output::Output;

/// Maximum number of listed points. JSON lists all.
const POINTS_SHOWN: usize = 60;

/// Arguments of `tally lab show`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A scenario file, or the name of a shipped one
    #[arg(value_name = "FILE|NAME")]
    scenario: String,
    #[command(flatten)]
    opening: Opening,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        let plan = self.opening.open(&self.scenario)?;
        let shown = Shown::of(&plan, self.opening.is_full())?;
        self.output.show(&shown, people)
    }
}

/// Returns TOML that can be run again. Data outside the scenario are comments.
fn people(shown: &Shown) -> String {
    let mut text = String::new();
    let size = if shown.full { ", published size" } else { "" };
    let count = shown.points.len();
    let points = if count == 1 { "point" } else { "points" };
    let time = about(shown.seconds_expected);
    text.push_str(&format!("# {count} {points}, about {time}{size}\n"));
    if !shown.axes.is_empty() {
        for point in shown.points.iter().take(POINTS_SHOWN) {
            text.push_str(&format!("#   {}\n", shown.point_words(point)));
        }
        if count > POINTS_SHOWN {
            text.push_str(&format!("#   and {} more\n", count - POINTS_SHOWN));
        }
    }
    text.push_str(&shown.scenario);
    text
}
