//! The digest of a scenario: the figures and sentences that a report adds to its measurements. It is computed once, and the
//! page, the JSON and the terminal show the same digest. Renderers compute no figure of their own.

mod audits;
mod bottleneck;
mod conditions;
mod costs;
mod growth;
mod offered;
mod opening;
mod round_trips;
mod standing;

use serde::Serialize;

use super::headline::{headline, place};
use crate::machine;
use crate::results::{Distance, Machine, Point, Report, Scenario};

pub use audits::audited;
pub use bottleneck::NEAR;
pub(super) use conditions::plans;
pub use conditions::{ConditionRow, Conditions};
pub use costs::{Cost, Costs, NodeCost};
pub use growth::{Growth, SpeedUp};
pub use offered::{OfferedLoad, OfferedRate};
pub use opening::{Confidence, Opening};
pub use round_trips::RoundTrips;
pub use standing::Standing;

/// The statements of a report about a scenario beyond its measurements.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Digest {
    /// The scenario's short name.
    pub name: String,
    /// The point of the headline figure, as `parties = 4, variant = parallel`; empty without a sweep.
    pub at: String,
    /// Whether the figures are valid.
    pub standing: Standing,
    /// The opening paragraph.
    pub opening: Opening,
    /// Our conditions next to those of the published figures.
    pub conditions: Conditions,
    /// The use of the machine's limits at the headline point; empty if the limits were not measured.
    pub limits: Vec<Distance>,
    /// The cost of a unit at the headline point.
    pub costs: Costs,
    /// How the main figure grows along a numeric axis; empty without one.
    pub growth: Vec<Growth>,
    /// The points compared with a base case that does the same work; empty without one, and for protocols whose round trips are counted.
    pub speed_ups: Vec<SpeedUp>,
    /// The sequential round trips of each series, if the first axis is a delay between nodes; else empty.
    pub round_trips: Vec<RoundTrips>,
    /// The latency by offered load; empty if no rate was offered.
    pub offered: OfferedLoad,
}

/// Returns the digest of a scenario of this report.
pub fn digest(report: &Report, scenario: &Scenario) -> Digest {
    // Without a headline, the first point still has conditions and costs.
    let headline = headline(scenario);
    let point = headline.as_ref().map(|headline| headline.point);
    let point = point.or(scenario.points.first());
    let conditions = conditions::of(&report.machine, scenario, point);
    let limits = point.map_or(Vec::new(), |point| limits(point, &report.machine));
    let standing = Standing::of(scenario);
    let round_trips = round_trips::of(scenario);
    let offered = offered::of(scenario);
    Digest {
        name: scenario.name.clone(),
        at: point.map_or(String::new(), place),
        opening: opening::of(
            &report.machine,
            scenario,
            standing,
            headline.as_ref(),
            &conditions,
            &limits,
            &offered,
        ),
        conditions: conditions.table,
        limits,
        costs: point.map_or(Costs::default(), costs::of),
        growth: growth::growth(scenario),
        // Protocols with different tasks are no variants of each other.
        speed_ups: match round_trips.is_empty() {
            true => growth::speed_ups(scenario),
            false => Vec::new(),
        },
        round_trips,
        offered,
        standing,
    }
}

/// Returns the recorded distances of a point. A report without them gets them from its measurements.
fn limits(point: &Point, machine: &Machine) -> Vec<Distance> {
    let found = match point.distances.is_empty() {
        true => machine::distance(point, machine),
        false => point.distances.clone(),
    };
    found
        .into_iter()
        .filter(|distance| distance.share().is_finite())
        .collect()
}
