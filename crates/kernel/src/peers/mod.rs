//! Everything between this node and its peers: sessions, requests, deliveries, and what each peer may cost.

pub(crate) mod budget;
pub(crate) mod complaints;
pub(crate) mod figures;
pub(crate) mod lag;
pub(crate) mod links;
pub(crate) mod messages;
pub(crate) mod pump;
pub(crate) mod refusals;
pub(crate) mod unanswered;
pub(crate) mod waiting;
