//! `chain::Header`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(init: fuzz::seed("chain.json", "header"), |data: &[u8]| {
    if let Ok(header) = chain::block::read_header(data) {
        assert_eq!(
            &header.to_bytes()[..],
            data,
            "another form of the same header"
        );
    }
});
