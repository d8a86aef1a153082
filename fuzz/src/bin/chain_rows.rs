//! `chain::state::rows`: rows as a damaged store may hold them.

#![no_main]

use chain::state::rows::{
    HeaderRow, LeaseRow, Place, read_account_txs, read_tip, read_undo, undo_value,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: fuzz::seed("chain.json", "headers"), |data: &[u8]| {
    if let Ok(row) = HeaderRow::read(data) {
        assert_eq!(row.to_bytes(), data, "another form of the same header row");
    }
    if let Ok(row) = LeaseRow::read(data) {
        assert_eq!(row.to_bytes(), data, "another form of the same lease");
    }
    if let Ok(former) = read_undo(data) {
        assert_eq!(undo_value(&former), data, "another form of the same undo row");
    }
    let _ = Place::read(data);
    let _ = read_tip(data);
    if let Ok(places) = read_account_txs(data) {
        assert!(places.len() <= data.len(), "more places than bytes");
    }
});
