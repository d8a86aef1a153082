//! SHA-256 as the ledger uses it.

use std::hint::black_box;
use std::time::Duration;

use primitives::Hash;

use super::rate::rate;

const MESSAGE_BYTES: usize = 16 * 1024;

/// Returns the megabytes (10^6) a second on one core.
pub(super) fn megabytes_per_s(slice: Duration) -> f64 {
    let message = vec![0x5a; MESSAGE_BYTES];
    rate(slice, || {
        black_box(Hash::plain(black_box(&message)));
        MESSAGE_BYTES as u64
    }) / 1e6
}
