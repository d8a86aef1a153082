//! Tests of rates and the rate book.

use primitives::{KeyPair, Scheme, SignatureChecker};
use proptest::prelude::*;

use super::super::*;
use crate::pool::tests::{at, genesis};
use crate::{ChainId, MinorUnits, Params, Percent, key_of_passphrase};

fn rules(rate_min: u64) -> BundlerRules {
    BundlerRules {
        child: ChainId(2),
        rate_min: BundlerRate::new(rate_min),
        overpay_percent: Percent::new(10),
        total_fee_max: None,
        senders: vec![],
        recipients: vec![],
        purpose: String::new(),
    }
}

fn rates(number: u8, rate_min: u64, time: u32) -> SignedRates {
    let key = KeyPair::from_seed(Scheme::Ed25519, [number; 32]);
    SignedRates::new(&key, &rules(rate_min), at(time), &genesis()).unwrap()
}

#[test]
fn rates_are_signed_and_lead_back() {
    let rates = SignedRates::new(&key_of_passphrase("0"), &rules(95), at(7), &genesis()).unwrap();
    assert_eq!(rates.rate.get(), 105, "95 and a tenth, rounded up");
    assert_eq!(SignedRates::read(&rates.to_bytes()), Ok(rates.clone()));
    let mut checker = SignatureChecker::new();
    assert!(checker.check(&rates.signed_message(&genesis())));
    let mut forged = rates;
    forged.rate = BundlerRate::new(forged.rate.get() - 1);
    assert!(!checker.check(&forged.signed_message(&genesis())));
    let foreign = KeyPair::from_seed(Scheme::EcdsaP256, [1; 32]);
    let refused = SignedRates::new(&foreign, &rules(1), at(7), &genesis());
    assert_eq!(refused.unwrap_err().code, "chain_forge.wrong_key");
}

proptest! {
    #![proptest_config(properties::config!(256))]

    #[test]
    fn what_is_read_is_written_the_same(bytes in proptest::collection::vec(any::<u8>(), RATES_BYTES - 1..RATES_BYTES + 2), good: bool) {
        let mut bytes = bytes;
        if good { bytes.resize(RATES_BYTES, 7); bytes[0] = 1; }
        match SignedRates::read(&bytes) {
            Ok(rates) => prop_assert_eq!(&rates.to_bytes()[..], &bytes[..]),
            Err(refused) => {
                prop_assert!(!good);
                prop_assert_eq!(refused.code, "chain_rates.malformed");
            }
        }
    }
}

#[test]
fn the_book_takes_what_is_of_now_and_new() {
    let params = Params::loadtest();
    let enough = params.child_block_fee_per_transaction.get();
    let mut book = RateBook::default();
    type Case<'a> = (&'a str, SignedRates, u64, u32, Result<bool, &'a str>);
    let cases: &[Case<'_>] = &[
        ("the first", rates(1, 50, 1_000), enough, 1_000, Ok(true)),
        ("again", rates(1, 50, 1_000), enough, 1_000, Ok(false)),
        ("older", rates(1, 60, 999), enough, 1_000, Ok(false)),
        ("newer", rates(1, 70, 1_015), enough, 1_000, Ok(true)),
        (
            "of the future",
            rates(2, 70, 1_016),
            enough,
            1_000,
            Err("chain_rates.stale"),
        ),
        (
            "without means",
            rates(2, 70, 1_000),
            enough - 1,
            1_000,
            Err("chain_rates.no_means"),
        ),
        ("cheaper", rates(2, 40, 1_001), enough, 1_001, Ok(true)),
        ("ten minutes old", rates(3, 40, 0), enough, 600, Ok(true)),
        (
            "older than that",
            rates(4, 40, 0),
            enough,
            601,
            Err("chain_rates.stale"),
        ),
    ];
    for (name, rates, balance, now, expected) in cases {
        let balance = MinorUnits::new(*balance);
        let outcome = book.insert(rates.clone(), balance, at(*now), &params);
        assert_eq!(outcome.map_err(|refused| refused.code), *expected, "{name}");
    }
    assert!(book.knows(&rates(1, 1, 1_015)) && !book.knows(&rates(1, 1, 1_016)));
    let order = |book: &RateBook| {
        book.of(ChainId(2))
            .iter()
            .map(|known| known.rate.get())
            .collect::<Vec<_>>()
    };
    assert_eq!(order(&book), [44, 44, 77]);
    book.expire(at(1_000));
    assert_eq!(order(&book), [44, 77]);
    assert_eq!(book.of(ChainId(3)), Vec::<&SignedRates>::new());
    assert_eq!(book.bundlers(ChainId(2)).count(), 2);
}

#[test]
fn of_too_many_bundlers_the_richest_stay() {
    let params = Params::loadtest();
    let least = params.child_block_fee_per_transaction.get();
    let mut book = RateBook::default();
    // Rates are new exactly if the book said before that it would keep them.
    let insert = |book: &mut RateBook, number, more| {
        let (rates, balance) = (rates(number, 1, 0), MinorUnits::new(least + more));
        let would_keep = book.would_keep(&rates, balance, &params);
        let inserted = book.insert(rates, balance, at(0), &params);
        assert_eq!(inserted, Ok(would_keep), "{number}");
        inserted
    };
    for number in 0..BUNDLERS_MAX as u8 {
        let more = u64::from(number) + 1;
        assert_eq!(insert(&mut book, number, more), Ok(true));
    }
    assert_eq!(insert(&mut book, 100, 0), Ok(false));
    // Of equally poor bundlers the one with the higher key stays, so that two cannot displace each other again and again.
    let poorest = rates(0, 1, 0).bundler;
    for number in 110..120 {
        let (equal, balance) = (rates(number, 1, 0), MinorUnits::new(least + 1));
        let is_kept = book.would_keep(&equal, balance, &params);
        assert_eq!(is_kept, equal.bundler > poorest, "{number}");
    }
    let penniless = MinorUnits::new(least - 1);
    assert!(
        !book.would_keep(&rates(5, 1, 1), penniless, &params),
        "known"
    );
    assert_eq!(insert(&mut book, 101, 50), Ok(true));
    assert_eq!(book.bundlers(ChainId(2)).count(), BUNDLERS_MAX);
    assert!(!book.knows(&rates(0, 1, 0)) && book.knows(&rates(101, 1, 0)));
}
