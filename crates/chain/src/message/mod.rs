//! The messages between nodes of a chain: gossip to all peers, and questions and answers between two.
//!
//! Every message is one kind byte followed by fields in a fixed order, big-endian (`docs/formats/chain-messages.md`). Decoders
//! are total: they never panic, and allocate no more than the available bytes justify. Encoding a decoded message gives the same
//! bytes.

mod answer;
mod gossip;
mod limits;
mod question;
mod wire;

pub use answer::{ANSWER_BYTES_MAX, Answer, Listed};
pub use gossip::{Announcement, Gossip};
pub use limits::{
    BODIES_MAX, GOSSIP_BYTES_MAX, GOSSIP_RATES_MAX, GOSSIP_TRANSACTIONS_MAX, HEADERS_MAX, IDS_MAX,
    LOCATOR_MAX, QUESTION_BYTES_MAX, QUESTION_IDS_MAX,
};
pub use question::{Question, Status};
