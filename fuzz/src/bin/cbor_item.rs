//! Any bytes as one item of canonical CBOR.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(init: fuzz::seed("cbor.json", "hex"), |data: &[u8]| {
    fuzz::item(data);
});
