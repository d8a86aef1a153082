//! Kernels in one thread, over an instant network and in-memory disks: their exchanges with each other, with lying peers, and
//! across a crash after any commit.

mod testnet;

mod admission;
mod anonymous;
mod back_chains;
mod back_chains_served;
mod burst;
mod chain_crashes;
mod clocks;
mod crashes;
mod deliveries;
mod drain;
mod equivocation;
mod exit_in_flight;
mod falls;
mod files;
mod folder;
mod forged;
mod forged_swaps;
mod fresh_keys;
mod garbage;
mod history;
mod hospital;
mod identities;
mod large;
mod locks;
mod messages;
mod missing_contracts;
mod notes;
mod pay;
mod quarantine;
mod references;
mod reissue;
mod rollback;
mod scheduled;
mod settlement;
mod shares;
mod silent;
mod start_gate;
mod trades;
mod transitions;
mod validating;
mod waiting;
