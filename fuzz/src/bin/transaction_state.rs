//! States as transactions carry them.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(init: fuzz::seed("transactions.json", "bytes"), |data: &[u8]| {
    fuzz::canonical::<ledger::TransactionState>(data);
});
