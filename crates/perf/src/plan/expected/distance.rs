//! The time that the distance between nodes adds to a unit of work: the sequential round trips of each workload, times the delay of the
//! links. It serves estimates before a run and never appears in a result.

use toml::Value;

use crate::plan::{Network, Plan, Work};

/// Crossings of a link in a round trip.
const WAYS: f64 = 2.0;
const MS_PER_S: f64 = 1_000.0;
/// Round trips of a new connection between nodes before it carries data: TCP, TLS, and the greeting.
const CONNECTING: f64 = 3.0;
/// Default parties of a swap.
const SWAP_PARTIES: f64 = 2.0;
/// Round trips to the database server that a unit waits for: the commits of the payer, the notary and the payee.
const DATABASE: f64 = 3.0;
/// Units of a preparation that are made at the same time.
const PREPARING: f64 = 256.0;

/// Sequential round trips.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Trips {
    /// Between the first bank and the notary.
    notary: f64,
    /// Between the first bank and another one.
    peer: f64,
}

impl Trips {
    /// Returns the round trips of a unit that wait for one another. They follow from the flows:
    ///
    /// - `pay`, `issue_and_pay`: the notary signs; the payee records and confirms.
    /// - `transfer`: the same, and the payee fetches the back chain in one answer and the rest of it.
    /// - `notarise`: the notary signs.
    /// - `swap`: the coordinator asks each party, sends the proposal for a signature, and delivers the result. In between the notary
    ///   signs. With a back chain, each party fetches the states of the other pairs: in one request, or each transaction by its own. In
    ///   sequence, all but the notary count once for each party.
    /// - Files: none. The pace of files has the crossings of their links.
    /// - Other kinds: none. An issuer decides alone, and other systems have no links.
    fn of(work: &Work) -> Self {
        let number = |knob: &str| work.knobs.get(knob).and_then(Value::as_integer);
        let is =
            |knob: &str, word: &str| work.knobs.get(knob).and_then(Value::as_str) == Some(word);
        match work.kind.as_str() {
            "pay" | "issue_and_pay" => Self {
                notary: 1.0,
                peer: 1.0,
            },
            "transfer" => Self {
                notary: 1.0,
                peer: 3.0,
            },
            "notarise" => Self {
                notary: 1.0,
                peer: 0.0,
            },
            "swap" => {
                let parties = number("parties").map_or(SWAP_PARTIES, |parties| parties as f64);
                let depth = number("depth").map_or(0.0, |depth| depth as f64);
                let lacking = (parties - 2.0).max(0.0) * (depth + 1.0);
                let fetches = match (depth > 0.0 && lacking > 0.0, is("resolution", "single")) {
                    (false, _) => 0.0,
                    (true, false) => 1.0,
                    (true, true) => lacking,
                };
                let turns = if is("sessions", "sequential") {
                    parties
                } else {
                    1.0
                };
                Self {
                    notary: 1.0,
                    peer: turns * (3.0 + fetches),
                }
            }
            _ => Self::default(),
        }
    }
}

impl Network {
    /// Returns the delay one way between two nodes, milliseconds. A node's own link replaces the common one. If both have one, the
    /// slower one counts.
    fn delay_ms(&self, one: &str, other: &str) -> f64 {
        let own = |name: &str| Some(self.nodes.get(name)?.link?.delay_ms);
        let common = self.link.map_or(0.0, |link| link.delay_ms);
        match (own(one), own(other)) {
            (Some(one), Some(other)) => one.max(other),
            (Some(own), None) | (None, Some(own)) => own,
            (None, None) => common,
        }
    }

    /// Returns the longest delay one way between the first bank and another one, milliseconds.
    fn peer_delay_ms(&self) -> f64 {
        let banks = (2..=self.banks).map(|bank| format!("bank-{bank}"));
        let delays = banks.map(|bank| self.delay_ms("bank-1", &bank));
        delays.fold(0.0, f64::max)
    }
}

impl Plan {
    /// Returns the seconds that links and a distant database add to the latency of a unit, the mean over the kinds of work by weight.
    pub(super) fn distance_s(&self) -> f64 {
        let network = &self.network;
        let weights: f64 = self.work.iter().map(|work| f64::from(work.weight)).sum();
        let trip_ms = |delay_ms: f64| WAYS * delay_ms;
        let of_work = |work: &Work| {
            let trips = Trips::of(work);
            let notary_ms = trips.notary * trip_ms(network.delay_ms("bank-1", "notary"));
            let ms = notary_ms + trips.peer * trip_ms(network.peer_delay_ms());
            f64::from(work.weight) * ms
        };
        let links_ms = match weights > 0.0 {
            true => self.work.iter().map(of_work).sum::<f64>() / weights,
            false => 0.0,
        };
        let database_ms = network.database_latency_ms.map_or(0.0, |ms| DATABASE * ms);
        (links_ms + database_ms) / MS_PER_S
    }

    /// Returns the seconds that links add to the bring-up or restart of a network.
    pub(super) fn connecting_s(&self) -> f64 {
        let network = &self.network;
        let notary_ms = network.delay_ms("bank-1", "notary");
        CONNECTING * WAYS * notary_ms.max(network.peer_delay_ms()) / MS_PER_S
    }

    /// Returns the seconds that links add to the preparation of so many units: back chains are made one payment after the other.
    pub(super) fn distant_preparation_s(&self, units: f64) -> f64 {
        let depths = self.work.iter().map(|work| {
            let depth = work.knobs.get("depth").and_then(Value::as_integer);
            depth.map_or(0.0, |depth| depth as f64)
        });
        let depth = depths.fold(0.0, f64::max);
        let network = &self.network;
        let payment_ms = WAYS * (network.delay_ms("bank-1", "notary") + network.peer_delay_ms());
        depth * (units / PREPARING).ceil() * payment_ms / MS_PER_S
    }
}
