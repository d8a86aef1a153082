//! `chain::block::read_carried_body`: bodies of blocks, as peers send them.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(body) = chain::block::read_carried_body(&primitives::Hash::ZERO, data, 1_000) {
        let mut bytes = Vec::new();
        for entry in &body {
            entry.transaction.transaction.write(&mut bytes);
            for child in &entry.children {
                child.transaction.write(&mut bytes);
            }
        }
        assert_eq!(bytes, data, "another form of the same body");
    }
});
