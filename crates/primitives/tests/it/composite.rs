//! Composite keys: who satisfies them, which are refused, how they are written.

use std::collections::BTreeSet;

use primitives::{CompositeKey, Decode, Encode, KeyPair, PublicKey, Scheme};
use proptest::prelude::*;

fn leaf(number: u8) -> PublicKey {
    let scheme = if number % 5 == 4 {
        Scheme::EcdsaP256
    } else {
        Scheme::Ed25519
    };
    KeyPair::from_seed(scheme, [number; 32]).public().clone()
}

fn composite(threshold: u32, children: &[(u32, PublicKey)]) -> PublicKey {
    match CompositeKey::new(threshold, children.to_vec()) {
        Ok(key) => PublicKey::Composite(key.into()),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn fulfilment() {
    let [a, b, c, d] = [0, 1, 2, 3].map(leaf);
    let check = |key: &PublicKey, signers: &[&PublicKey], expected: bool| {
        let signers: BTreeSet<&PublicKey> = signers.iter().copied().collect();
        assert_eq!(
            key.is_fulfilled_by(&signers),
            expected,
            "{key:?} by {signers:?}"
        );
    };
    check(&a, &[&a], true);
    check(&a, &[&b], false);
    check(&a, &[], false);

    let two_of_three = composite(2, &[(1, a.clone()), (1, b.clone()), (1, c.clone())]);
    check(&two_of_three, &[&a, &b], true);
    check(&two_of_three, &[&c, &a, &d], true);
    check(&two_of_three, &[&a], false);
    check(&two_of_three, &[&a, &d], false);
    check(&two_of_three, &[], false);

    let chair_or_all = composite(3, &[(3, a.clone()), (1, b.clone()), (2, c.clone())]);
    check(&chair_or_all, &[&a], true);
    check(&chair_or_all, &[&b, &c], true);
    check(&chair_or_all, &[&c], false);

    // A child that is composite counts only when it is satisfied itself; the composite key does not sign.
    let nested = composite(2, &[(1, two_of_three.clone()), (1, d.clone())]);
    check(&nested, &[&d, &a, &c], true);
    check(&nested, &[&a, &b, &c], false);
    check(&nested, &[&d, &a], false);
    check(&nested, &[&d, &two_of_three], false);
    assert_eq!(nested.leaf_keys(), BTreeSet::from([a, b, c, d]));
}

#[test]
fn refused() {
    let [a, b] = [0, 1].map(leaf);
    let check = |threshold, children: Vec<(u32, PublicKey)>, reason: &str| {
        let error = CompositeKey::new(threshold, children).map_err(|error| error.to_string());
        assert!(
            error.as_ref().is_err_and(|text| text.contains(reason)),
            "{error:?}"
        );
    };
    check(1, vec![], "no children");
    check(1, (0..65).map(|n| (1, leaf(n))).collect(), "more than 64");
    check(0, vec![(1, a.clone())], "threshold");
    check(3, vec![(1, a.clone()), (1, b.clone())], "threshold");
    check(1, vec![(0, a.clone())], "weight is zero");
    check(1, vec![(1, a.clone()), (2, a.clone())], "comes twice");
    check(1, vec![(u32::MAX, a.clone()), (1, b)], "32 bits");

    let mut deep = a.clone();
    for _ in 0..8 {
        deep = composite(1, &[(1, deep)]);
    }
    check(1, vec![(1, deep.clone())], "levels");
    let too_deep = [&[0x83, 3, 1, 0x81, 0x82, 1], &deep.to_bytes()[..]].concat();
    assert!(PublicKey::from_bytes(&deep.to_bytes()).is_ok());
    assert!(PublicKey::from_bytes(&too_deep).is_err());

    let wide: Vec<(u32, PublicKey)> = (0..64).map(|n| (1, leaf(n))).collect();
    let full: Vec<(u32, PublicKey)> = (1..=16).map(|n| (1, composite(n, &wide))).collect();
    assert!(CompositeKey::new(1, full.clone()).is_ok());
    check(1, [full, vec![(1, a)]].concat(), "1024");
}

#[test]
fn one_form_whatever_the_order() {
    let mut keys: Vec<(u32, PublicKey)> = (0..6).map(|n| (u32::from(n) + 1, leaf(n))).collect();
    let key = composite(4, &keys);
    keys.reverse();
    assert_eq!(composite(4, &keys), key);
    let bytes = key.to_bytes();
    assert_eq!(PublicKey::from_bytes(&bytes), Ok(key.clone()));
    assert_eq!(key.to_text().parse(), Ok(key.clone()));
    // Children in another order: the same key in another form, and so refused.
    let mut swapped = vec![0x83, 3, 4, 0x86];
    if let PublicKey::Composite(composite) = &key {
        for (weight, child) in composite.children().iter().rev() {
            swapped.extend((*weight, child).to_bytes());
        }
    }
    assert_eq!(swapped.len(), bytes.len());
    assert!(PublicKey::from_bytes(&swapped).is_err());
}

#[test]
fn text() {
    for key in [
        leaf(0),
        leaf(4),
        composite(1, &[(1, leaf(0)), (1, leaf(4))]),
    ] {
        assert_eq!(key.to_text().parse(), Ok(key.clone()));
        let json = serde_json::to_string(&key).unwrap_or_default();
        assert_eq!(serde_json::from_str::<PublicKey>(&json).ok(), Some(key));
    }
    for wrong in [
        "",
        "ed25519",
        "ed25519:",
        "ed25519:00",
        "rsa:00",
        &format!("p256:05{}", "0".repeat(64)),
        "composite:820158",
        &format!("composite:{}", primitives::hex::encode(&leaf(0).to_bytes())),
    ] {
        assert!(wrong.parse::<PublicKey>().is_err(), "{wrong}");
    }
}

fn any_key() -> impl Strategy<Value = PublicKey> {
    let leaf = prop_oneof![
        any::<[u8; 32]>().prop_map(PublicKey::Ed25519),
        (any::<[u8; 32]>(), any::<bool>()).prop_map(|(x, odd)| {
            let mut bytes = [2 + u8::from(odd); 33];
            bytes[1..].copy_from_slice(&x);
            PublicKey::EcdsaP256(bytes)
        }),
    ];
    leaf.prop_recursive(4, 24, 4, |child| {
        (1u32..4, prop::collection::vec((1u32..300, child), 1..4)).prop_filter_map(
            "children twice",
            |(threshold, children)| {
                let key = CompositeKey::new(threshold, children).ok()?;
                Some(PublicKey::Composite(key.into()))
            },
        )
    })
}

proptest! {
    #![proptest_config(properties::config!(256))]

    #[test]
    fn order_is_the_order_of_encodings(a in any_key(), b in any_key()) {
        prop_assert_eq!(a.cmp(&b), a.to_bytes().cmp(&b.to_bytes()));
        prop_assert_eq!(PublicKey::from_bytes(&a.to_bytes()), Ok(a));
    }

    #[test]
    fn all_leaves_fulfil_and_none_do_not(key in any_key()) {
        let leaves = key.leaf_keys();
        prop_assert!(key.is_fulfilled_by(&leaves.iter().collect()));
        prop_assert!(!key.is_fulfilled_by(&BTreeSet::new()));
    }
}
