//! Contract descriptors.

#![no_main]

use ledger::ContractDescriptor;
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: fuzz::seed("network.json", "encoding"), |data: &[u8]| {
    let decoded = fuzz::one_form::<ContractDescriptor>(data);
    let opened = ContractDescriptor::open(data, |_| true);
    assert!(opened.ok() == decoded || data.len() > 16 * 1024);
});
