//! The digest that replay compares to recognise an effect's arguments: fast, stable across versions, not cryptographic.
//!
//! It guards against changed code, not against an adversary: an attacker who can write the journal already controls the
//! node.

/// A running 64-bit digest over eight-byte lanes (multiply and fold).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digest(u64);

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
const FACTOR: u64 = 0xd6e8_feb8_6659_fd93;

impl Digest {
    pub(crate) fn new(tag: u64) -> Digest {
        Digest(SEED).word(tag)
    }

    pub(crate) fn word(self, value: u64) -> Digest {
        let wide = u128::from(self.0 ^ value) * u128::from(FACTOR);
        Digest((wide as u64) ^ ((wide >> 64) as u64) ^ self.0.rotate_left(29))
    }

    pub(crate) fn bytes(self, bytes: &[u8]) -> Digest {
        let mut digest = self.word(bytes.len() as u64);
        let mut lanes = bytes.chunks_exact(8);
        for lane in &mut lanes {
            let mut word = [0; 8];
            word.copy_from_slice(lane);
            digest = digest.word(u64::from_le_bytes(word));
        }
        let rest = lanes.remainder();
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            digest = digest.word(u64::from_le_bytes(word));
        }
        digest
    }

    pub(crate) fn value(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::Digest;

    fn of(bytes: &[u8]) -> u64 {
        Digest::new(1).bytes(bytes).value()
    }

    #[test]
    fn neighbours_differ() {
        let inputs: [&[u8]; 7] = [
            b"",
            b"\0",
            b"\0\0",
            b"12345678",
            b"12345678\0",
            b"12345679",
            b"1234567812345678",
        ];
        for (i, a) in inputs.iter().enumerate() {
            for b in &inputs[i + 1..] {
                assert_ne!(of(a), of(b), "{a:?} {b:?}");
            }
        }
    }

    /// The digest is stored in journals: it must not change.
    #[test]
    fn stable() {
        assert_eq!(of(b"tally"), GOLDEN);
    }

    const GOLDEN: u64 = 215_065_782_577_585_227;
}
