//! The memory of one live flow, by the node's own accounting.

use super::fit::through_origin;
use crate::results::{Estimate, Scenario, Stretch};

/// The expected memory of the running flows of clients.
pub(super) const BYTES: &str = "tally_flows_bytes";
/// The number of running flows.
const COUNT: &str = "tally_flows_in_flight";

/// Returns the bytes of one live flow that clients have started at a node, with their interval over the stretches; `None` if
/// the node accounts for none. Resident memory cannot tell: it does not fall with the load.
pub(super) fn bytes_per_flow(node: &str, scenario: &Scenario) -> Option<Estimate> {
    let stretches = scenario.points.iter().flat_map(|point| &point.stretches);
    let means = stretches.filter_map(|stretch| {
        let flows = mean(stretch, node, COUNT).filter(|flows| *flows > 0.0)?;
        Some((
            flows,
            mean(stretch, node, BYTES).filter(|bytes| *bytes > 0.0)?,
        ))
    });
    let means: Vec<(f64, f64)> = means.collect();
    Some(through_origin(&means, 1.0)?.at)
}

/// Returns the mean of a metric in a stretch; `None` if the node does not report it.
fn mean(stretch: &Stretch, node: &str, metric: &str) -> Option<f64> {
    let mut series = stretch.metrics.iter();
    let series = series.find(|series| series.node == node && series.name == metric)?;
    let values = series.values.iter().map(|(_, value)| *value);
    (!series.values.is_empty()).then(|| values.sum::<f64>() / series.values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::size::synthetic::scenario;

    #[test]
    fn bytes_are_those_that_the_node_accounts_for() {
        let mut measured = scenario(&[1_000, 2_000]);
        let found = bytes_per_flow("bank-1", &measured).expect("known");
        assert!((found.value - 16_000.0).abs() < 1e-6, "{found:?}");
        assert_eq!(bytes_per_flow("bank-2", &measured), None);
        for stretch in measured
            .points
            .iter_mut()
            .flat_map(|point| &mut point.stretches)
        {
            stretch.metrics.retain(|series| series.name != BYTES);
        }
        assert_eq!(bytes_per_flow("bank-1", &measured), None);
    }
}
