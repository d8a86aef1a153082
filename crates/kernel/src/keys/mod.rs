//! The keys of this node, and the owners of other keys.

mod effects;
mod owners;
mod store;

pub(crate) use owners::Owners;
pub(crate) use store::KeyBook;
pub use store::{OWNED_KEYS_MAX, UNUSED_KEYS_MAX, is_own_key, key_owner};
