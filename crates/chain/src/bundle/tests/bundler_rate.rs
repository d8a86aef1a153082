//! Tests of the arithmetic of a bundler's rate.

use super::super::*;
use crate::{MinorUnits, Params, Percent};

#[test]
fn a_raised_rate_is_rounded_up_or_too_high() {
    for (rate, percent, raised) in [
        (0, u32::MAX, Some(0)),
        (95, 0, Some(95)),
        (95, 10, Some(105)),
        (100, 10, Some(110)),
        (u64::MAX, 0, Some(u64::MAX)),
        (u64::MAX, 1, None),
    ] {
        let found = BundlerRate::new(rate).raised_by(Percent::new(percent));
        assert_eq!(found, raised.map(BundlerRate::new), "{rate} + {percent} %");
    }
}

#[test]
fn a_fee_is_rounded_up_and_stays_within_64_bits() {
    let params = Params {
        child_block_fee_per_transaction: MinorUnits::new(10),
        ..Params::loadtest()
    };
    // With two decimals a transaction costs a tenth of a parent token.
    for (rate, overpay, decimals, fee) in [
        (0, 0, 2, 0),
        (1_000, 0, 2, 100),
        (1_001, 0, 2, 101),
        (909, 10, 2, 100),
        (1_000, 0, 0, 10_000),
        (1, 0, 12, 1),
        (u64::MAX, 100, 0, u64::MAX),
        (u64::MAX, u32::MAX, u8::MAX, 1),
    ] {
        let found = BundlerRate::new(rate).fee(Percent::new(overpay), &params, decimals);
        let fee = MinorUnits::new(fee);
        assert_eq!(found, fee, "{rate} + {overpay} %, {decimals} decimals");
    }
}

#[test]
fn one_for_one_is_a_whole_child_token() {
    for (decimals, rate) in [(0, Some(1)), (8, Some(100_000_000)), (20, None)] {
        let rate = rate.map(BundlerRate::new);
        assert_eq!(BundlerRate::one_for_one(decimals), rate);
    }
}

#[test]
fn bytes_text_and_json_are_those_of_the_integer() {
    let rate = BundlerRate::new(0x0102_0304);
    assert_eq!(rate.to_be_bytes(), [0, 0, 0, 0, 1, 2, 3, 4]);
    assert_eq!(BundlerRate::from_be_bytes(rate.to_be_bytes()), rate);
    assert_eq!(rate.to_string(), "16909060");
    assert_eq!(serde_json::to_string(&rate).unwrap(), "16909060");
    let read: BundlerRate = serde_json::from_str("16909060").unwrap();
    assert_eq!(read, rate);
}
