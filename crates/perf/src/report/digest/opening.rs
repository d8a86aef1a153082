//! The opening paragraph of a scenario: question, set-up, answer, bottleneck and confidence, made from its data.

use serde::Serialize;

use super::audits::audited;
use super::bottleneck::{self, NEAR};
use super::conditions::Known;
use super::offered::OfferedLoad;
use super::standing::Standing;
use crate::load::engine::GENERATOR_LIMIT;
use crate::machine::ALL_CORES;
use crate::report::figures::{duration, figure};
use crate::report::headline::{Headline, main_metric, place};
use crate::report::saved::{RepeatSize, RepeatSizes};
use crate::report::units::Metric;
use crate::results::{Distance, Estimate, Machine, Scenario, Stretch};

/// From this half width of the interval on, as a share of the figure, confidence is at most fair.
const MARGIN_FAIR: f64 = 0.05;
/// From this half width on, confidence is low.
const MARGIN_LOW: f64 = 0.2;
/// Fewer repeats than these give at most fair confidence.
const REPEATS_HIGH: usize = 5;
/// A machine that was busier than this share of its cores before the run gives at most fair confidence.
const BUSY_SHARE: f64 = 0.1;

/// Five sentences, one for each part.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Opening {
    /// The question that the headline figure answers.
    pub question: String,
    /// The machines, the work and the load.
    pub set_up: String,
    /// The headline figure, next to the published one.
    pub answer: String,
    /// The resource that limited it.
    pub bottleneck: String,
    /// How far to trust it.
    pub confidence: Confidence,
}

/// How far to trust the headline figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Confidence {
    /// The level: `none`, `low`, `fair` or `high`.
    pub level: Level,
    /// The reason, in words.
    pub why: String,
}

/// A level of confidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The figure is not valid.
    #[default]
    None,
    /// It shows an order of magnitude.
    Low,
    /// It shows large differences.
    Fair,
    /// It can be quoted with its interval.
    High,
}

impl Level {
    /// Returns its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::None => "none",
            Level::Low => "low",
            Level::Fair => "fair",
            Level::High => "high",
        }
    }
}

