//! The ledger's rules as tables: what is accepted, and the code and hint of everything that is refused.

mod columns;
mod contextual;
mod decoders;
mod fixtures;
mod names;
mod network;
mod notarisation;
mod signatures;
mod structure;
mod tear_offs;
mod transitions;
