//! Files between nodes: what each event leads to, and whole transfers over a network that loses, cuts and lies.

mod fetching;
mod golden;
mod network;
mod serving;
mod silence;
mod table;
