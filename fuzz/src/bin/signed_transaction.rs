//! Transactions with signatures.

#![no_main]

use ledger::SignedTransaction;
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: fuzz::seed("transactions.json", "encoding"), |data: &[u8]| {
    let parsed = SignedTransaction::parse(data);
    let decoded = fuzz::one_form::<SignedTransaction>(data);
    assert_eq!(parsed.as_ref().ok(), decoded.as_ref());
    if let Ok(signed) = parsed {
        let _ = signed.check_signatures(&[]);
        let _ = signed.missing_signers();
    }
});
