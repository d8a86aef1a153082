//! Real nodes on real loopback sockets.

mod fixture;
mod hostile;
mod intruder;
mod log;
mod messages;
mod pressure;
mod reconnect;
