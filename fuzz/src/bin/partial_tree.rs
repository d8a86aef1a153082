//! `primitives::PartialTree`, and where it leads.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Some(tree) = fuzz::one_form::<primitives::PartialTree>(data) {
        let _ = tree.root();
    }
});