impl Opening {
    /// Returns the parts with their names, in reading order.
    pub fn parts(&self) -> [(&'static str, String); 5] {
        let Confidence { level, why } = &self.confidence;
        [
            ("Question", self.question.clone()),
            ("Set-up", self.set_up.clone()),
            ("Answer", self.answer.clone()),
            ("Bottleneck", self.bottleneck.clone()),
            ("Confidence", format!("{}: {why}", level.as_str())),
        ]
    }
}

/// Returns the paragraph of a scenario.
pub(super) fn of(
    machine: &Machine,
    scenario: &Scenario,
    standing: Standing,
    headline: Option<&Headline<'_>>,
    conditions: &Known,
    limits: &[Distance],
    offered: &OfferedLoad,
) -> Opening {
    Opening {
        question: question(scenario),
        set_up: set_up(conditions),
        answer: answer(standing, headline, knee_above(scenario, offered)),
        bottleneck: bottleneck::words(limits, conditions.plan.as_ref()),
        confidence: confidence(machine, scenario, standing, headline, limits),
    }
}

fn question(scenario: &Scenario) -> String {
    let metric = match scenario.main_metric.as_str() {
        // A search has this question even if it found no knee.
        "knee_per_s" => Metric::named("knee_per_s"),
        _ => Metric::named(main_metric(scenario)),
    };
    let what = match metric.name.as_str() {
        "rate_per_s" => "How many units are completed a second".to_owned(),
        "states_per_s" => "How many states are recorded a second".to_owned(),
        "file_mb_per_s" => "How many megabytes of files are moved a second".to_owned(),
        "knee_per_s" => "What is the highest rate that meets the latency target".to_owned(),
        "chain_tps" => "How many payments a second get into blocks".to_owned(),
        "mean_ms" => "How long does a unit take on average".to_owned(),
        "max_ms" => "How long does the slowest unit take".to_owned(),
        "p50_ms" => "How long do half of the units take at most".to_owned(),
        "rss_mb_max" => "How much memory does the largest node use".to_owned(),
        "generator_cpu_cores" => "How many cores does the load generator use".to_owned(),
        "sent_mbit_per_s" => "How much does the first bank send to other nodes".to_owned(),
        _ => format!("What is the measured value of “{}”", metric.title),
    };
    match scenario.axes.as_slice() {
        [] => format!("{what}?"),
        [first] => format!("{what}, by {first}?"),
        [first @ .., last] => format!("{what}, by {} and {last}?", first.join(", ")),
    }
}

/// Returns the conditions as a sentence; what is not known is left out.
fn set_up(conditions: &Known) -> String {
    let keys = ["hardware", "nodes", "work", "load", "duration"];
    let parts: Vec<&str> = keys
        .into_iter()
        .map(|key| conditions.ours(key))
        .filter(|part| !part.is_empty())
        .collect();
    match parts.is_empty() {
        true => "not recorded.".to_owned(),
        false => format!("{}.", parts.join("; ")),
    }
}

/// Returns the highest rate of a search that found no knee because it kept up with every rate.
fn knee_above(scenario: &Scenario, offered: &OfferedLoad) -> Option<f64> {
    let is_searched = scenario.main_metric == "knee_per_s";
    offered.kept_up_to_per_s.filter(|_| is_searched)
}

fn answer(standing: Standing, headline: Option<&Headline<'_>>, knee_above: Option<f64>) -> String {
    match standing {
        Standing::AuditFailed => return "none, because the audit failed.".to_owned(),
        Standing::Unfinished => {
            return "none, because the scenario did not run to its end.".to_owned();
        }
        Standing::Unaudited | Standing::Findings(_) | Standing::Good => {}
    }
    let Some(headline) = headline else {
        return "none, because nothing was measured.".to_owned();
    };
    let metric = &headline.metric;
    let at = match place(headline.point) {
        place if place.is_empty() => String::new(),
        place => format!(" at {place}"),
    };
    if let Some(highest) = knee_above {
        let highest = figure(highest);
        return format!("the knee was not reached up to {highest}/s{at}.");
    }
    if let Some(range) = metric.range(headline.estimate) {
        let range = metric.and_unit(&range);
        return format!("{range}{at}. The repeats support no single figure.");
    }
    let margin = metric.margin(headline.estimate);
    let margin = margin.map_or(String::new(), |margin| format!(" (± {margin})"));
    let ours = format!("{}{margin}{at}", metric.with_unit(headline.estimate.value));
    let Some(beside) = &headline.published else {
        return format!("{ours}.");
    };
    let factor = beside.metric.factor(beside.ours, beside.theirs);
    let factor = factor.map_or(String::new(), |factor| beside.metric.factor_words(factor));
    let other = match beside.metric.name == metric.name {
        true => String::new(),
        false => format!(
            " {} was {}.",
            beside.metric.title,
            beside.metric.with_unit(beside.ours)
        ),
    };
    format!(
        "{ours}.{other} {} published {}, on other hardware and under other conditions ({factor} here).",
        beside.line.label,
        beside.metric.with_unit(beside.theirs)
    )
}

fn confidence(
    machine: &Machine,
    scenario: &Scenario,
    standing: Standing,
    headline: Option<&Headline<'_>>,
    limits: &[Distance],
) -> Confidence {
    let Some(headline) = headline.filter(|_| !standing.is_bad()) else {
        let why = "there is no valid figure.".to_owned();
        let level = Level::None;
        return Confidence { level, why };
    };
    let mut level = Level::High;
    let mut reasons = Vec::new();
    let mut at_most = |most: Level, why: String| {
        level = level.min(most);
        reasons.push(why);
    };
    let repeats = headline.point.stretches.len();
    match half_width(headline.estimate) {
        Some(half) => {
            let most = match half {
                half if half >= MARGIN_LOW => Level::Low,
                half if half >= MARGIN_FAIR || repeats < REPEATS_HIGH => Level::Fair,
                _ => Level::High,
            };
            let percent = half * 100.0;
            at_most(
                most,
                format!("{repeats} repeats, interval ± {percent:.1} % of the figure"),
            );
        }
        None => at_most(
            Level::Low,
            "without an interval, a difference cannot be told from noise".to_owned(),
        ),
    }
    if let Some(why) = short(
        &headline.point.stretches,
        RepeatSizes::of(scenario).at(headline.point),
    ) {
        at_most(Level::Fair, why);
    }
    let clean = format!("audit clean ({})", audited(scenario));
    match standing {
        Standing::Unaudited => at_most(Level::Low, "not audited".to_owned()),
        Standing::Findings(1) => at_most(Level::Fair, format!("1 warning, {clean}")),
        Standing::Findings(count) => at_most(Level::Fair, format!("{count} warnings, {clean}")),
        // The other two were answered above.
        Standing::Good | Standing::AuditFailed | Standing::Unfinished => {
            at_most(Level::High, clean);
        }
    }
    if scenario
        .findings
        .iter()
        .any(|one| one.code == GENERATOR_LIMIT)
    {
        at_most(
            Level::Low,
            "the load generator was near its limit".to_owned(),
        );
    }
    if limits
        .iter()
        .any(|limit| limit.what == ALL_CORES && limit.share() >= NEAR)
    {
        let why = "load and nodes shared a machine that was busy";
        at_most(Level::Fair, why.to_owned());
    }
    let cores = f64::from(machine.cores);
    if let Some(busy) = machine.busy_cores_before
        && busy > cores * BUSY_SHARE
    {
        let busy = figure(busy);
        let why = format!("other programs kept {busy} of {cores} cores busy before the run");
        at_most(Level::Fair, why);
    }
    Confidence {
        level,
        why: format!("{}.", reasons.join("; ")),
    }
}

/// Returns that a repeat is too short to show a steady state, or has too few units; `None` if each is long enough to be quoted.
fn short(repeats: &[Stretch], size: RepeatSize) -> Option<String> {
    let seconds = repeats.iter().map(|one| one.seconds).reduce(f64::min)?;
    let units = repeats.iter().map(|one| one.done).min()?;
    let mut reasons = Vec::new();
    if let Some(least) = size.seconds.filter(|least| seconds < *least) {
        let (found, wanted) = (duration(seconds), figure(least));
        reasons.push(format!(
            "a repeat of {found}, of at least {wanted} s wanted"
        ));
    }
    if units < size.units {
        let (found, wanted) = (figure(units as f64), figure(size.units as f64));
        reasons.push(format!(
            "a repeat of {found} units, of at least {wanted} wanted"
        ));
    }
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

/// Returns the half width of the interval as a share of the figure; `None` without an interval or a figure.
fn half_width(estimate: &Estimate) -> Option<f64> {
    let (low, high) = estimate.low.zip(estimate.high)?;
    let half = (high - estimate.value).max(estimate.value - low);
    (estimate.value != 0.0).then(|| half / estimate.value.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::digest::digest;
    use crate::results::{AuditResult, Finding, Point, Published, Report, Stretch, Summary};

    /// Returns a report with one point of a rate of 100/s.
    fn report(
        repeats: usize,
        margin: Option<f64>,
        clean: Option<bool>,
        findings: &[&str],
    ) -> Report {
        let estimate = Estimate {
            value: 100.0,
            low: margin.map(|margin| 100.0 - margin),
            high: margin.map(|margin| 100.0 + margin),
        };
        let point = Point {
            stretches: vec![
                Stretch {
                    seconds: 60.0,
                    done: 1_000,
                    ..Stretch::default()
                };
                repeats
            ],
            summary: Summary {
                metrics: [("rate_per_s".to_owned(), estimate)].into(),
            },
            audits: clean
                .map(|clean| AuditResult {
                    clean,
                    ..AuditResult::default()
                })
                .into_iter()
                .collect(),
            ..Point::default()
        };
        let scenario = Scenario {
            points: vec![point],
            published: vec![Published {
                label: "Other 1.0".into(),
                metric: "rate_per_s".into(),
                values: [(String::new(), 25.0)].into(),
                ..Published::default()
            }],
            findings: findings
                .iter()
                .map(|code| Finding {
                    code: (*code).to_owned(),
                    message: String::new(),
                })
                .collect(),
            ..Scenario::default()
        };
        Report {
            scenarios: vec![scenario],
            ..Report::default()
        }
    }

    #[test]
    fn question_and_answer_come_from_the_data() {
        let mut report = report(5, Some(2.0), Some(true), &[]);
        let opening = digest(&report, &report.scenarios[0]).opening;
        assert_eq!(opening.question, "How many units are completed a second?");
        assert_eq!(
            opening.answer,
            "100/s (± 2.0). Other 1.0 published 25/s, on other hardware and under other conditions (4× more here)."
        );
        report.scenarios[0].axes = ["parties", "variant"].map(str::to_owned).into();
        report.scenarios[0].failure = Some("why".into());
        let opening = digest(&report, &report.scenarios[0]).opening;
        assert_eq!(
            opening.question,
            "How many units are completed a second, by parties and variant?"
        );
        assert_eq!(
            opening.answer,
            "none, because the scenario did not run to its end."
        );
        let parts = opening.parts().map(|(name, _)| name);
        assert_eq!(
            parts,
            ["Question", "Set-up", "Answer", "Bottleneck", "Confidence"]
        );
    }

    #[test]
    fn a_search_that_kept_up_with_every_rate_answers_so() {
        let mut report = report(1, None, Some(true), &[]);
        report.scenarios[0].main_metric = "knee_per_s".to_owned();
        let stretch = &mut report.scenarios[0].points[0].stretches[0];
        stretch.tried = vec![(100.0, true), (100.0, true)];
        stretch.trials = vec![crate::results::Trial::of(100.0, stretch); 2];
        let opening = digest(&report, &report.scenarios[0]).opening;
        assert_eq!(opening.answer, "the knee was not reached up to 100/s.");
        assert_eq!(
            opening.question,
            "What is the highest rate that meets the latency target?"
        );
    }

    #[test]
    fn a_busy_machine_lowers_confidence_and_a_full_thread_does_not() {
        for (what, level) in [
            (ALL_CORES, Level::Fair),
            ("units a second, deciding thread of bank-1", Level::High),
        ] {
            let mut report = report(5, Some(2.0), Some(true), &[]);
            report.scenarios[0].points[0].distances.push(Distance {
                what: what.to_owned(),
                used: 0.99,
                limit: 1.0,
                ..Distance::default()
            });
            let found = digest(&report, &report.scenarios[0]).opening.confidence;
            assert_eq!(found.level, level, "{what}: {}", found.why);
        }
    }

    #[test]
    fn short_repeats_and_other_programs_lower_confidence() {
        for (seconds, done, busy_cores, level, why) in [
            (60.0, 1_000, Some(0.39), Level::High, "audit clean"),
            (
                2.04,
                1_000,
                None,
                Level::Fair,
                "a repeat of 2.04 s, of at least 60 s wanted",
            ),
            (
                60.0,
                400,
                None,
                Level::Fair,
                "a repeat of 400 units, of at least 1,000 wanted",
            ),
            (
                60.0,
                1_000,
                Some(0.41),
                Level::Fair,
                "kept 0.41 of 4 cores busy",
            ),
        ] {
            let mut report = report(5, Some(2.0), Some(true), &[]);
            (report.machine.cores, report.machine.busy_cores_before) = (4, busy_cores);
            let stretch = &mut report.scenarios[0].points[0].stretches[3];
            (stretch.seconds, stretch.done) = (seconds, done);
            let found = digest(&report, &report.scenarios[0]).opening.confidence;
            assert_eq!(found.level, level, "{}", found.why);
            assert!(found.why.contains(why), "{}", found.why);
        }
    }

    #[test]
    fn confidence_follows_interval_audit_and_warnings() {
        for (repeats, margin, clean, findings, level, why) in [
            (
                5,
                Some(2.0),
                Some(true),
                &[][..],
                Level::High,
                "audit clean",
            ),
            (3, Some(2.0), Some(true), &[], Level::Fair, "3 repeats"),
            (5, Some(9.0), Some(true), &[], Level::Fair, "± 9.0 %"),
            (5, Some(30.0), Some(true), &[], Level::Low, "± 30.0 %"),
            (1, None, Some(true), &[], Level::Low, "without an interval"),
            (5, Some(2.0), None, &[], Level::Low, "not audited"),
            (
                5,
                Some(2.0),
                Some(false),
                &[],
                Level::None,
                "no valid figure",
            ),
            (5, Some(2.0), Some(true), &["x.y"], Level::Fair, "1 warning"),
            (
                5,
                Some(2.0),
                Some(true),
                &["lab.generator_limit"],
                Level::Low,
                "load generator",
            ),
        ] {
            let report = report(repeats, margin, clean, findings);
            let found = digest(&report, &report.scenarios[0]).opening.confidence;
            assert_eq!(found.level, level, "{}", found.why);
            assert!(found.why.contains(why), "{}", found.why);
        }
    }
}
