//! How files travel between two nodes: `(event) -> actions`, without sockets, disk or clock.
//!
//! ```text
//!   receiver                                   sender
//!   Fetch ─► Want(hash, transaction) ────────► Permit ─► (may this peer have it?)
//!            Offer(size, name, type) ◄──────── Permitted
//!   Open ◄─  (fits? a slot?)
//!   Opened ─► Ask(offset, length) ───────────► Read … Read
//!            Data(offset, bytes) ◄──────────── (a chunk at a time)
//!   Write ◄─
//!   Wrote … ─► Publish ─► Published ─► Arrived, Done ►
//! ```
//! The receiver pulls. It asks for no more than its budgets hold, so it has room for everything that is on the way. The
//! sender's own budgets bound the memory that it spends on reading and sending, however much it is asked for.
//!
//! It never looks at content. The writer of the file checks the hash and reports the result in an event.

mod bucket;
mod event;
mod fetch;
mod figures;
mod inbound;
mod message;
mod offer;
mod options;
mod out;
mod pace;
mod pump;
mod receiving;
mod serving;
mod time;
mod transfers;

pub use event::{Action, Event, Failure, Fault};
pub use figures::Figures;
pub use message::{
    MEDIA_TYPE_BYTES_MAX, MESSAGE_HEAD_BYTES_MAX, Message, NAME_BYTES_MAX, Payload, Reason,
    hint_is_good,
};
pub use offer::Offer;
pub use options::Options;
pub use transfers::Transfers;
