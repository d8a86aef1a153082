//! Keys, composite ones above all.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(init: fuzz::seed("keys.json", "encoding"), |data: &[u8]| {
    if let Some(key) = fuzz::one_form::<primitives::PublicKey>(data) {
        assert_eq!(key.to_text().parse().as_ref(), Ok(&key));
        let leaves = key.leaf_keys();
        assert!(key.is_fulfilled_by(&leaves.iter().collect()));
    }
});
