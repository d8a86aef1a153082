//! Reads the wanted lines of a node's `/metrics` and skips the rest.

use std::collections::HashSet;

use crate::measure::{SERIAL_JOBS_METRIC, seconds_as_us};

/// Upper limit on the series of one node: a wanted name brings all its labels.
const SERIES_MAX: usize = 96;

/// Counters that a node reports, in addition to those of its process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counters {
    /// Whether the node reports commits and the bytes of its connections. Otherwise the next five fields are 0 and mean nothing.
    pub is_counted: bool,
    pub commits: u64,
    pub sent_bytes: u64,
    pub received_bytes: u64,
    pub to_clients_bytes: u64,
    pub from_clients_bytes: u64,
    /// Processor time of the process; `None` if the node does not report it.
    pub cpu_ms: Option<u64>,
    /// Its resident memory; `None` if the node does not report it.
    pub rss_bytes: Option<u64>,
    /// Time that the deciding thread spent on jobs; `None` if the node does not report it.
    pub kernel_jobs_us: Option<u64>,
}

/// One answer of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Scrape {
    pub counters: Counters,
    /// The wanted series with their values, by name with labels.
    pub series: Vec<(String, f64)>,
}

/// Reads an answer. Malformed lines are skipped.
pub(super) fn read(text: &str, wanted: &HashSet<String>) -> Scrape {
    let mut scrape = Scrape::default();
    let counters = &mut scrape.counters;
    for line in text.lines() {
        if line.starts_with('#') {
            continue;
        }
        let Some((series, value)) = line.rsplit_once(' ') else {
            continue;
        };
        let name = series.split_once('{').map_or(series, |(name, _)| name);
        let place = match name {
            "tally_commit_seconds_count" | "tally_chain_commit_seconds_count" => {
                counters.is_counted = true;
                Some(&mut counters.commits)
            }
            "tally_wire_sent_bytes_total" | "tally_chain_gossip_sent_bytes_total" => {
                Some(&mut counters.sent_bytes)
            }
            "tally_wire_received_bytes_total" | "tally_chain_gossip_received_bytes_total" => {
                Some(&mut counters.received_bytes)
            }
            "tally_http_bytes_total" if series.contains("\"out\"") => {
                Some(&mut counters.to_clients_bytes)
            }
            "tally_http_bytes_total" => Some(&mut counters.from_clients_bytes),
            "tally_process_cpu_milliseconds_total" => {
                counters.cpu_ms = value.parse().ok();
                None
            }
            "process_resident_memory_bytes" => {
                counters.rss_bytes = value.parse().ok();
                None
            }
            SERIAL_JOBS_METRIC => {
                counters.kernel_jobs_us = seconds_as_us(value);
                None
            }
            _ => None,
        };
        if let (Some(place), Ok(value)) = (place, value.parse()) {
            *place = value;
        }
        if scrape.series.len() < SERIES_MAX
            && (wanted.contains(name) || wanted.contains(series))
            && let Ok(value) = value.parse::<f64>()
            && value.is_finite()
        {
            scrape.series.push((series.to_owned(), value));
        }
    }
    scrape
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wanted_lines_are_read_and_nothing_else() {
        let text = "# HELP tally_commit_seconds x\n# TYPE tally_commit_seconds histogram\n\
            tally_commit_seconds_bucket{le=\"0.001\"} 5\ntally_commit_seconds_sum 0.25\n\
            tally_commit_seconds_count 17\ntally_wire_sent_bytes_total 1000\n\
            tally_http_bytes_total{direction=\"in\"} 70\ntally_http_bytes_total{direction=\"out\"} 80\n\
            tally_jobs_kernel_seconds_sum 0.25\ntally_process_cpu_milliseconds_total 42\nprocess_resident_memory_bytes 4096\n\
            tally_flows_done_total{side=\"initiating\"} 3\ntally_flows_done_total{side=\"responding\"} 4\n\
            nonsense\ntally_odd{x=\"a b\"} NaN\ntally_odd 1 2\n";
        let wanted = [
            "tally_flows_done_total",
            "tally_commit_seconds_sum",
            "tally_odd",
        ];
        let scrape = read(text, &wanted.map(str::to_owned).into());
        assert_eq!(
            scrape.counters,
            Counters {
                is_counted: true,
                commits: 17,
                sent_bytes: 1000,
                received_bytes: 0,
                to_clients_bytes: 80,
                from_clients_bytes: 70,
                cpu_ms: Some(42),
                rss_bytes: Some(4096),
                kernel_jobs_us: Some(250_000),
            }
        );
        let series: Vec<_> = scrape
            .series
            .iter()
            .map(|(name, value)| (name.as_str(), *value))
            .collect();
        assert_eq!(
            series,
            [
                ("tally_commit_seconds_sum", 0.25),
                ("tally_flows_done_total{side=\"initiating\"}", 3.0),
                ("tally_flows_done_total{side=\"responding\"}", 4.0),
            ]
        );
        let chain = "tally_chain_commit_seconds_count 3\ntally_chain_gossip_sent_bytes_total 50\n\
            tally_chain_gossip_received_bytes_total 60\n";
        for (text, expected) in [
            (chain, (true, 3, 50, 60)),
            ("process_resident_memory_bytes 4096\n", (false, 0, 0, 0)),
        ] {
            let of = read(text, &HashSet::new()).counters;
            let found = (of.is_counted, of.commits, of.sent_bytes, of.received_bytes);
            assert_eq!(found, expected, "{text}");
        }
        let one = read(
            text,
            &["tally_flows_done_total{side=\"responding\"}".to_owned()].into(),
        );
        assert_eq!(one.series.len(), 1, "one label of several");
    }

    #[test]
    fn series_are_bounded() {
        let text: String = (0..500).map(|at| format!("x{{n=\"{at}\"}} 1\n")).collect();
        assert_eq!(
            read(&text, &["x".to_owned()].into()).series.len(),
            SERIES_MAX
        );
        assert_eq!(read("", &HashSet::new()), Scrape::default());
    }
}
