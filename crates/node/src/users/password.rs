//! Passwords, kept as argon2id hashes in PHC form: `$argon2id$v=19$m=19456,t=2,p=1$SALT$HASH`.

use std::fmt;

use argon2::{Algorithm, Argon2, Params, Version};
use serde::{Deserialize, Serialize};

/// Longest password, in bytes.
pub const PASSWORD_BYTES_MAX: usize = 1_024;

/// The cost of new hashes: OWASP's figures for argon2id, 19 MiB and two passes.
const MEMORY_KIB: u32 = 19_456;
const PASSES: u32 = 2;
const LANES: u32 = 1;
/// Memory that checking a hash of the file may take.
const MEMORY_KIB_MAX: u32 = 256 << 10;
/// Passes that checking a hash of the file may take.
const PASSES_MAX: u32 = 16;
/// Lanes that checking a hash of the file may take.
const LANES_MAX: u32 = 8;
const SALT_BYTES: usize = 16;
const HASH_BYTES: usize = 32;
/// Salt and hash of the file, each, in bytes.
const BYTES_MAX: usize = 64;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A password's hash.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PasswordHash {
    params: (u32, u32, u32),
    salt: Vec<u8>,
    hash: Vec<u8>,
}

impl PasswordHash {
    /// Hashes a password with a fresh salt. Takes tens of milliseconds and 19 MiB. `None` if the system gives no random bytes.
    pub fn new(password: &[u8]) -> Option<Self> {
        let mut salt = vec![0; SALT_BYTES];
        getrandom::fill(&mut salt).ok()?;
        let params = (MEMORY_KIB, PASSES, LANES);
        let hash = compute(password, &salt, params, HASH_BYTES)?;
        Some(Self { params, salt, hash })
    }

    /// A hash that no password has, and that takes as long to refuse as another.
    pub fn of_nobody() -> Self {
        Self {
            params: (MEMORY_KIB, PASSES, LANES),
            salt: vec![0; SALT_BYTES],
            hash: vec![0; HASH_BYTES],
        }
    }

    /// Returns whether this is the password. Takes as long as [`PasswordHash::new`].
    pub fn verify(&self, password: &[u8]) -> bool {
        let found = compute(password, &self.salt, self.params, self.hash.len());
        let Some(found) = found else { return false };
        let pairs = found.iter().zip(&self.hash);
        let difference = pairs.fold(0, |sum, (a, b)| sum | (a ^ b));
        std::hint::black_box(difference) == 0 && found.len() == self.hash.len()
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('$');
        let head = (parts.next()?, parts.next()?, parts.next()?);
        if head != ("", "argon2id", "v=19") {
            return None;
        }
        let mut costs = parts.next()?.split(',');
        let mut cost = |name: &str| costs.next()?.strip_prefix(name)?.parse::<u32>().ok();
        let params = (cost("m=")?, cost("t=")?, cost("p=")?);
        let (salt, hash) = (decode(parts.next()?)?, decode(parts.next()?)?);
        let fits = params.0 <= MEMORY_KIB_MAX && params.1 <= PASSES_MAX && params.2 <= LANES_MAX;
        let good = fits && costs.next().is_none() && parts.next().is_none() && salt.len() >= 8;
        (good && Params::new(params.0, params.1, params.2, Some(hash.len())).is_ok())
            .then_some(Self { params, salt, hash })
    }
}

fn compute(password: &[u8], salt: &[u8], params: (u32, u32, u32), bytes: usize) -> Option<Vec<u8>> {
    let params = Params::new(params.0, params.1, params.2, Some(bytes)).ok()?;
    let mut hash = vec![0; bytes];
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    argon2.hash_password_into(password, salt, &mut hash).ok()?;
    Some(hash)
}

/// Base 64 without padding (PHC's "B64").
fn encode(bytes: &[u8]) -> String {
    let mut text = String::new();
    let (mut bits, mut held) = (0_u32, 0_u32);
    for byte in bytes {
        bits = (bits << 8 | u32::from(*byte)) & 0xFFFF;
        held += 8;
        while held >= 6 {
            held -= 6;
            text.push(char::from(DIGITS[(bits >> held & 63) as usize]));
        }
    }
    if held > 0 {
        text.push(char::from(DIGITS[(bits << (6 - held) & 63) as usize]));
    }
    text
}

fn decode(text: &str) -> Option<Vec<u8>> {
    let (mut bits, mut held, mut bytes) = (0_u32, 0_u32, Vec::new());
    for digit in text.bytes() {
        let value = DIGITS.iter().position(|known| *known == digit)?;
        bits = (bits << 6 | u32::try_from(value).ok()?) & 0xFFFF;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from(bits >> held & 0xFF).ok()?);
        }
        if bytes.len() > BYTES_MAX {
            return None;
        }
    }
    // One way to write each hash only.
    (!bytes.is_empty() && encode(&bytes) == text).then_some(bytes)
}

impl TryFrom<String> for PasswordHash {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        Self::parse(&text).ok_or("this is no argon2id hash in PHC form ($argon2id$v=19$m=..)")
    }
}

impl From<PasswordHash> for String {
    fn from(hash: PasswordHash) -> Self {
        let (memory, passes, lanes) = hash.params;
        let (salt, hash) = (encode(&hash.salt), encode(&hash.hash));
        format!("$argon2id$v=19$m={memory},t={passes},p={lanes}${salt}${hash}")
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_implementation_s_hash_is_understood() {
        // From the tests of the reference implementation (phc-winner-argon2, test.c, version 0x13).
        let text = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";
        let hash = PasswordHash::try_from(text.to_owned()).expect("good");
        assert!(hash.verify(b"password") && !hash.verify(b"Password"));
        assert_eq!(String::from(hash), text);
    }

    #[test]
    fn a_hash_comes_back_from_its_text() {
        let hash = PasswordHash::new(b"secret").expect("randomness");
        let back = PasswordHash::try_from(String::from(hash.clone())).expect("good");
        assert!(back == hash && back.verify(b"secret") && !back.verify(b""));
        assert!(!PasswordHash::of_nobody().verify(b"secret"));
    }

    #[test]
    fn what_is_no_hash_is_refused() {
        for text in [
            "",
            "secret",
            "$argon2i$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
            "$argon2id$v=19$m=9999999,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
            "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$",
            "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHR=$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
            "$argon2id$v=19$m=65536,t=2$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
        ] {
            assert!(PasswordHash::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
