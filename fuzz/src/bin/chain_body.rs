//! `chain::block::read_body`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(body) = chain::block::read_body(data, 1_000) {
        let mut bytes = Vec::new();
        chain::block::write_body(&body, &mut bytes);
        assert_eq!(bytes, data, "another form of the same body");
    }
});
