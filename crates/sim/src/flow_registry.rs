//! The flows that every simulated node runs: the built-in ones, and those of the simulation.

use flow::FlowRegistry;

use crate::converse::{Converse, Echo};
use crate::swarm::{Swarm, Swarmed};
use crate::{adversary, stories, swaps};

/// Returns all flows.
pub(crate) fn all_flows() -> FlowRegistry {
    let mut flows = FlowRegistry::new();
    flow::transitions::register_flows(&mut flows);
    flow::identities::register_flows(&mut flows);
    finance::register_flows(&mut flows);
    flows.register::<Converse>();
    flows.register_responder::<Echo>();
    stories::register(&mut flows);
    swaps::register(&mut flows);
    adversary::register(&mut flows);
    flows.register::<Swarm>();
    flows.register_responder::<Swarmed>();
    flows
}
