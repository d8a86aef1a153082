//! The state of a chain: blocks applied and taken back.

mod apply;
mod kit;
mod leases;
mod mend;
mod random;
mod reads;
mod refusals;
mod verify;
