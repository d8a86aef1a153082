//! The hit of an account.

use std::fmt;

use primitives::Hash;

/// The hit of an account after a block (Ardor's hit): evenly distributed over 64 bits, and not the account's choice. The larger
/// it is, the later the account's turn comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hit(u64);

impl Hit {
    /// Makes a hit.
    #[must_use]
    pub const fn new(hit: u64) -> Self {
        Self(hit)
    }

    /// Returns the hit of a generation signature: its first 8 bytes, little-endian.
    #[must_use]
    pub fn of(generation: &Hash) -> Self {
        let bytes = generation.as_bytes();
        Self(u64::from_le_bytes([
            bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7],
        ]))
    }

    /// Returns the number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Hit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_beginning_of_the_generation_signature() {
        for (begin, hit) in [
            ([0; 8], 0),
            ([1, 0, 0, 0, 0, 0, 0, 0], 1),
            ([0, 0, 0, 0, 0, 0, 0, 1], 1 << 56),
            ([255; 8], u64::MAX),
        ] {
            let mut bytes = [7; 32];
            bytes[..8].copy_from_slice(&begin);
            let found = Hit::of(&Hash::from_bytes(bytes));
            assert_eq!(found, Hit::new(hit));
            assert_eq!(found.get().to_string(), found.to_string());
        }
    }
}
