//! The flow library: plain async functions that flows call.
//!
//! # Correctness
//! A flow in flight replays through these functions, so their effects are part of its version. The effects of a function
//! and their order never change. An improvement becomes a new function, and the old one stays.

mod build;
mod finality;
mod identities;
mod references;
mod signatures;
mod turns;
mod windows;

pub use build::build_and_sign;
pub use finality::{finality, notarise, receive_finality};
pub use identities::{Identities, offer_key, request_key, swap_identities};
pub use references::{receive_state, show_state};
pub use signatures::{
    Asked, collect_signatures, receive_proposal, sign_proposal, sign_transaction, verify_proposal,
};
pub use turns::{Turns, collect_signatures_by, finality_by, receive_final};
pub use windows::{
    ANSWER_MS_MAX, NOTARY_ALLOWANCE_MS, PROPOSAL_MS_MAX, until_void, window_for_answers,
    window_of_ms,
};
