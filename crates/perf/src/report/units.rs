//! The metrics of a point: their titles, their units, and their better direction.

use super::figures::{compact, figure, two_digits};
use crate::results::Estimate;

/// The better direction of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// More is better: rates.
    Higher,
    /// Less is better: latencies, costs.
    Lower,
}

/// The description of a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// Its name in the document.
    pub name: String,
    /// Its display title.
    pub title: String,
    /// A shorter title.
    pub brief: String,
    /// The unit shown after the number; empty for a plain number.
    pub unit: &'static str,
    /// The better direction; `None` if neither is better.
    pub better: Option<Better>,
    /// The factor from the stored figure to the shown one.
    pub scale: f64,
}

/// From this half width of an interval on, as a share of the figure, the repeats support no single figure.
const UNSUPPORTED: f64 = 0.5;

/// The known metrics in the order of the tables: name, title, short title, unit, better, scale.
const KNOWN: [(&str, &str, &str, &str, Better, f64); 36] = [
    (
        "chain_tps",
        "Payments in blocks",
        "In blocks",
        "/s",
        Better::Higher,
        1.0,
    ),
    (
        "to_block_p50_s",
        "Median time to a block",
        "To block p50",
        "s",
        Better::Lower,
        1.0,
    ),
    (
        "to_block_p95_s",
        "Time to a block, 95th percentile",
        "To block p95",
        "s",
        Better::Lower,
        1.0,
    ),
    (
        "block_s",
        "Time between blocks",
        "Between blocks",
        "s",
        Better::Lower,
        1.0,
    ),
    (
        "fork_depth_max",
        "Deepest fork, blocks",
        "Deepest fork",
        "",
        Better::Lower,
        1.0,
    ),
    (
        "chain_bytes_per_tx",
        "Files of a node, a transaction",
        "Bytes a tx",
        "B",
        Better::Lower,
        1.0,
    ),
    ("rate_per_s", "Rate", "Rate", "/s", Better::Higher, 1.0),
    (
        "states_per_s",
        "States",
        "States",
        "/s",
        Better::Higher,
        1.0,
    ),
    (
        "file_mb_per_s",
        "Files moved",
        "Files",
        "MB/s",
        Better::Higher,
        1.0,
    ),
    ("knee_per_s", "Knee", "Knee", "/s", Better::Higher, 1.0),
    ("mean_ms", "Mean latency", "Mean", "ms", Better::Lower, 1.0),
    ("p50_ms", "Median latency", "p50", "ms", Better::Lower, 1.0),
    ("p90_ms", "90th percentile", "p90", "ms", Better::Lower, 1.0),
    ("p95_ms", "95th percentile", "p95", "ms", Better::Lower, 1.0),
    ("p99_ms", "99th percentile", "p99", "ms", Better::Lower, 1.0),
    ("max_ms", "Longest", "Max", "ms", Better::Lower, 1.0),
    ("error_share", "Errors", "Errors", "%", Better::Lower, 100.0),
    (
        "retries_per_unit",
        "Retries a unit",
        "Retries",
        "",
        Better::Lower,
        1.0,
    ),
    (
        "dropped_share",
        "Never started",
        "Dropped",
        "%",
        Better::Lower,
        100.0,
    ),
    (
        "late_share",
        "Started late",
        "Late",
        "%",
        Better::Lower,
        100.0,
    ),
    (
        "cpu_us_per_unit",
        "Processor a unit",
        "CPU a unit",
        "µs",
        Better::Lower,
        1.0,
    ),
    (
        "serial_us_per_unit",
        "Serial processor time a unit, busiest node",
        "Serial a unit",
        "µs",
        Better::Lower,
        1.0,
    ),
    (
        "ceiling_per_s",
        "Ceiling on any number of cores",
        "Ceiling",
        "/s",
        Better::Higher,
        1.0,
    ),
    (
        "commits_per_unit",
        "Durable commits a unit",
        "Commits a unit",
        "",
        Better::Lower,
        1.0,
    ),
    (
        "written_bytes_per_unit",
        "Written to disk a unit",
        "Written a unit",
        "B",
        Better::Lower,
        1.0,
    ),
    (
        "disk_bytes_per_unit",
        "Disk growth a unit",
        "Disk a unit",
        "B",
        Better::Lower,
        1.0,
    ),
    (
        "rss_mb_max",
        "Memory, largest node",
        "Memory",
        "MB",
        Better::Lower,
        1.0,
    ),
    (
        "database_rss_mb_max",
        "Memory, largest database server",
        "Database memory",
        "MB",
        Better::Lower,
        1.0,
    ),
    (
        "start_ms",
        "Start of the slowest node",
        "Start",
        "ms",
        Better::Lower,
        1.0,
    ),
    (
        "sent_mbit_per_s",
        "Sent by the first bank",
        "Sent",
        "Mbit/s",
        Better::Higher,
        1.0,
    ),
    (
        "generator_cpu_cores",
        "Load generator",
        "Generator",
        "cores",
        Better::Lower,
        1.0,
    ),
    (
        "rate_drift_percent_per_h",
        "Drift of the rate",
        "Rate drift",
        "%/h",
        Better::Higher,
        1.0,
    ),
    (
        "p50_drift_percent_per_h",
        "Drift of the median latency",
        "p50 drift",
        "%/h",
        Better::Lower,
        1.0,
    ),
    (
        "rss_drift_mb_per_h",
        "Drift of the nodes' memory",
        "Memory drift",
        "MB/h",
        Better::Lower,
        1.0,
    ),
    (
        "database_rss_drift_mb_per_h",
        "Drift of the databases' memory",
        "Database memory drift",
        "MB/h",
        Better::Lower,
        1.0,
    ),
    (
        "disk_mb_per_h",
        "Disk growth",
        "Disk",
        "MB/h",
        Better::Lower,
        1.0,
    ),
];

