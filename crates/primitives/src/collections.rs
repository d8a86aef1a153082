//! Hash maps and hash sets with a fast hasher, for keys that are hashes, ids and public keys.
//!
//! The hasher has random seeds, so keys that fill one bucket cannot be prepared. It gives no protection from an attacker who can
//! measure single look-ups. A map whose keys a peer chooses byte by byte, such as a notary's states, keeps the standard hasher.

pub use foldhash::{HashMap, HashSet};
