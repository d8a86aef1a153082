//! `primitives::MerkleProof`, and where it leads.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Some(proof) = fuzz::one_form::<primitives::MerkleProof>(data) {
        let _ = proof.root(primitives::Hash::ZERO);
    }
});
