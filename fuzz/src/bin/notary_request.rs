//! What is asked of a notary.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(init: fuzz::seed("notary.json", "encoding"), |data: &[u8]| {
    if let Some(request) = fuzz::one_form::<ledger::NotaryRequest>(data) {
        let _ = request.tear_off.verify();
    }
});
