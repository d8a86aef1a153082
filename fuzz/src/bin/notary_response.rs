//! Answers of a notary.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(init: fuzz::seed("notary.json", "encoding"), |data: &[u8]| {
    fuzz::canonical::<ledger::NotaryResponse>(data);
});
