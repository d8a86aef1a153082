//! `chain::Transaction`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(init: fuzz::seed("chain.json", "bytes"), |data: &[u8]| {
    if let Ok((transaction, used)) = chain::transaction::read(data) {
        assert_eq!(
            transaction.to_bytes(),
            &data[..used],
            "another form of the same transaction"
        );
    }
});
