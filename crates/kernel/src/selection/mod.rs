//! The selection of coins for flows, as a part of the kernel: locks, waits for coins, and states in quarantine.

mod part;
pub(crate) mod quarantine;

pub(crate) use part::{CoinSelection, failed};
