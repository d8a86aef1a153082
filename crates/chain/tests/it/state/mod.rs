//! Tests of the chain's state: applying and undoing blocks.

mod apply;
mod kit;
mod leases;
mod mend;
mod random;
mod reads;
mod refusals;
mod verify;
