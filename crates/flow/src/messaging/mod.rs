//! Messaging between nodes as pure machines: events in, actions out; the kernel performs the actions.
//!
//! | machine | carries | durable at the sender | order |
//! |---|---|---|---|
//! | [`Outbox`] and [`Inbox`] | session messages | rows until acknowledged | one stream per peer |
//! | [`Deliveries`] | final transactions to participants | rows until answered | as recorded, answered singly |
//! | [`Requests`] | idempotent requests to services | the asking flow's journal | none |
//!
//! A peer that is away costs only rows in the store. [`UnackedAnswers`] counts those that a peer causes and leaves unacknowledged.

mod back_off;
mod delivery;
mod delivery_action;
mod inbox;
mod outbox;
mod requests;
mod stream;
mod unacked;
mod waiters;

pub use back_off::BackOff;
pub use delivery::{Deliveries, DeliveryOptions, PendingDelivery};
pub use delivery_action::DeliveryAction;
pub use inbox::{INBOX_EARLY_MAX, Inbox, InboxAction};
pub use outbox::{Outbox, OutboxAction, OutboxOptions};
pub use requests::{RequestAction, RequestId, RequestOptions, Requests};
pub use stream::ASIDE_MAX;
pub use unacked::{UNACKED_ANSWER_BYTES_MAX, UNACKED_ANSWERS_MAX, UnackedAnswers};
