//! Merkle roots by their definition, and proofs that lead to them and to nothing else.

use primitives::{
    Decode, Domain, Encode, Hash, MerkleError, MerkleProof, PartialTree, merkle_proofs, merkle_root,
};
use proptest::prelude::*;

fn leaves(count: usize) -> Vec<Hash> {
    (0..count as u32)
        .map(|at| Hash::of(Domain::Leaf, &[&at.to_be_bytes()]))
        .collect()
}

/// RFC 6962 section 2.1, word for word.
fn defined_root(leaves: &[Hash]) -> Hash {
    if let [leaf] = leaves {
        return *leaf;
    }
    let mut split = 1;
    while split * 2 < leaves.len() {
        split *= 2;
    }
    let (left, right) = leaves.split_at(split);
    Hash::of(
        Domain::Node,
        &[
            defined_root(left).as_bytes(),
            defined_root(right).as_bytes(),
        ],
    )
}

#[test]
fn roots_and_proofs_of_every_small_tree() {
    assert_eq!(merkle_root(&[]), None);
    assert!(merkle_proofs(&[]).is_empty());
    for count in 1..100 {
        let leaves = leaves(count);
        let root = defined_root(&leaves);
        assert_eq!(merkle_root(&leaves), Some(root), "{count}");
        let proofs = merkle_proofs(&leaves);
        assert_eq!(proofs.len(), count);
        for (leaf, proof) in leaves.iter().zip(&proofs) {
            assert_eq!(proof.root(*leaf), Ok(root), "{proof:?}");
            assert_eq!(
                MerkleProof::from_bytes(&proof.to_bytes()).as_ref(),
                Ok(proof)
            );
        }
    }
}

#[test]
fn damaged_proofs() {
    let leaves = leaves(11);
    let proof = &merkle_proofs(&leaves)[9];
    let root = proof.root(leaves[9]);
    let check = |damage: &dyn Fn(&mut MerkleProof), expected: Option<MerkleError>| {
        let mut damaged = proof.clone();
        damage(&mut damaged);
        match expected {
            Some(error) => assert_eq!(damaged.root(leaves[9]), Err(error)),
            None => assert_ne!(damaged.root(leaves[9]), root),
        }
    };
    let wrong_length = Some(MerkleError::WrongLength);
    check(
        &|proof| proof.index = 11,
        Some(MerkleError::OutOfRange {
            index: 11,
            count: 11,
        }),
    );
    check(
        &|proof| proof.count = 0,
        Some(MerkleError::OutOfRange { index: 9, count: 0 }),
    );
    check(&|proof| proof.path.clear(), wrong_length);
    check(&|proof| proof.path.truncate(2), wrong_length);
    check(&|proof| proof.path.push(Hash::ZERO), wrong_length);
    check(&|proof| proof.count = u32::MAX, wrong_length);
    check(&|proof| proof.index = 8, None);
    check(&|proof| proof.index = 10, wrong_length);
    check(&|proof| proof.path[1] = Hash::ZERO, None);
    check(&|proof| proof.path.swap(0, 1), None);
}

#[test]
fn partial_trees_of_every_subset() {
    for count in 1..=9usize {
        let all = leaves(count);
        let root = defined_root(&all);
        for subset in 0u32..1 << count {
            let places: Vec<u32> = (0..count as u32)
                .filter(|at| subset >> at & 1 == 1)
                .collect();
            let tree = PartialTree::new(&all, &places);
            let Ok(tree) = tree else {
                panic!("{count} {places:?}: {tree:?}");
            };
            assert_eq!(tree.root(), Ok(root), "{count} {places:?}");
            assert_eq!(
                PartialTree::from_bytes(&tree.to_bytes()).as_ref(),
                Ok(&tree)
            );
            for at in 0..tree.hashes.len() {
                let mut short = tree.clone();
                short.hashes.remove(at);
                assert!(short.root().is_err());
            }
            let mut long = tree.clone();
            long.hashes.push(Hash::ZERO);
            assert_eq!(long.root(), Err(MerkleError::WrongLength));
        }
    }
}

#[test]
fn refused_partial_trees() {
    let all = leaves(5);
    let check = |places: &[u32], error| assert_eq!(PartialTree::new(&all, places), Err(error));
    check(&[1, 1], MerkleError::NotSorted);
    check(&[2, 1], MerkleError::NotSorted);
    check(&[5], MerkleError::OutOfRange { index: 5, count: 5 });
    assert_eq!(PartialTree::new(&[], &[]), Err(MerkleError::WrongLength));
    let mut tree = PartialTree {
        count: u32::MAX,
        leaves: vec![(u32::MAX - 1, Hash::ZERO)],
        hashes: vec![Hash::ZERO; 40],
    };
    assert_eq!(tree.root(), Err(MerkleError::WrongLength));
    tree.leaves.push((0, Hash::ZERO));
    assert_eq!(tree.root(), Err(MerkleError::NotSorted));
}

proptest! {
    #![proptest_config(properties::config!(256))]

    #[test]
    fn partial_trees_prove_each_leaf(count in 1usize..300, seed in any::<u64>(), changed in any::<u32>()) {
        let all = leaves(count);
        let places: Vec<u32> = (0..count as u32).filter(|at| seed.rotate_left(*at) & 3 == 0).collect();
        let tree = PartialTree::new(&all, &places).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(tree.root(), Ok(defined_root(&all)));
        if !places.is_empty() {
            let mut damaged = tree;
            let at = changed as usize % damaged.leaves.len();
            damaged.leaves[at].1 = Hash::ZERO;
            prop_assert_ne!(damaged.root(), Ok(defined_root(&all)));
        }
    }

    #[test]
    fn any_proof_and_any_partial_tree_are_harmless(
        index in any::<u32>(), count in any::<u32>(), path in 0usize..40,
        places in prop::collection::vec(any::<u32>(), 0..20),
    ) {
        let proof = MerkleProof { index, count, path: vec![Hash::ZERO; path] };
        let _ = proof.root(Hash::ZERO);
        let mut places = places;
        places.sort_unstable();
        let leaves = places.iter().map(|at| (*at, Hash::ZERO)).collect();
        let _ = PartialTree { count, leaves, hashes: vec![Hash::ZERO; path * 16] }.root();
    }
}