impl Metric {
    /// Returns the metric of that name. An unknown one is shown under its own name, without a unit.
    pub fn named(name: &str) -> Self {
        let known = KNOWN.iter().find(|known| known.0 == name);
        match known {
            Some((name, title, brief, unit, better, scale)) => Metric {
                name: (*name).to_owned(),
                title: (*title).to_owned(),
                brief: (*brief).to_owned(),
                unit,
                better: (!NEUTRAL.contains(name)).then_some(*better),
                scale: *scale,
            },
            None => Metric {
                name: name.to_owned(),
                title: name.to_owned(),
                brief: name.to_owned(),
                unit: unit_of(name),
                better: None,
                scale: 1.0,
            },
        }
    }

    /// Returns title and unit, for a table's heading or an axis.
    pub fn heading(&self) -> String {
        match self.unit {
            "" => self.title.clone(),
            "/s" => format!("{}, a second", self.title),
            unit => format!("{}, {unit}", self.title),
        }
    }

    /// Returns the short title and unit.
    pub fn short(&self) -> String {
        match self.unit {
            "" => self.brief.clone(),
            unit => format!("{} {unit}", self.brief),
        }
    }

    /// Returns whether it is a latency.
    pub fn is_latency(&self) -> bool {
        self.unit == "ms"
    }

    /// Formats a figure of it, without its unit.
    pub fn figure(&self, value: f64) -> String {
        figure(value * self.scale)
    }

    /// Formats a figure of it with its unit.
    pub fn with_unit(&self, value: f64) -> String {
        self.and_unit(&self.figure(value))
    }

    /// Adds the unit to a text of figures.
    pub fn and_unit(&self, figures: &str) -> String {
        match self.unit {
            "" | "/s" | "%" => format!("{figures}{}", self.unit),
            unit => format!("{figures} {unit}"),
        }
    }

    /// Returns the distance to the farther end of the interval, in two digits; `None` without an interval, or if it has
    /// no width.
    pub fn margin(&self, estimate: &Estimate) -> Option<String> {
        self.margin_of(estimate).map(two_digits)
    }

    fn margin_of(&self, estimate: &Estimate) -> Option<f64> {
        let (low, high) = estimate.low.zip(estimate.high)?;
        let margin = (high - estimate.value).max(estimate.value - low) * self.scale;
        (margin > 0.0).then_some(margin)
    }

    /// Returns the interval in words, `120 to 870`, if the repeats support no single figure: if its farther end is half of
    /// the figure or more away. A metric that is never negative has no negative end.
    pub fn range(&self, estimate: &Estimate) -> Option<String> {
        let (low, high) = estimate.low.zip(estimate.high)?;
        let is_wide = self.margin_of(estimate)? >= UNSUPPORTED * estimate.value.abs() * self.scale;
        let may_be_negative = estimate.value < 0.0 || self.name.contains("drift");
        let low = if may_be_negative { low } else { low.max(0.0) };
        is_wide.then(|| format!("{} to {}", self.figure(low), self.figure(high)))
    }

    /// Formats the estimate as `1,234 ± 56`, or as its [`range`](Self::range).
    pub fn supported(&self, estimate: &Estimate) -> String {
        let range = self.range(estimate);
        range.unwrap_or_else(|| self.estimate(estimate))
    }

    /// Formats the estimate as `1,234 ± 56`.
    pub fn estimate(&self, estimate: &Estimate) -> String {
        match self.margin(estimate) {
            Some(margin) => format!("{} ± {margin}", self.figure(estimate.value)),
            None => self.figure(estimate.value),
        }
    }

    /// Returns [`supported`](Self::supported) in at most about `letters` letters, if need be as `1.03M ± 36k`.
    pub fn estimate_within(&self, estimate: &Estimate, letters: usize) -> String {
        let whole = self.supported(estimate);
        if whole.chars().count() <= letters {
            return whole;
        }
        if let (Some(_), Some((low, high))) =
            (self.range(estimate), estimate.low.zip(estimate.high))
        {
            let [low, high] = [low.max(0.0), high].map(|end| compact(end * self.scale));
            return format!("{low} to {high}");
        }
        let value = compact(estimate.value * self.scale);
        match self.margin_of(estimate) {
            Some(margin) => format!("{value} ± {}", compact(margin)),
            None => value,
        }
    }

