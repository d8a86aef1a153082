//! `chain::Genesis`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(init: fuzz::seed("chain.json", "bytes"), |data: &[u8]| {
    if let Ok(genesis) = chain::Genesis::from_bytes(data) {
        assert_eq!(genesis.to_bytes(), data, "another form of the same genesis");
    }
});
