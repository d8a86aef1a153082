//! The chain's network on real loopback sockets.

mod fixture;
mod hostile;
mod limits;
mod messages;
mod network;
mod raw;
mod requests;
