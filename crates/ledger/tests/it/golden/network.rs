//! Network documents and contract descriptors.

use ledger::{
    ContractDescriptor, NetworkParameters, NodeInfo, NotaryInfo, SignedDocument, attachment_hash,
};
use primitives::{SignatureChecker, SignatureContext, SignedMessage};
use serde_json::{Value, json};

use crate::golden::cast::{ALICE, NOTARY, ROOT, descriptor, key, parameters, party};
use crate::golden::{bytes, decoded, encoded, entries, keys, text};

fn node_infos() -> [NodeInfo; 2] {
    [
        NodeInfo {
            party: party(ALICE),
            addresses: vec!["alice.example:10001".into(), "[2001:db8::1]:10001".into()],
            platform_version: 1,
            serial: 1_750_000_000_000,
            notary: None,
        },
        NodeInfo {
            party: party(NOTARY),
            addresses: vec!["127.0.0.1:10002".into()],
            platform_version: 1,
            serial: 1,
            notary: Some(NotaryInfo::single(false)),
        },
    ]
}

fn parameters_with_everything() -> NetworkParameters {
    NetworkParameters {
        version: 7,
        notaries: vec![party(NOTARY), party(ALICE)],
        allow_always_accept: true,
        ..parameters()
    }
}

pub fn vectors() -> Value {
    let mut checker = SignatureChecker::new();
    let root = crate::golden::cast::pair(ROOT);
    let node_infos: Vec<Value> = node_infos()
        .iter()
        .map(|info| {
            let signed = SignedDocument::sign(info, &root);
            assert!(signed.open(root.public(), &mut checker).is_ok());
            json!({ "encoding": encoded(info), "signed": encoded(&signed), "hash": signed.hash() })
        })
        .collect();
    let parameters: Vec<Value> = [parameters(), parameters_with_everything()]
        .iter()
        .map(|parameters| {
            let signed = SignedDocument::sign(parameters, &root);
            assert_eq!(parameters.hash(), signed.hash());
            json!({
                "encoding": encoded(parameters),
                "signed": encoded(&signed),
                "hash": parameters.hash(),
            })
        })
        .collect();
    let descriptor = descriptor();
    json!({
        "root_key": key(ROOT).to_text(),
        "node_infos": node_infos,
        "parameters": parameters,
        "descriptors": [{
            "encoding": encoded(&descriptor),
            "hash": descriptor.hash(),
            "check": keys::shown(&descriptor.signed_message(), "by the descriptor's signer"),
        }],
    })
}

pub fn check(file: &Value) {
    let mut checker = SignatureChecker::new();
    let root = text(file, "root_key").parse().expect("a key");
    for entry in entries(file, "node_infos") {
        let info: NodeInfo = decoded(entry, "encoding");
        let signed: SignedDocument<NodeInfo> = decoded(entry, "signed");
        assert_eq!(signed.open(&root, &mut checker).ok(), Some(info));
        // A node info does not pass for parameters: the contexts differ.
        let other: SignedDocument<NetworkParameters> = decoded(entry, "signed");
        assert!(other.open(&root, &mut checker).is_err());
    }
    for entry in entries(file, "parameters") {
        let parameters: NetworkParameters = decoded(entry, "encoding");
        assert_eq!(parameters.hash().to_string(), text(entry, "hash"));
        let signed: SignedDocument<NetworkParameters> = decoded(entry, "signed");
        assert_eq!(signed.open(&root, &mut checker).ok(), Some(parameters));
    }
    for entry in entries(file, "descriptors") {
        let opened =
            ContractDescriptor::open(&bytes(entry, "encoding"), |signed: &SignedMessage| {
                signed.context == SignatureContext::Descriptor && checker.check(signed)
            });
        assert!(
            opened.is_ok_and(|descriptor| descriptor.hash().to_string() == text(entry, "hash"))
        );
        assert_eq!(
            attachment_hash(&bytes(entry, "encoding")).to_string(),
            text(entry, "hash")
        );
    }
}
