//! The parties of the tests, by letter. N is the notary.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use ledger::{NetworkMap, NetworkParameters, NodeInfo, Party, PartyId};
use primitives::{KeyPair, Scheme, Timestamp};

static PARTIES: LazyLock<BTreeMap<char, Party>> = LazyLock::new(|| {
    let make = |letter: char| {
        let name = format!("O=Bank {letter}, L=London, C=GB").parse().unwrap();
        (letter, Party::new(name, key(letter).public().clone()))
    };
    "ABCDN".chars().map(make).collect()
});

pub fn key(letter: char) -> KeyPair {
    KeyPair::from_seed(Scheme::Ed25519, [letter as u8; 32])
}

pub fn party(letter: char) -> Party {
    PARTIES[&letter].clone()
}

pub fn letter(id: &PartyId) -> char {
    PARTIES
        .iter()
        .find(|(_, party)| party.id() == *id)
        .map_or('?', |(letter, _)| *letter)
}

pub fn network() -> Arc<NetworkMap> {
    let parameters = NetworkParameters::new(vec![party('N')], Timestamp::EPOCH);
    let info = |party: &Party| NodeInfo {
        party: party.clone(),
        addresses: Vec::new(),
        platform_version: 1,
        serial: 1,
        notary: None,
    };
    Arc::new(NetworkMap::new(parameters, PARTIES.values().map(info)))
}
