//! Account ids, which are short forms of public keys.

use std::fmt;
use std::str::FromStr;

use primitives::{Domain, Hash, KeyPair, Scheme};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use thiserror::Error;

/// The first 16 bytes of the hash of an Ed25519 public key. An attacker needs about 2^128 attempts to find a key for another
/// owner's account. Two keys for one own account take about 2^64 attempts and harm only their owner.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct AccountId(pub [u8; 16]);

/// Prefix of an account's text form.
const PREFIX: &str = "TLY";
/// Crockford's base 32, without I, L, O and U.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const CHECK_BYTES: usize = 2;
/// 18 bytes are 144 bits, which need 29 digits.
const DIGITS: usize = 29;
const GROUP: usize = 5;

impl AccountId {
    /// Returns the account of a public key.
    #[must_use]
    pub fn of_key(key: &[u8; 32]) -> Self {
        let hash = Hash::of(Domain::ChainAccount, &[key]);
        let mut id = [0; 16];
        id.copy_from_slice(&hash.as_bytes()[..16]);
        Self(id)
    }

    fn check(&self) -> [u8; CHECK_BYTES] {
        let hash = Hash::of(Domain::ChainAccount, &[b"check", &self.0]);
        [hash.as_bytes()[0], hash.as_bytes()[1]]
    }
}

/// Returns the key pair of a passphrase. Its seed is the `SHA-256` of the passphrase's bytes. This is for test networks only,
/// because attackers can guess a passphrase that a person remembers.
#[must_use]
pub fn key_of_passphrase(passphrase: &str) -> KeyPair {
    KeyPair::from_seed(
        Scheme::Ed25519,
        *Hash::plain(passphrase.as_bytes()).as_bytes(),
    )
}

impl fmt::Display for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::from(PREFIX);
        let bytes = self.0.iter().copied().chain(self.check());
        let (mut held, mut bits, mut digits) = (0u32, 0, 0);
        let mut digit = |value: u32| {
            if digits % GROUP == 0 {
                text.push('-');
            }
            digits += 1;
            text.push(char::from(ALPHABET[(value & 31) as usize]));
        };
        for byte in bytes {
            held = (held << 8) | u32::from(byte);
            bits += 8;
            while bits >= 5 {
                bits -= 5;
                digit(held >> bits);
            }
            held &= (1 << bits) - 1;
        }
        digit(held << (5 - bits));
        f.pad(&text)
    }
}

impl fmt::Debug for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The error for a text that is not an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "not an account; write it like TLY-XXXXX-XXXXX-XXXXX-XXXXX-XXXXX-XXXX, and check for a mistyped digit"
)]
pub struct AccountIdError;

impl FromStr for AccountId {
    type Err = AccountIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text
            .get(..PREFIX.len())
            .filter(|prefix| prefix.eq_ignore_ascii_case(PREFIX))
            .and(text.get(PREFIX.len()..))
            .ok_or(AccountIdError)?;
        let mut bytes = Vec::with_capacity(18);
        let (mut held, mut bits, mut count) = (0u32, 0, 0);
        for digit in digits.bytes().filter(|byte| *byte != b'-') {
            let digit = match digit.to_ascii_uppercase() {
                b'O' => b'0',
                b'I' | b'L' => b'1',
                digit => digit,
            };
            let value = ALPHABET.iter().position(|known| *known == digit);
            held = (held << 5) | value.ok_or(AccountIdError)? as u32;
            bits += 5;
            count += 1;
            if count > DIGITS {
                return Err(AccountIdError);
            }
            if bits >= 8 {
                bits -= 8;
                bytes.push((held >> bits) as u8);
                held &= (1 << bits) - 1;
            }
        }
        if count != DIGITS || held != 0 {
            return Err(AccountIdError);
        }
        let (id, check) = bytes.split_first_chunk().ok_or(AccountIdError)?;
        let id = Self(*id);
        if id.check() != check {
            return Err(AccountIdError);
        }
        Ok(id)
    }
}

impl Serialize for AccountId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for AccountId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(properties::config!(256))]

        #[test]
        fn text_leads_back_and_a_changed_digit_does_not(bytes: [u8; 16], at in 4usize..37, to in 0usize..32) {
            let id = AccountId(bytes);
            let text = id.to_string();
            prop_assert_eq!(text.parse::<AccountId>(), Ok(id));
            prop_assert_eq!(text.to_lowercase().replace('-', "").parse::<AccountId>(), Ok(id));
            let mut changed = text.clone().into_bytes();
            let at = at.min(changed.len() - 1);
            if changed[at] != b'-' && changed[at] != ALPHABET[to] {
                changed[at] = ALPHABET[to];
                let other = String::from_utf8(changed).unwrap().parse::<AccountId>();
                prop_assert_ne!(other, Ok(id));
            }
        }
    }

    #[test]
    fn what_is_not_an_account_is_refused() {
        for text in [
            "",
            "TLY",
            "TLY-",
            "XYZ-00000",
            "TLY-0000",
            "€TLY",
            "TLY-€€€€€",
        ] {
            assert_eq!(text.parse::<AccountId>(), Err(AccountIdError), "{text}");
        }
        let long = format!("{}0", AccountId::default());
        assert_eq!(long.parse::<AccountId>(), Err(AccountIdError));
    }
}
