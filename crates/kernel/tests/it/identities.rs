//! Fresh keys are swapped: only the two sides learn each other's keys, and invalid proofs are refused.

use kernel::port::Table;
use kernel::{Reply, key_owner};
use primitives::{Decode, PublicKey};

use crate::testnet::Testnet;

fn swap(with: u64, lie: &str) -> String {
    format!(r#"{{"with":{with},"lie":"{lie}"}}"#)
}

/// Runs a swap of keys. Returns the keys of the initiator and of its counterparty.
fn swapped(net: &mut Testnet, node: usize, args: &str) -> Result<[PublicKey; 2], String> {
    let token = net.start(node, "test.swap", args, None);
    net.settle();
    let reply = net.replies.remove(&token);
    let Some(Reply::Ended { outcome, .. }) = reply else {
        panic!("{reply:?}; logs: {:#?}", net.logs);
    };
    let bytes = outcome.result.clone().map_err(|rejection| rejection.code)?;
    let keys = Vec::<PublicKey>::from_bytes(&bytes).expect("keys");
    Ok(keys.try_into().expect("two keys"))
}

#[test]
fn both_sides_learn_each_others_keys_and_nobody_else_does() {
    let mut net = Testnet::new(3);
    let [first, second] = swapped(&mut net, 1, &swap(2, "None")).expect("swapped");
    assert_ne!(first, second);
    for restarted in [false, true] {
        if restarted {
            for node in [1, 2, 3] {
                net.down(node);
                net.up(node);
            }
            net.settle();
        }
        for (node, known) in [
            (0, [None, None]),
            (1, [None, Some(2)]),
            (2, [Some(1), None]),
            (3, [None, None]),
        ] {
            let disk = &net.nodes[node].disk;
            for (key, owner) in [&first, &second].into_iter().zip(known) {
                let found = key_owner(key, disk).expect("the disk reads");
                assert_eq!(
                    found,
                    owner.map(|owner: usize| net.nodes[owner].id),
                    "at {node}"
                );
            }
            let own = [&first, &second].map(|key| kernel::is_own_key(key, disk).expect("reads"));
            assert_eq!(own, [node == 1, node == 2], "at {node}");
        }
    }
}

#[test]
fn proofs_that_were_made_for_others_by_others_or_by_nobody_are_refused() {
    for (lie, code) in [
        ("OtherAudience", "key.proof_wrong_audience"),
        ("Theirs", "key.proof_wrong_owner"),
        ("Nonsense", "flow.message_malformed"),
        ("Forged", "key.proof_bad_signature"),
        ("NotFresh", "key.not_fresh"),
    ] {
        let mut net = Testnet::new(3);
        let refused = swapped(&mut net, 1, &swap(2, lie));
        assert_eq!(refused, Err(code.to_owned()), "{lie}");
        let known = net.nodes[2].disk.count(Table::KeyOwners);
        assert_eq!(known, 0, "{lie}");
    }
}

#[test]
fn a_proof_that_comes_again_to_whom_it_was_made_for_changes_nothing() {
    let mut net = Testnet::new(2);
    let [mine, _] = swapped(&mut net, 1, &swap(2, "Again")).expect("swapped");
    let owner = key_owner(&mine, &net.nodes[2].disk).expect("the disk reads");
    assert_eq!(owner, Some(net.nodes[1].id));
    // The key's row and its place among the owner's keys.
    assert_eq!(net.nodes[2].disk.count(Table::KeyOwners), 2);
}

#[test]
fn a_restart_of_either_side_tells_no_key_a_second_time() {
    let mut net = Testnet::new(2);
    let mut told = std::collections::BTreeSet::new();
    for round in 0..12 {
        let keys = swapped(&mut net, 1, &swap(2, "None")).expect("swapped");
        told.extend(keys);
        net.down(1 + round % 2);
        net.up(1 + round % 2);
        net.settle();
    }
    assert_eq!(told.len(), 24);
}
