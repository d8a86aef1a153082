//! Requests to a notary.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(init: fuzz::seed("notary.json", "encoding"), |data: &[u8]| {
    if let Some(request) = fuzz::one_form::<ledger::NotaryRequest>(data) {
        match request.subject {
            ledger::NotarySubject::TearOff(tear_off) => drop(tear_off.verify()),
            ledger::NotarySubject::Whole(whole) => drop(whole.check_signatures(&[])),
        }
    }
});
