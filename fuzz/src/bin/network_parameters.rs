//! `ledger::NetworkParameters`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(init: fuzz::seed("network.json", "encoding"), |data: &[u8]| {
    fuzz::canonical::<ledger::NetworkParameters>(data);
});
