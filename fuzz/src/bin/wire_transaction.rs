//! Transactions without signatures.

#![no_main]

use ledger::{FilteredTransaction, WireTransaction};
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: fuzz::seed("transactions.json", "encoding"), |data: &[u8]| {
    let parsed = WireTransaction::parse(data);
    let decoded = fuzz::one_form::<WireTransaction>(data);
    assert_eq!(parsed.as_ref().ok(), decoded.as_ref());
    if let Ok(wire) = parsed {
        let checked = FilteredTransaction::for_notary(&wire).verify();
        assert!(checked.is_ok_and(|checked| checked.id() == wire.id()));
    }
});