    /// Returns how many times better `ours` is than `theirs`; `None` if they cannot be compared.
    pub fn factor(&self, ours: f64, theirs: f64) -> Option<f64> {
        if !(ours > 0.0 && theirs > 0.0) {
            return None;
        }
        let factor = match self.better? {
            Better::Higher => ours / theirs,
            Better::Lower => theirs / ours,
        };
        factor.is_finite().then_some(factor)
    }

    /// Returns a factor in words: `12.3 times the rate`, `1.4 times slower`.
    pub fn factor_words(&self, factor: f64) -> String {
        let times = figure(if factor >= 1.0 { factor } else { 1.0 / factor });
        let words = match (self.better, self.unit, factor >= 1.0) {
            (Some(Better::Higher), _, true) => "more",
            (Some(Better::Higher), _, false) => "less",
            (_, "ms", true) => "faster",
            (_, "ms", false) => "slower",
            (_, _, true) => "less",
            (_, _, false) => "more",
        };
        format!("{times}× {words}")
    }
}

/// Metrics that are facts, neither good nor bad.
const NEUTRAL: [&str; 2] = ["block_s", "sent_mbit_per_s"];

/// Returns the rank of a metric in tables: the known first, in their order, then the others by name.
pub fn rank(name: &str) -> usize {
    KNOWN
        .iter()
        .position(|known| known.0 == name)
        .unwrap_or(KNOWN.len())
}

/// Returns the names of all known metrics.
#[cfg(test)]
pub fn names() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|known| known.0)
}

/// Returns the unit that a name's ending implies.
fn unit_of(name: &str) -> &'static str {
    match name.rsplit('_').next() {
        Some("ms") => "ms",
        Some("us") => "µs",
        Some("mb") => "MB",
        Some("bytes") => "B",
        _ if name.ends_with("_per_s") => "/s",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_have_two_digits() {
        let rate = Metric::named("rate_per_s");
        for (margin, expected) in [
            (378.0, "5,000 ± 380"),
            (9.79, "5,000 ± 9.8"),
            (0.312, "5,000 ± 0.31"),
            (0.0, "5,000"),
        ] {
            let (low, high) = (Some(5000.0 - margin), Some(5000.0 + margin));
            let value = 5000.0;
            assert_eq!(rate.estimate(&Estimate { value, low, high }), expected);
        }
    }

    #[test]
    fn an_estimate_that_is_too_long_is_told_in_fewer_letters() {
        let bytes = Metric::named("disk_bytes_per_unit");
        for (value, margin, expected) in [
            (5_604.0, 24_000.0, "0 to 29,604"),
            (5_604_000.0, 4_000_000.0, "1.6M to 9.6M"),
            (1_027_831.0, 35_412.0, "1.03M ± 35.4k"),
            (23_827_122.0, 1_300.0, "23.8M ± 1,300"),
        ] {
            let (low, high) = (Some(value - margin), Some(value + margin));
            let estimate = Estimate { value, low, high };
            assert_eq!(bytes.estimate_within(&estimate, 15), expected);
        }
    }

    #[test]
    fn a_figure_with_a_wide_interval_is_told_as_a_range() {
        let of = |value: f64, margin: f64| Estimate {
            value,
            low: Some(value - margin),
            high: Some(value + margin),
        };
        for (metric, estimate, expected) in [
            ("rate_per_s", of(100.0, 49.0), "100 ± 49"),
            ("rate_per_s", of(100.0, 50.0), "50 to 150"),
            ("rate_per_s", of(100.0, 140.0), "0 to 240"),
            ("error_share", of(0.01, 0.02), "0 to 3"),
            ("rate_drift_percent_per_h", of(0.5, 2.0), "-1.50 to 2.50"),
            ("rate_per_s", of(0.0, 0.0), "0"),
        ] {
            assert_eq!(Metric::named(metric).supported(&estimate), expected);
        }
        let alone = Estimate {
            value: 5.0,
            ..Estimate::default()
        };
        assert_eq!(Metric::named("rate_per_s").supported(&alone), "5");
    }

    #[test]
    fn a_factor_above_one_is_always_better() {
        let rate = Metric::named("rate_per_s");
        let latency = Metric::named("p50_ms");
        assert_eq!(rate.factor(200.0, 100.0), Some(2.0));
        assert_eq!(latency.factor(200.0, 100.0), Some(0.5));
        assert_eq!(rate.factor_words(2.0), "2× more");
        assert_eq!(rate.factor_words(0.4), "2.50× less");
        assert_eq!(latency.factor_words(0.5), "2× slower");
        assert_eq!(Metric::named("unheard").factor(1.0, 2.0), None);
        assert_eq!(rate.factor(1.0, 0.0), None);
    }
}
