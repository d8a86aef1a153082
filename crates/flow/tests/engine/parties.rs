//! The parties of the tests, by letter.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use ledger::{NetworkMap, Party, PartyId};

static PARTIES: LazyLock<BTreeMap<char, Party>> =
    LazyLock::new(|| "ABCDN".chars().map(|letter| (letter, make(letter))).collect());

pub fn party(letter: char) -> Party {
    PARTIES[&letter].clone()
}

pub fn letter(id: &PartyId) -> char {
    PARTIES.iter().find(|(_, party)| party.id() == *id).map_or('?', |(letter, _)| *letter)
}

fn make(letter: char) -> Party {
    let key = primitives::KeyPair::from_seed(primitives::Scheme::Ed25519, [letter as u8; 32]);
    Party { name: format!("O=Bank {letter}, L=London, C=GB").parse().unwrap(), key: key.public().clone() }
}

pub fn network() -> Arc<NetworkMap> {
    Arc::new(NetworkMap::default())
}
