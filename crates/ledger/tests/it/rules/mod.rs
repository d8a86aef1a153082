//! The ledger's rules as tables: accepted transactions, and the code and hint of each refusal.

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
