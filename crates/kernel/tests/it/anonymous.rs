//! Payments to fresh keys: who learns whose they are, and who does not.

use kernel::port::Table;
use kernel::{UNUSED_KEYS_MAX, key_owner};
use ledger::{OwnershipProof, PartyId};
use primitives::{Encode, KeyPair, PublicKey, Scheme};

use crate::pay::{issue, pay};
use crate::testnet::{Testnet, key, name};

/// Returns the arguments of an anonymous payment of cash that node 1 issued.
pub fn hidden_pay(quantity: u64, to: u8) -> String {
    pay(quantity, to).replacen('{', r#"{"anonymous":true,"#, 1)
}

fn run(net: &mut Testnet, node: usize, flow: &str, args: &str) -> Result<bool, String> {
    let token = net.start(node, flow, args, None);
    net.settle();
    net.ended(token)
}

/// Returns the owners of all cash in a node's ledger.
fn owners(net: &Testnet, node: usize) -> Vec<PublicKey> {
    let ledger = net.nodes[node].disk.ledger();
    let states = ledger.iter().flat_map(|(_, t)| t.wire().outputs());
    let read = |state: &ledger::TransactionState| {
        use primitives::Decode;
        finance::CashState::from_bytes(&state.data)
            .expect("cash")
            .owner
    };
    states.map(read).collect()
}

fn holds(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle)
}

#[test]
fn a_payee_is_known_to_the_payer_alone() {
    let mut net = Testnet::new(3);
    assert_eq!(run(&mut net, 1, "cash.issue", &issue(100)), Ok(true));
    assert_eq!(run(&mut net, 1, "cash.pay", &hidden_pay(30, 2)), Ok(true));
    net.down(2);
    net.settle();
    net.up(2);
    net.settle();
    assert_eq!(
        run(&mut net, 2, "cash.pay", &hidden_pay(10, 3)),
        Ok(true),
        "{:?}",
        net.logs
    );
    assert_eq!([1, 2, 3].map(|node| net.balance(node)), [70, 20, 10]);

    let identities = [1, 2, 3].map(|node| key(node).public().clone());
    let owners = owners(&net, 3);
    // The issue goes to the issuer's own key. Two payments and their change go to fresh keys, which are no node's identity.
    let fresh: Vec<&PublicKey> = owners.iter().filter(|k| !identities.contains(k)).collect();
    assert_eq!((owners.len(), fresh.len()), (5, 4));
    let name = name(2);
    for node in [0, 3] {
        // The recorded transactions are those that were sent.
        for (_, transaction) in net.nodes[node].disk.ledger() {
            let bytes = transaction.to_bytes();
            assert!(
                !holds(&bytes, name.as_str().as_bytes()),
                "the name at node {node}"
            );
            assert!(
                !holds(&bytes, &identities[1].to_bytes()),
                "the key at node {node}"
            );
        }
        let known = |key: &&PublicKey| {
            key_owner(key, &net.nodes[node].disk)
                .expect("the disk reads")
                .is_some()
        };
        assert_eq!(fresh.iter().copied().filter(|key| known(key)).count(), 0);
    }
    let known_by = |node: usize| -> Vec<PartyId> {
        let known = |key: &&PublicKey| key_owner(key, &net.nodes[node].disk).expect("reads");
        fresh.iter().filter_map(known).collect()
    };
    assert_eq!(known_by(1), [net.nodes[2].id]);
    assert_eq!(known_by(2), [net.nodes[3].id]);
}

#[test]
fn coins_of_several_fresh_keys_are_spent_together_and_paid_on_by_name() {
    let mut net = Testnet::new(3);
    assert_eq!(run(&mut net, 1, "cash.issue", &issue(100)), Ok(true));
    for _ in 0..5 {
        assert_eq!(run(&mut net, 1, "cash.pay", &hidden_pay(10, 2)), Ok(true));
    }
    assert_eq!(
        run(&mut net, 2, "cash.pay", &pay(45, 3)),
        Ok(true),
        "{:?}",
        net.logs
    );
    assert_eq!([1, 2, 3].map(|node| net.balance(node)), [50, 5, 45]);
    // Change to itself without a name works as well.
    assert_eq!(run(&mut net, 3, "cash.pay", &hidden_pay(20, 3)), Ok(true));
    assert_eq!(net.balance(3), 45);
}

#[test]
fn a_peer_that_asks_on_gets_keys_that_it_has_not_used() {
    let mut net = Testnet::new(2);
    // There is nothing to pay with, so each flow asks for a key and fails.
    let asked = UNUSED_KEYS_MAX + 50;
    for _ in 0..asked {
        let failed = run(&mut net, 1, "cash.pay", &hidden_pay(1, 2));
        assert_eq!(failed, Err("vault.insufficient_funds".to_owned()));
    }
    // One row for each key, and one for each key that the peer was told.
    let rows = net.nodes[2].disk.count(Table::OwnKeys);
    assert_eq!(rows, 2 * UNUSED_KEYS_MAX as usize);
}

#[test]
fn proofs_that_prove_nothing_are_refused() {
    let net = Testnet::new(3);
    let [me, owner, other] = [1, 2, 3].map(|node| net.nodes[node].id);
    let fresh = key(2).derive(7);
    assert_eq!(fresh.public(), key(2).derive(7).public());
    assert_ne!(fresh.public(), key(2).derive(8).public());
    let good = OwnershipProof::make(&fresh, &key(2), owner, me);
    let stranger = KeyPair::from_seed(Scheme::Ed25519, [99; 32]);
    let nobody = PartyId::from_array([7; 32]);
    use primitives::Coded;
    let cases = [
        ("good", good.clone(), owner, None),
        (
            "brought by another",
            good.clone(),
            other,
            Some("key.proof_wrong_owner"),
        ),
        (
            "made for another",
            OwnershipProof::make(&fresh, &key(2), owner, other),
            owner,
            Some("key.proof_wrong_audience"),
        ),
        (
            "not in the map",
            OwnershipProof::make(&fresh, &stranger, nobody, me),
            nobody,
            Some("key.owner_unknown"),
        ),
        (
            "an identity key",
            OwnershipProof::make(&key(3), &key(2), owner, me),
            owner,
            Some("key.not_fresh"),
        ),
    ];
    for (what, proof, from, expected) in cases {
        let checked = proof.check(&net.network, &from, &me);
        assert_eq!(checked.err().map(|e| e.code()), expected, "{what}");
    }
    let mut checker = primitives::SignatureChecker::with_budget(1 << 16);
    let mut all_good = |proof: &OwnershipProof| {
        let messages = proof.check(&net.network, &owner, &me).expect("checked");
        messages.iter().all(|message| checker.check(message))
    };
    assert!(all_good(&good));
    let by_stranger = OwnershipProof::make(&fresh, &stranger, owner, me);
    assert!(!all_good(&by_stranger));
    let not_held = OwnershipProof {
        key: stranger.public().clone(),
        ..good.clone()
    };
    assert!(!all_good(&not_held));
    let replayed = OwnershipProof {
        by_key: by_stranger.by_owner,
        ..good
    };
    assert!(!all_good(&replayed));
}
