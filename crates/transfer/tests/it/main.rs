//! Files between nodes: the actions after each event, and whole transfers over a network that loses, cuts and
//! lies.

mod fetching;
mod golden;
mod network;
mod serving;
mod silence;
mod table;
