//! Transactions down to their leaves, and signed ones.

use ledger::group::{leaf, nonce};
use ledger::{Group, SignedTransaction, TransactionSignature, TxId, WireTransaction};
use primitives::{Hash, PublicKey, SignatureChecker, hex, merkle_root};
use serde_json::{Value, json};

use crate::golden::cast::{ALICE, BOB, CAROL, NOTARY, issue, pair, pay, rich, transactions};
use crate::golden::{bytes, decoded, encoded, entries, keys, text};

pub fn vectors() -> Value {
    let unsigned: Vec<Value> = transactions()
        .iter()
        .map(|(name, wire)| transaction(name, wire))
        .collect();
    let signed: Vec<Value> = signed()
        .iter()
        .map(|(name, signed)| shown(name, signed))
        .collect();
    json!({ "unsigned": unsigned, "signed": signed })
}

fn transaction(name: &str, wire: &WireTransaction) -> Value {
    let groups: Vec<Value> = Group::ALL
        .iter()
        .map(|group| shown_group(wire, *group))
        .collect();
    let required: Vec<String> = wire
        .required_signers()
        .iter()
        .map(PublicKey::to_text)
        .collect();
    json!({
        "name": name,
        "encoding": hex::encode(wire.bytes()),
        "privacy_salt": hex::encode(wire.privacy_salt()),
        "id": wire.id(),
        "groups": groups,
        "required_signers": required,
    })
}

fn shown_group(wire: &WireTransaction, group: Group) -> Value {
    let mut leaves = Vec::new();
    let components: Vec<Value> = (0u32..)
        .zip(wire.components(group))
        .map(|(index, bytes)| {
            let nonce = nonce(wire.privacy_salt(), group, index);
            let leaf = leaf(&nonce, bytes);
            leaves.push(leaf);
            json!({ "bytes": hex::encode(bytes), "nonce": nonce, "leaf": leaf })
        })
        .collect();
    json!({
        "group": group as u8,
        "components": components,
        "merkle_root": merkle_root(&leaves).unwrap_or(Hash::ZERO),
        "hash": wire.group_hash(group),
    })
}

/// The batch that the notary signed: the payment is the fourth of five.
pub fn batch() -> Vec<TransactionSignature> {
    let filler = |number: u8| TxId::from_hash(Hash::plain(&[number]));
    let ids = [filler(0), filler(1), filler(2), pay().id(), filler(4)];
    TransactionSignature::sign_batch(&ids, &pair(NOTARY))
}

pub fn signed() -> [(&'static str, SignedTransaction); 3] {
    [
        (
            "issue, by its issuer",
            SignedTransaction::new(issue(), []).signed_by(&pair(ALICE)),
        ),
        (
            "pay, the notary's signature over a batch",
            SignedTransaction::new(pay(), [])
                .signed_by(&pair(ALICE))
                .with(batch().swap_remove(3)),
        ),
        (
            "rich, both schemes, composite keys fulfilled by their parts",
            SignedTransaction::new(rich(), [])
                .signed_by(&pair(ALICE))
                .signed_by(&pair(BOB))
                .signed_by(&pair(CAROL))
                .signed_by(&pair(NOTARY))
                .with(TransactionSignature::sign_batch(&[rich().id()], &pair(NOTARY)).remove(0)),
        ),
    ]
}

fn shown(name: &str, signed: &SignedTransaction) -> Value {
    let id = signed.id();
    let signatures: Vec<Value> = signed
        .signatures()
        .iter()
        .map(|signature| {
            let what = if signature.batch.is_some() {
                "over a batch"
            } else {
                "over the id"
            };
            let message = signature
                .signed_message(&id)
                .expect("the proof leads to a root");
            keys::shown(&message, what)
        })
        .collect();
    json!({ "name": name, "encoding": encoded(signed), "id": id, "signatures": signatures })
}

pub fn check(file: &Value) {
    for entry in entries(file, "unsigned") {
        let wire: WireTransaction = decoded(entry, "encoding");
        assert_eq!(wire.id().to_string(), text(entry, "id"));
        assert_eq!(WireTransaction::parse(&bytes(entry, "encoding")), Ok(wire));
    }
    let mut checker = SignatureChecker::new();
    for entry in entries(file, "signed") {
        let signed: SignedTransaction = decoded(entry, "encoding");
        assert_eq!(signed.id().to_string(), text(entry, "id"));
        let checked = signed
            .check_signatures(&[])
            .and_then(|pending| pending.check_with(&mut checker));
        assert!(checked.is_ok(), "{checked:?}");
    }
}
