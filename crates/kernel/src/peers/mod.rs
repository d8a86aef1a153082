//! Messages between this node and its peers: sessions, requests, deliveries, and the share of resources that each peer may use.

pub(crate) mod along;
pub(crate) mod budget;
pub(crate) mod complaints;
pub(crate) mod figures;
pub(crate) mod lag;
pub(crate) mod links;
pub(crate) mod messages;
pub(crate) mod notices;
mod on_command;
pub(crate) mod pending;
pub(crate) mod pump;
pub(crate) mod read_back;
pub(crate) mod refusals;
pub(crate) mod sessions;
mod standing;
pub(crate) mod unanswered;
mod untaken;
pub(crate) mod waiting;
