//! `chain::message::Gossip`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(init: fuzz::seed("chain_messages.json", "hex"), |data: &[u8]| {
    if let Ok(message) = chain::message::Gossip::read(data) {
        assert_eq!(message.to_bytes(), data, "another form of the same message");
    }
});
