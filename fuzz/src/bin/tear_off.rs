//! Tear-offs: a notary's proved content equals the content that any other reader sees.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(init: fuzz::seed("tear_offs.json", "encoding"), |data: &[u8]| {
    if let Some(tear_off) = fuzz::one_form::<ledger::FilteredTransaction>(data) {
        let opened = tear_off.open();
        if let Ok(checked) = tear_off.verify() {
            assert_eq!(checked.id(), tear_off.claimed_id());
            if let Ok(opened) = opened {
                assert_eq!(opened.inputs.len(), checked.inputs().len());
                assert_eq!(opened.references.len(), checked.references().len());
            }
        }
    }
});
