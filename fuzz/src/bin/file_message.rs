//! `transfer::Message`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(init: fuzz::seed("attachments.json", "hex"), |data: &[u8]| {
    fuzz::canonical::<transfer::Message>(data);
});
