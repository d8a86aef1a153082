//! Black-box tests of the engine: one event per line, with the actions that it has to cause.

mod bench;
mod errors;
mod flows;
mod hospital;
mod json;
mod kill;
mod library;
mod locks;
mod panics;
mod parties;
mod program;
mod recovery;
mod replay_properties;
mod sessions;
mod shares;
mod sub_flows;
mod timers;
mod transactions;
