//! Cash, documents, locks of cash, stock, commercial paper, obligations, bids and mandates: the contracts as tables, conservation as a property, and the cash flows
//! against a small world. Flows with a counterparty are tested among kernels, in the crate `kernel`.

mod bid;
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
