//! Cash, and the commercial paper that it redeems: the contracts as tables, conservation as a property, and the flows against a small world.

mod conservation;
mod contract;
mod decoders;
mod fixtures;
mod flows;
mod paper;
mod world;
