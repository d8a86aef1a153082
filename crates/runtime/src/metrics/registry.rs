//! Metrics by name, and their text form (Prometheus exposition format 0.0.4).

use std::fmt::Write;
use std::sync::{Mutex, PoisonError};

use super::counter::{Counter, Gauge};
use super::histogram::{Histogram, Unit};

/// All metrics of one node, in the order of their registration.
#[derive(Debug, Default)]
pub struct Registry {
    families: Mutex<Vec<Family>>,
}

/// The metrics of one name. They differ in their labels.
#[derive(Debug)]
struct Family {
    name: &'static str,
    help: &'static str,
    members: Vec<(String, Metric)>,
}

/// The description of the metrics of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The name.
    pub name: &'static str,
    /// `counter`, `gauge` or `histogram`.
    pub kind: &'static str,
    /// `seconds`, `milliseconds`, `bytes` or `count`.
    pub unit: &'static str,
    /// The meaning, as one sentence.
    pub help: &'static str,
    /// The labels of each metric of the name, in text form.
    pub labels: Vec<String>,
}

#[derive(Clone, Debug)]
enum Metric {
    Counter(Counter),
    Gauge(Gauge),
    Histogram(Histogram),
}

impl Metric {
    fn kind(&self) -> &'static str {
        match self {
            Metric::Counter(_) => "counter",
            Metric::Gauge(_) => "gauge",
            Metric::Histogram(_) => "histogram",
        }
    }

    /// Returns the unit: that of a histogram, and for other metrics the unit at the end of the name, or `count` if there is
    /// none.
    fn unit(&self, name: &str) -> &'static str {
        if let Metric::Histogram(histogram) = self {
            return histogram.unit().shown();
        }
        let stem = name.trim_end_matches("_total");
        let told = ["milliseconds", "seconds", "bytes"];
        let ends = |unit: &&str| stem.strip_suffix(*unit).is_some_and(|s| s.ends_with('_'));
        told.into_iter().find(ends).unwrap_or("count")
    }
}

/// Label names with their values.
type Labels<'a> = &'a [(&'a str, &'a str)];

impl Registry {
    /// Returns a counter. Its name ends in `_total`. A second call with the same name and labels returns the same counter.
    #[must_use]
    pub fn counter(&self, name: &'static str, help: &'static str, labels: Labels<'_>) -> Counter {
        match self.member(name, help, labels, || Metric::Counter(Counter::default())) {
            Metric::Counter(counter) => counter,
            _ => Counter::default(),
        }
    }

    /// Returns a gauge. A second call with the same name and labels returns the same gauge.
    #[must_use]
    pub fn gauge(&self, name: &'static str, help: &'static str, labels: Labels<'_>) -> Gauge {
        match self.member(name, help, labels, || Metric::Gauge(Gauge::default())) {
            Metric::Gauge(gauge) => gauge,
            _ => Gauge::default(),
        }
    }

    /// Returns a histogram. Its name ends in its unit. A second call with the same name and labels returns the same histogram.
    #[must_use]
    pub fn histogram(
        &self,
        name: &'static str,
        help: &'static str,
        labels: Labels<'_>,
        unit: Unit,
    ) -> Histogram {
        match self.member(name, help, labels, || {
            Metric::Histogram(Histogram::new(unit))
        }) {
            Metric::Histogram(histogram) => histogram,
            _ => Histogram::new(unit),
        }
    }

    /// Returns the descriptions of all metrics, in the order of their registration.
    #[must_use]
    pub fn list(&self) -> Vec<Listed> {
        let families = self.lock();
        let listed = families.iter().filter_map(|family| {
            let (_, first) = family.members.first()?;
            Some(Listed {
                name: family.name,
                kind: first.kind(),
                unit: first.unit(family.name),
                help: family.help,
                labels: family.members.iter().map(|(l, _)| l.clone()).collect(),
            })
        });
        listed.collect()
    }

    /// Returns all metrics as text.
    #[must_use]
    pub fn render(&self) -> String {
        let mut text = String::with_capacity(16 << 10);
        for family in self.lock().iter() {
            let Some((_, first)) = family.members.first() else {
                continue;
            };
            let (name, help, kind) = (family.name, family.help, first.kind());
            // Writing to a string does not fail.
            let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
            for (labels, metric) in &family.members {
                let braces = if labels.is_empty() {
                    String::new()
                } else {
                    format!("{{{labels}}}")
                };
                let _ = match metric {
                    Metric::Counter(counter) => writeln!(text, "{name}{braces} {}", counter.get()),
                    Metric::Gauge(gauge) => writeln!(text, "{name}{braces} {}", gauge.get()),
                    Metric::Histogram(histogram) => {
                        histogram.render(name, labels, &mut text);
                        Ok(())
                    }
                };
            }
        }
        text
    }

    fn member(
        &self,
        name: &'static str,
        help: &'static str,
        labels: Labels<'_>,
        make: impl FnOnce() -> Metric,
    ) -> Metric {
        let labels = label_text(labels);
        let mut families = self.lock();
        let at = families
            .iter()
            .position(|family| family.name == name)
            .unwrap_or_else(|| {
                families.push(Family {
                    name,
                    help,
                    members: Vec::new(),
                });
                families.len() - 1
            });
        let members = &mut families[at].members;
        if let Some((_, metric)) = members.iter().find(|(known, _)| *known == labels) {
            return metric.clone();
        }
        let metric = make();
        members.push((labels, metric.clone()));
        metric
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Family>> {
        self.families.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn label_text(labels: Labels<'_>) -> String {
    let quoted = |(name, value): &(&str, &str)| {
        let value = value
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n");
        format!("{name}=\"{value}\"")
    };
    labels.iter().map(quoted).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn text_form() {
        let registry = Registry::default();
        let up = registry.counter("x_total", "Things.", &[("kind", "a\"b")]);
        registry
            .counter("x_total", "Things.", &[("kind", "c")])
            .add(5);
        registry
            .counter("x_total", "Things.", &[("kind", "a\"b")])
            .increment();
        up.increment();
        let gauge = registry.gauge("y", "Level.", &[]);
        gauge.set(3);
        gauge.decrement();
        assert_eq!(
            registry.render(),
            "# HELP x_total Things.\n# TYPE x_total counter\nx_total{kind=\"a\\\"b\"} 2\nx_total{kind=\"c\"} 5\n\
             # HELP y Level.\n# TYPE y gauge\ny 2\n"
        );
    }

    #[test]
    fn buckets_accumulate() {
        let registry = Registry::default();
        let times = registry.histogram("t_seconds", "Times.", &[("op", "sync")], Unit::Seconds);
        for us in [9, 10, 11, 1_000_000] {
            times.record_time(Duration::from_micros(us));
        }
        times.record_time(Duration::from_secs(3_600));
        let text = registry.render();
        for line in [
            "t_seconds_bucket{op=\"sync\",le=\"0.00001\"} 2",
            "t_seconds_bucket{op=\"sync\",le=\"0.000025\"} 3",
            "t_seconds_bucket{op=\"sync\",le=\"1\"} 4",
            "t_seconds_bucket{op=\"sync\",le=\"+Inf\"} 5",
            "t_seconds_sum{op=\"sync\"} 3601.00003",
            "t_seconds_count{op=\"sync\"} 5",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
        }
        let sizes = registry.histogram("s_rows", "Sizes.", &[], Unit::Count);
        sizes.record(0);
        sizes.record(20_000);
        assert_eq!(sizes.count(), 2);
        assert!(registry.render().contains("s_rows_bucket{le=\"1\"} 1\n"));
    }
}
