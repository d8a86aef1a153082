//! Cash: the contract as a table, conservation as a property, and the flows against a small world.

mod conservation;
mod contract;
mod decoders;
mod fixtures;
mod flows;
mod world;
