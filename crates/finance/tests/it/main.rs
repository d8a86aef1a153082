//! Tests of the contracts as tables, of conservation as a property, and of the cash flows against a small world. Flows with a
//! counterparty are tested between kernels, in the crate `kernel`.

mod bid;
mod commands;
mod conservation;
mod contract;
mod decoders;
mod documents;
mod fixtures;
mod flows;
mod locks;
mod mandate;
mod obligation;
mod paper;
mod stock;
mod world;
