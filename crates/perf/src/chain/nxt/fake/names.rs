//! Names in the fake: ids of accounts and transactions, public keys and Reed-Solomon addresses.

use primitives::Hash;

/// Digits of an address: 32 letters and digits that are not easily confused.
const DIGITS: &[u8; 32] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
/// Data digits of an address, and its check digits.
const DATA: usize = 13;
const CHECKS: usize = 4;
/// The order of the digits in an address.
const ORDER: [usize; DATA + CHECKS] = [3, 2, 1, 0, 7, 6, 5, 4, 13, 14, 15, 16, 12, 8, 9, 10, 11];
/// Coefficients of the code's generator polynomial, the lowest first.
const GENERATOR: [u8; CHECKS] = [17, 9, 6, 30];

/// The forger of the fake, which bundles too.
pub struct Forger {
    /// Its account id.
    pub id: String,
    pub public_key: String,
}

/// Returns the account id of a passphrase.
pub fn account(passphrase: &str) -> String {
    number(&Hash::plain(passphrase.as_bytes())).to_string()
}

/// Returns the account of a public key. In this fake a public key is the hash of its passphrase.
pub fn account_of_key(public_key: &str) -> Option<String> {
    let bytes = primitives::hex::decode_array::<32>(public_key)?;
    Some(number(&Hash::from_bytes(bytes)).to_string())
}

/// Returns the public key of a passphrase.
pub fn public_key(passphrase: &str) -> String {
    hash(passphrase)
}

/// Returns the hash of a text, in hexadecimal.
pub fn hash(text: &str) -> String {
    primitives::hex::encode(Hash::plain(text.as_bytes()).as_bytes())
}

/// Returns the short id: the first 8 bytes as a number.
pub fn number(hash: &Hash) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&hash.as_bytes()[..8]);
    u64::from_le_bytes(bytes)
}

/// Returns the address of an account id: its digits in base 32 with four check digits of a Reed-Solomon code over 32
/// elements. An id that is no number has the address of 0.
pub fn address(id: &str) -> String {
    let mut rest: u64 = id.parse().unwrap_or(0);
    let mut word = [0u8; DATA + CHECKS];
    for digit in &mut word[..DATA] {
        *digit = (rest & 31) as u8;
        rest >>= 5;
    }
    let mut checks = [0u8; CHECKS];
    for digit in word[..DATA].iter().rev() {
        let carried = digit ^ checks[CHECKS - 1];
        for at in (1..CHECKS).rev() {
            checks[at] = checks[at - 1] ^ product(GENERATOR[at], carried);
        }
        checks[0] = product(GENERATOR[0], carried);
    }
    word[DATA..].copy_from_slice(&checks);
    let mut text = "ARDOR".to_owned();
    for (at, place) in ORDER.iter().enumerate() {
        if at % 4 == 0 && at < 16 {
            text.push('-');
        }
        text.push(char::from(DIGITS[usize::from(word[*place])]));
    }
    text
}

/// Multiplies in the field of 32 elements, modulo x^5 + x^2 + 1.
fn product(one: u8, two: u8) -> u8 {
    let (mut one, mut two, mut sum) = (one, two, 0);
    while two > 0 {
        if two & 1 == 1 {
            sum ^= one;
        }
        one = (one << 1) ^ if one & 16 == 16 { 0b10_0101 } else { 0 };
        two >>= 1;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_of_a_real_node() {
        for (id, wanted) in [
            ("15119002515992141152", "ARDOR-7RD2-PWTZ-X8GE-FWDN5"),
            ("6217705173184895950", "ARDOR-QQYG-X84W-UWRL-7TFLE"),
            ("10043771803249128205", "ARDOR-ZESF-9QNV-U8AH-A7PSQ"),
        ] {
            assert_eq!(address(id), wanted);
        }
    }

    #[test]
    fn accounts_of_passphrases_and_keys_agree() {
        assert_eq!(account_of_key(&public_key("alpha")), Some(account("alpha")));
        assert_eq!(account_of_key("12"), None);
    }
}
