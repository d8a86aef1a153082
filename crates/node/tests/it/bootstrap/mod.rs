//! Tests of the folders of a network: making, adding nodes, reading, and the error for each mistake of an operator.

mod mistakes;
mod network;
pub mod stage;
