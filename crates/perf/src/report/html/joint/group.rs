//! A joint chart of scenarios that vary the same thing.

use super::lines;
use crate::report::chart::{Curve, IntervalChart, Reference, SERIES_MAX, intervals, is_geometric};
use crate::report::figures::beyond;
use crate::report::headline::main_metric;
use crate::report::html::figure::{Swatch, figure};
use crate::report::html::frame::words;
use crate::report::html::scenario::title;
use crate::report::units::Metric;
use crate::results::{CaseResult, Point, Scenario};

/// The metric that is bounded by a ceiling.
const BOUNDED: &str = "rate_per_s";
/// Charts of one group at most: one for each case of the further axes.
const CHARTS_MAX: usize = 12;

/// Scenarios with the same axes, the first of them numeric, and the same main metric, which vary the same quantity and do the same work
/// at the same cases.
pub struct Group<'a> {
    pub(super) scenarios: Vec<&'a Scenario>,
}

impl Group<'_> {
    /// Returns its title.
    pub fn title(&self) -> String {
        let axis = self.scenarios.iter().find_map(|one| one.axes.first());
        format!("Together: by {}", axis.map_or("", String::as_str))
    }

    /// Returns its section of the page. `at` is its number on the page.
    pub fn section(&self, at: usize) -> String {
        let mut kinds: Vec<Vec<CaseResult>> = Vec::new();
        for point in self.points() {
            let kind = lines::others(point);
            if !kinds.iter().any(|known| lines::same_names(known, kind)) {
                kinds.push(kind.to_vec());
            }
        }
        let mut out = format!(
            "<section class=\"scenario\" id=\"j{at}\"><div class=\"title\"><h2>{}</h2></div><p class=\"dim\">",
            words(&self.title(), 200)
        );
        let names: Vec<String> = self
            .scenarios
            .iter()
            .map(|one| format!("“{}”", words(title(one), 120)))
            .collect();
        out.push_str(&format!(
            "{} vary the same thing in different places. Their sections have all figures.</p><div class=\"charts\">",
            names.join(", ")
        ));
        for kind in kinds.iter().take(CHARTS_MAX) {
            out.push_str(&self.chart(kind));
        }
        out.push_str("</div>");
        match beyond(kinds.len(), CHARTS_MAX) {
            0 => {}
            more => out.push_str(&format!(
                "<p class=\"dim small\">{more} more cases are in the sections above.</p>"
            )),
        }
        out + "</section>"
    }

    fn points(&self) -> impl Iterator<Item = &Point> {
        self.scenarios.iter().flat_map(|scenario| &scenario.points)
    }

    /// Draws the chart of one combination of further cases: a curve for each scenario, the published figures, and the
    /// ceiling.
    fn chart(&self, kind: &[CaseResult]) -> String {
        let main = self
            .scenarios
            .first()
            .map_or(BOUNDED, |one| main_metric(one));
        let metric = Metric::named(main);
        let mut curves = Vec::new();
        let mut legend = Vec::new();
        for scenario in self.scenarios.iter().take(lines::SCENARIOS_MAX) {
            let dots = lines::dots(scenario, kind, &metric);
            if dots.is_empty() {
                continue;
            }
            let series = curves.len();
            legend.push((Swatch::Marked(series), title(scenario).to_owned()));
            curves.push(Curve { series, dots });
        }
        let mut references: Vec<Reference> = Vec::new();
        for line in self.scenarios.iter().flat_map(|one| &one.published) {
            let points = match line.metric == metric.name {
                true => lines::published(line, kind, &metric),
                false => Vec::new(),
            };
            if !points.is_empty() && references.len() < SERIES_MAX {
                let mark = references.len();
                legend.push((
                    Swatch::Published(mark),
                    format!("published: {}", line.label),
                ));
                references.push(Reference { mark, points });
            }
        }
        let mut places: Vec<f64> = curves
            .iter()
            .flat_map(|curve| curve.dots.iter().map(|dot| dot.x))
            .chain(
                references
                    .iter()
                    .flat_map(|one| one.points.iter().map(|point| point.0)),
            )
            .collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        if metric.name == BOUNDED
            && let Some((curve, words)) = lines::ceiling(&self.scenarios, kind, &places)
        {
            legend.push((Swatch::Marked(curve.series), words));
            curves.push(curve);
        }
        let axis = self.scenarios.iter().find_map(|one| one.axes.first());
        let axis = axis.map_or("", String::as_str);
        let names: Vec<&str> = kind.iter().map(|case| case.name.as_str()).collect();
        let heading = match names.is_empty() {
            true => metric.heading(),
            false => format!("{}: {}", names.join(", "), metric.heading()),
        };
        let below = match is_geometric(&places) {
            true => format!("{axis} (log scale)"),
            false => axis.to_owned(),
        };
        let svg = intervals(&IntervalChart {
            about: &format!("{heading} by {axis}"),
            title: &below,
            curves: &curves,
            references: &references,
            ..IntervalChart::default()
        });
        let mut dots = curves.iter().flat_map(|curve| &curve.dots);
        let about = match dots.any(|dot| dot.interval.is_some()) {
            true => format!("by {axis}, with 95 % confidence intervals"),
            false => format!("by {axis}"),
        };
        figure(&heading, &about, &svg, &legend)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::html::joint::groups;
    use crate::results::{AuditResult, Estimate, Published, Report};

    const CORES: &str = "network.nodes.bank-1.cores";

    /// Returns the source of a sweep of a setting and of the kind of work.
    fn source(axes: [&str; 2], set: &str, states: u32) -> String {
        format!(
            "[work]\nkind = 'pay'\nstates = {states}\n[[sweep]]\nlabel = '{}'\nset = '{set}'\nvalues = [1, 2]\n[[sweep]]\nlabel = '{}'\nset = \
             'work.kind'\nvalues = ['issue', 'pay']\n",
            axes[0], axes[1]
        )
    }

    fn scenario(title: &str, axes: [&str; 2], rows: &[(&str, &str, f64, f64)]) -> Scenario {
        let case = |axis: &str, name: &str| CaseResult {
            axis: axis.to_owned(),
            name: name.to_owned(),
            number: name.parse().ok(),
        };
        let estimate = |value| Estimate {
            value,
            ..Estimate::default()
        };
        let point = |(first, second, rate, ceiling): &(&str, &str, f64, f64)| {
            let mut point = Point {
                at: vec![case(axes[0], first), case(axes[1], second)],
                ..Point::default()
            };
            let metrics = &mut point.summary.metrics;
            metrics.insert(BOUNDED.to_owned(), estimate(*rate));
            metrics.insert("ceiling_per_s".to_owned(), estimate(*ceiling));
            point
        };
        Scenario {
            title: title.to_owned(),
            axes: axes.map(str::to_owned).to_vec(),
            points: rows.iter().map(point).collect(),
            main_metric: BOUNDED.to_owned(),
            source: source(axes, CORES, 1),
            ..Scenario::default()
        }
    }

    fn by_cores() -> [Scenario; 2] {
        let mut payer = scenario(
            "of the payer",
            ["cores", "work"],
            &[
                ("1", "issue", 500.0, 5_000.0),
                ("1", "pay", 100.0, 900.0),
                ("2", "issue", 900.0, 5_500.0),
                ("2", "pay", 180.0, 1_000.0),
            ],
        );
        payer.published = vec![Published {
            label: "Other 3.0".to_owned(),
            metric: BOUNDED.to_owned(),
            values: [("1 / pay".to_owned(), 14.0), ("32 / pay".to_owned(), 205.0)].into(),
            ..Published::default()
        }];
        let rows = [("1", "pay", 150.0, 1_200.0), ("2", "pay", 200.0, 1_100.0)];
        [payer, scenario("of the payee", ["cores", "work"], &rows)]
    }

    #[test]
    fn scenarios_with_the_same_axes_share_charts() {
        let report = Report {
            scenarios: by_cores().into(),
            ..Report::default()
        };
        let groups = groups(&report);
        assert_eq!(groups.len(), 1);
        let html = groups[0].section(0);
        for (words, count) in [
            ("<figure>", 2),
            ("</svg>of the payer</li>", 2),
            ("</svg>of the payee</li>", 1),
            ("</svg>published: Other 3.0</li>", 1),
            // The payer's on two cores is lower than the payee's. Issue has only one.
            (
                "</svg>lowest ceiling of one thread, any number of cores: 1,000/s</li>",
                1,
            ),
            (
                "</svg>lowest ceiling of one thread, any number of cores: 5,500/s</li>",
                1,
            ),
        ] {
            assert_eq!(html.matches(words).count(), count, "{words}: {html}");
        }
        let kind = &report.scenarios[1].points[0].at[1..];
        let (line, _) =
            lines::ceiling(&groups[0].scenarios, kind, &[1.0, 2.0, 32.0]).expect("known");
        let dots: Vec<(f64, f64)> = line.dots.iter().map(|dot| (dot.x, dot.value)).collect();
        assert_eq!(dots, [(1.0, 1_000.0), (32.0, 1_000.0)]);
    }

    #[test]
    fn different_axes_metrics_and_failed_scenarios_stay_apart() {
        let [payer, payee] = by_cores();
        let other_axis = scenario(
            "x",
            ["cores", "flow"],
            &[("1", "pay", 1.0, 1.0), ("2", "pay", 1.0, 1.0)],
        );
        let named = scenario(
            "x",
            ["cores", "work"],
            &[("few", "pay", 1.0, 1.0), ("2", "pay", 1.0, 1.0)],
        );
        let mut failed = payee.clone();
        failed.points[0].audits.push(AuditResult::default());
        let mut other_work = payee.clone();
        other_work.source = source(["cores", "work"], CORES, 5);
        let mut other_quantity = payee.clone();
        other_quantity.source = source(["cores", "work"], "load.outstanding", 1);
        let mut unreadable = payee.clone();
        unreadable.source = "no scenario".to_owned();
        for other in [
            other_axis,
            named,
            failed,
            other_work,
            other_quantity,
            unreadable,
        ] {
            let report = Report {
                scenarios: vec![payer.clone(), other],
                ..Report::default()
            };
            assert!(groups(&report).is_empty(), "{:?}", report.scenarios[1]);
        }
    }
}
