//! Signed network documents of either kind.

#![no_main]

use ledger::{NetworkParameters, NodeInfo, SignedDocument};
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: fuzz::seed("network.json", "signed"), |data: &[u8]| {
    fuzz::canonical::<SignedDocument<NodeInfo>>(data);
    fuzz::canonical::<SignedDocument<NetworkParameters>>(data);
});
