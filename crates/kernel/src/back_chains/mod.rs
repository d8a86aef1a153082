//! Back chains of transactions: fetched from peers, verified and recorded here, and served to peers.

pub(crate) mod answers;
pub(crate) mod chain;
pub(crate) mod fetching;
pub(crate) mod running;
pub(crate) mod serving;
