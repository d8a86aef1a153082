//! The pace that a closed loop is expected to reach, by kind of work. It serves estimates before a run and never appears
//! in a result.
//!
//! Sources:
//! - Files: the table of `bench attachments` in `docs/reference/benchmarks.md`, medians of five runs on two cores of an
//!   AMD EPYC. Shared documents reach 3,500 to 5,800 a second without files, 257 files of 1 MB and 32 files of 10 MB.
//! - Audits of files: an assumption, half a minute for the most bytes that one audit reads.
//! - Swaps: 7 ms for each party with a back chain of ten is an assumption. The factors of the variants are the ratios of the
//!   published latencies of ten parties: 14,400 / 2,950 ms (4.4 and 4.5) and 38,000 / 14,400 ms (4.3 and 4.4).
//! - Other kinds: an assumption, [`PER_S_GUESSED`].

use toml::Value;

use super::model::{Closed, Plan, Think, Work};
use super::network::{Link, Network};

/// Units a second assumed for a closed loop before it has run, if nothing is known of its work.
pub(crate) const PER_S_GUESSED: f64 = 200.0;

/// Documents a second that are shared if the receiver has their files.
const DOCUMENTS_PER_S: f64 = 4_000.0;
/// Bytes of files a second that move from one node to another, or from a client to a node.
const FILE_BYTES_PER_S: f64 = 280e6;
/// Bytes of files a second that an audit reads back and hashes.
const AUDITED_BYTES_PER_S: f64 = 200e6;
/// Default bytes of a mock file.
const FILE_BYTES: f64 = 1e6;
/// Messages of one unit that cross a link one after the other.
const CROSSINGS: f64 = 4.0;
/// Seconds of a swap for each of its parties.
const SWAP_PARTY_S: f64 = 0.007;
/// Default parties of a swap.
const SWAP_PARTIES: f64 = 2.0;
/// How many times longer a swap takes if its coordinator asks the parties one after the other.
const SWAP_SEQUENTIAL: f64 = 4.9;
/// How many times longer it takes if missing transactions are fetched one at a time.
const SWAP_SINGLE: f64 = 2.6;
/// Transactions a second that prepare back chains: an assumption.
const PREPARED_PER_S: f64 = 1_000.0;

/// The expected cost of one unit.
#[derive(Clone, Copy, Debug, Default)]
struct UnitCost {
    /// Seconds of the system that nothing else can use.
    busy_s: f64,
    /// Seconds from start to delivery, if it runs alone.
    latency_s: f64,
    /// Seconds to prepare it, if it uses up a preparation of its own.
    prepare_s: f64,
    /// Seconds to read its files back, at every bank that has them.
    audit_s: f64,
}

impl Plan {
    /// Returns the units a second that a closed loop of this scenario is expected to complete.
    pub(super) fn pace_per_s(&self, closed: &Closed) -> f64 {
        let unit = self.unit_cost();
        let think_s = match closed.think {
            Think::Fixed(ms) | Think::Random(ms) | Think::Uniform(ms) => ms / 1_000.0,
        };
        let by_workers = f64::from(closed.outstanding) / (unit.latency_s + think_s);
        by_workers.min(1.0 / unit.busy_s)
    }

    /// Returns the seconds that preparing one unit is expected to take.
    pub(super) fn unit_prepare_s(&self) -> f64 {
        self.unit_cost().prepare_s
    }

    /// Returns the seconds that auditing the files of one unit is expected to take.
    pub(super) fn unit_audit_s(&self) -> f64 {
        self.unit_cost().audit_s
    }

    /// Returns the cost of a unit, the mean over the kinds of work by weight.
    fn unit_cost(&self) -> UnitCost {
        let mut mean = UnitCost::default();
        let weights: f64 = self.work.iter().map(|work| f64::from(work.weight)).sum();
        for work in &self.work {
            let share = f64::from(work.weight) / weights;
            let one = of_work(work, &self.network);
            mean.busy_s += share * one.busy_s;
            mean.latency_s += share * one.latency_s;
            mean.prepare_s += share * one.prepare_s;
            mean.audit_s += share * one.audit_s;
        }
        match self.work.is_empty() {
            true => guessed(),
            false => mean,
        }
    }
}

fn guessed() -> UnitCost {
    UnitCost {
        busy_s: 1.0 / PER_S_GUESSED,
        latency_s: 1.0 / PER_S_GUESSED,
        prepare_s: 0.0,
        audit_s: 0.0,
    }
}

fn of_work(work: &Work, network: &Network) -> UnitCost {
    let number = |knob: &str| work.knobs.get(knob).and_then(Value::as_integer);
    let is = |knob: &str, word: &str| work.knobs.get(knob).and_then(Value::as_str) == Some(word);
    match work.kind.as_str() {
        "make-attachments" | "transfer-attachment" => {
            let from = number("size").map_or(FILE_BYTES, |size| size as f64);
            let to = number("size_max").map_or(from, |size| size as f64);
            let bytes = f64::midpoint(from, to);
            let moved = !is("temperature", "present");
            let cost = of_file(if moved { bytes } else { 0.0 }, network);
            let banks = match (work.kind.as_str(), is("temperature", "sent")) {
                ("make-attachments", _) => 1.0,
                (_, false) => 2.0,
                (_, true) => 3.0,
            };
            UnitCost {
                // A file that is sent before moves once more.
                prepare_s: cost.prepare_s * f64::max(1.0, banks - 1.0),
                audit_s: cost.audit_s * banks,
                ..cost
            }
        }
        "swap" => {
            let parties = number("parties").map_or(SWAP_PARTIES, |parties| parties as f64);
            let mut latency_s = parties * SWAP_PARTY_S;
            if is("sessions", "sequential") {
                latency_s *= SWAP_SEQUENTIAL;
            }
            if is("resolution", "single") {
                latency_s *= SWAP_SINGLE;
            }
            // Without a back chain, units swap the same states back and forth.
            let depth = number("depth").map_or(0.0, |depth| depth as f64);
            let transactions = if depth > 0.0 {
                parties * (depth + 1.0)
            } else {
                0.0
            };
            UnitCost {
                latency_s,
                prepare_s: transactions / PREPARED_PER_S,
                ..guessed()
            }
        }
        _ => guessed(),
    }
}

/// Returns the cost of a document whose file of `bytes` has to move.
fn of_file(bytes: f64, network: &Network) -> UnitCost {
    let own = network.nodes.values().filter_map(|node| node.link);
    let links: Vec<Link> = network.link.into_iter().chain(own).collect();
    let on_wire_s = |link: &Link| {
        link.mbit_per_s
            .map_or(0.0, |mbit_per_s| bytes * 8.0 / (mbit_per_s * 1e6))
    };
    let wire_s = links.iter().map(on_wire_s).fold(0.0, f64::max);
    let delay_ms = links.iter().map(|link| link.delay_ms).fold(0.0, f64::max);
    let here_s = bytes / FILE_BYTES_PER_S;
    let busy_s = 1.0 / DOCUMENTS_PER_S + here_s.max(wire_s);
    UnitCost {
        busy_s,
        latency_s: busy_s + CROSSINGS * delay_ms / 1_000.0,
        prepare_s: here_s,
        audit_s: bytes / AUDITED_BYTES_PER_S,
    }
}
