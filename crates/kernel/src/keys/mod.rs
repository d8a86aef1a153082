//! The keys of this node, and the owners of the keys of others.

pub(crate) mod effects;
pub(crate) mod store;
