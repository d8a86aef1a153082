//! The HTTP API over real TLS sockets on port 0, with the real client and with bytes written by hand, in front of a service
//! that keeps everything in memory.

mod attachments;
mod cancelled;
mod described;
mod description;
mod endpoints;
mod events;
mod fake;
mod fake_files;
mod fake_history;
mod fake_reads;
mod fake_vault;
mod fixture;
mod flow_history;
mod limits;
mod managing;
mod requests;
mod schema;
mod stalled;
mod streams;
mod users;
mod windows;
