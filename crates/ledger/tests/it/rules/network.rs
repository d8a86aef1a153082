//! Network documents and the map.

use ledger::{
    CodeKind, ContractDescriptor, NetworkMap, NetworkParameters, NodeInfo, NotaryInfo, Rejection,
    SignedDocument,
};
use primitives::{Decode, Encode, SignatureChecker, Timestamp};

use crate::rules::fixtures::*;

fn info(name: &str, n: u8, serial: u64) -> NodeInfo {
    NodeInfo {
        party: party(name, n),
        addresses: vec!["localhost:10001".into()],
        platform_version: 1,
        serial,
        notary: (n == 100).then(|| NotaryInfo::single(false)),
    }
}

fn parameters() -> NetworkParameters {
    NetworkParameters::new(vec![notary()], Timestamp::from_ms(1))
}

#[test]
fn documents_are_opened_with_the_networks_key_only() {
    let mut checker = SignatureChecker::new();
    let signed = SignedDocument::sign(&info("Bank A", 1, 1), &key(50));
    let signed = SignedDocument::<NodeInfo>::from_bytes(&signed.to_bytes()).unwrap();
    assert_eq!(
        signed.open(&public(50), &mut checker).unwrap(),
        info("Bank A", 1, 1)
    );
    let error = signed.open(&public(51), &mut checker).unwrap_err();
    check_error(
        &error,
        "network.document_wrong_signer",
        "belongs to this network",
    );

    let mut bytes = signed.to_bytes();
    bytes[20] ^= 1;
    let changed = SignedDocument::<NodeInfo>::from_bytes(&bytes).unwrap();
    let error = changed.open(&public(50), &mut checker).unwrap_err();
    check_error(&error, "network.document_bad_signature", "again");

    // A document of another kind: the context of the signature differs.
    let other = SignedDocument::<NetworkParameters>::from_bytes(&signed.to_bytes()).unwrap();
    let error = other.open(&public(50), &mut checker).unwrap_err();
    check_error(&error, "network.document_bad_signature", "again");

    let mut no_address = info("Bank A", 1, 1);
    no_address.addresses.clear();
    let malformed = SignedDocument::sign(&no_address, &key(50));
    let error = malformed.open(&public(50), &mut checker).unwrap_err();
    check_error(&error, "network.document_malformed", "again");
    assert_eq!(signed.signer(), &public(50));
}

#[test]
fn parameters_have_a_hash() {
    let parameters = parameters();
    let signed = SignedDocument::sign(&parameters, &key(50));
    assert_eq!(signed.hash(), parameters.hash());
    assert_eq!(
        NetworkParameters::from_bytes(&parameters.to_bytes()).unwrap(),
        parameters
    );
}

#[test]
fn the_map_finds_parties_by_id_name_and_key() {
    let infos = [
        info("Bank A", 1, 1),
        info("Bank A", 2, 3),
        info("Bank A", 3, 2),
        info("Notary", 100, 1),
    ];
    let map = NetworkMap::new(parameters(), infos);
    let bank = party("Bank A", 2);
    assert_eq!(map.nodes().len(), 2);
    assert_eq!(
        map.party(&bank.id()),
        Some(&bank),
        "the greatest serial counts"
    );
    assert_eq!(map.by_name(&bank.name), Some(&bank));
    assert_eq!(map.by_key(&public(2)), Some(&bank));
    assert_eq!(map.by_key(&public(1)), None);
    assert_eq!(map.notary(), Some(&notary()));
    assert!(map.is_notary(&notary().id()) && !map.is_notary(&bank.id()));
    assert_eq!(map.rules().notaries, [notary()]);
    assert_eq!(map.node(&bank.id()).unwrap().serial, 3);
    assert_eq!(map.parameters().version, 1);
}

#[test]
fn a_party_with_another_key_is_shown_with_it() {
    let map = NetworkMap::new(parameters(), [info("Bank A", 2, 1)]);
    let (known, impostor) = (party("Bank A", 2), party("Bank A", 1));
    assert_eq!(map.title(&known), known.name.to_string());
    let key = impostor.key.to_text();
    assert_eq!(
        map.title(&impostor),
        format!("{} [unknown key {key}]", known.name)
    );
    assert!(map.title(&party("Bank Z", 9)).contains("unknown key"));
}

#[test]
fn a_party_id_follows_from_the_name() {
    let (one, other) = (party("Bank A", 1), party("Bank A", 2));
    assert_eq!(one.id(), other.id());
    let dns = one.id().dns_name();
    assert_eq!(dns.len(), 53);
    assert!(dns.starts_with('p') && dns.ends_with(".party.tally"));
    assert_eq!(one.id().to_string().parse(), Ok(one.id()));
}

#[test]
fn descriptors_are_opened_when_properly_signed() {
    let descriptor = ContractDescriptor::sign(coin(), 3, CodeKind::Native, &key(9));
    let mut checker = SignatureChecker::new();
    let bytes = descriptor.to_bytes();
    let opened = ContractDescriptor::open(&bytes, |m| checker.check(m)).unwrap();
    assert_eq!(opened, descriptor);
    assert_eq!(opened.hash(), ledger::attachment_hash(&bytes));
    assert_eq!(
        (opened.signer(), opened.kind()),
        (&public(9), CodeKind::Native)
    );

    let mut forged = bytes.clone();
    let version_at = 2 + coin().as_str().len();
    assert_eq!(forged[version_at], 3);
    forged[version_at] = 4;
    let error = ContractDescriptor::open(&forged, |m| checker.check(m)).unwrap_err();
    check_error(
        &error,
        "contract.descriptor_bad_signature",
        "as its author signed it",
    );
    for bad in [vec![0; 20_000], vec![0xff]] {
        let error = ContractDescriptor::open(&bad, |m| checker.check(m)).unwrap_err();
        check_error(&error, "contract.descriptor_malformed", "published");
    }
}

#[test]
fn rejections_carry_code_message_and_hint() {
    let error = base().build(SALT).unwrap_err();
    let coded: &dyn primitives::Coded = &error;
    let rejection = Rejection::from(coded);
    assert_eq!(rejection.code, "tx.empty");
    assert_eq!(rejection, Rejection::of(&error));
    assert!(rejection.to_string().contains("add an input or an output"));
}
