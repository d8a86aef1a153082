//! Hashes: domains, Merkle trees, names.

use ledger::{LegalName, consuming_hash};
use primitives::{Domain, Hash, MerkleProof, merkle_proofs, merkle_root};
use serde_json::{Value, json};

use crate::golden::cast::{ALICE, BOB, NOTARY, issue, party};

const DOMAINS: [(&str, Domain); 17] = [
    ("nonce", Domain::Nonce),
    ("leaf", Domain::Leaf),
    ("node", Domain::Node),
    ("group", Domain::Group),
    ("transaction id", Domain::TransactionId),
    ("batch leaf", Domain::BatchLeaf),
    ("signature", Domain::Signature),
    ("party id", Domain::PartyId),
    ("token id", Domain::TokenId),
    ("effect digest", Domain::EffectDigest),
    ("derive", Domain::Derive),
    ("consuming transaction", Domain::ConsumingTx),
    ("attachment", Domain::Attachment),
    ("document", Domain::Document),
    ("notary request", Domain::NotaryRequest),
    ("client id", Domain::ClientId),
    ("key ownership", Domain::KeyOwnership),
];

fn leaves(count: u32) -> Vec<Hash> {
    (0..count)
        .map(|at| Hash::of(Domain::Leaf, &[&at.to_be_bytes()]))
        .collect()
}

fn proof(proof: &MerkleProof) -> Value {
    json!({ "index": proof.index, "count": proof.count, "path": proof.path })
}

pub fn vectors() -> Value {
    let domains: Vec<Value> = DOMAINS
        .iter()
        .map(|(name, domain)| {
            let hash = Hash::of(*domain, &[b"ab", b"c"]);
            json!({ "domain": *domain as u8, "name": name, "hash_of_abc": hash })
        })
        .collect();
    let trees: Vec<Value> = (1..=9)
        .chain([1000])
        .map(|count| {
            let leaves = leaves(count);
            let proofs = merkle_proofs(&leaves);
            let last = proofs.last().map(proof);
            let middle = proofs.get(leaves.len() / 2).map(proof);
            json!({ "count": count, "root": merkle_root(&leaves), "proofs": [middle, last] })
        })
        .collect();
    let parties: Vec<Value> = [ALICE, BOB, NOTARY]
        .iter()
        .map(|person| {
            let party = party(*person);
            let id = party.id();
            json!({ "name": party.name, "id": id, "dns_name": id.dns_name() })
        })
        .collect();
    let names: Vec<Value> = [
        "c=GB, o=Alice Bank, l=London",
        "O=Alice Bank,L=London,C=GB",
        "O=Alice Bank, L=London, C=GB, CN=Desk, S=Kent",
    ]
    .iter()
    .map(|name| json!({ "text": name, "canonical": name.parse::<LegalName>().ok() }))
    .collect();
    json!({
        "domains": domains,
        "trees_of_leaves_that_hash_their_index": trees,
        "parties": parties,
        "names": names,
        "consuming_hash_of_issue": consuming_hash(&issue().id()),
    })
}
