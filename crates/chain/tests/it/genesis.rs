//! Genesis: refusals with their codes, decoding, and the coverage of the hash.

use chain::genesis::{BalanceSpec, ChainSpec, GenesisSpec, SUPPLY_MAX};
use chain::{ChainId, Genesis, MinorUnits, Seconds, key_of_passphrase};
use primitives::{PublicKey, hex};
use proptest::prelude::*;

fn spec() -> GenesisSpec {
    let chain = |id: u8, name: &str, symbol: &str| ChainSpec {
        id: ChainId(id),
        name: name.into(),
        symbol: symbol.into(),
        decimals: 4,
    };
    GenesisSpec {
        network: "test".into(),
        time_ms: 1_750_000_000_000,
        profile: "loadtest".into(),
        params: Default::default(),
        chains: vec![chain(1, "parent", "P"), chain(2, "child", "C")],
        balances: vec![balance("0", "P", 50_000_000), balance("1", "C", 7)],
    }
}

fn balance(passphrase: &str, symbol: &str, amount: u64) -> BalanceSpec {
    BalanceSpec {
        passphrase: Some(passphrase.into()),
        amounts: [(symbol.to_string(), MinorUnits::new(amount))].into(),
        ..BalanceSpec::default()
    }
}

#[test]
fn a_genesis_that_breaks_a_rule_is_refused_with_its_code() {
    type Change = fn(&mut GenesisSpec);
    let cases: &[(&str, Change)] = &[
        ("", |_| {}),
        ("chain_genesis.name", |s| s.network = String::new()),
        ("chain_genesis.name", |s| s.network = "a\nb".into()),
        ("chain_genesis.name", |s| s.network = "n".repeat(65)),
        ("chain_genesis.name", |s| s.chains[1].name = " C".into()),
        ("chain_genesis.name", |s| {
            (s.chains[1].symbol, s.balances) = ("C".repeat(13), s.balances[..1].to_vec())
        }),
        ("chain_genesis.params", |s| s.profile = "mine".into()),
        ("chain_genesis.params", |s| {
            s.params.block_seconds = Some(Seconds::ZERO)
        }),
        ("chain_genesis.params", |s| {
            s.params.lease_delay_blocks = Some(719)
        }),
        ("chain_genesis.chains", |s| s.chains[0].id = ChainId(3)),
        ("chain_genesis.chains", |s| s.chains[1].id = ChainId(0)),
        ("chain_genesis.chains", |s| s.chains[1].id = ChainId(1)),
        ("chain_genesis.chains", |s| {
            s.chains[1].name = "parent".into()
        }),
        ("chain_genesis.chains", |s| s.chains[1].decimals = 13),
        ("chain_genesis.chains", |s| {
            s.chains = (1..=65)
                .map(|id| ChainSpec {
                    id: ChainId(id),
                    name: format!("n{id}"),
                    symbol: format!("s{id}"),
                    decimals: 0,
                })
                .collect();
            s.balances = vec![balance("0", "s1", 5_000)];
        }),
        ("chain_genesis.balances", |s| {
            s.balances.push(balance("0", "P", 1))
        }),
        ("chain_genesis.balances", |s| {
            s.balances.push(balance("0", "X", 1))
        }),
        ("chain_genesis.balances", |s| {
            s.balances.push(balance("2", "P", 0))
        }),
        ("chain_genesis.balances", |s| {
            s.balances[0].key = Some("00".repeat(32))
        }),
        ("chain_genesis.balances", |s| {
            s.balances[0].passphrase = None;
            s.balances[0].key = Some("00".repeat(31));
        }),
        ("chain_genesis.supply", |s| {
            s.balances.push(balance("2", "C", SUPPLY_MAX.get()))
        }),
        ("chain_genesis.supply", |s| {
            s.balances[0] = balance("0", "P", 9_999_999)
        }),
        ("chain_genesis.supply", |s| {
            s.chains[0].decimals = 0;
            s.balances[0] = balance("0", "P", SUPPLY_MAX.get());
        }),
    ];
    let mut codes = std::collections::BTreeSet::from(["chain_genesis.malformed"]);
    for (number, (code, change)) in cases.iter().enumerate() {
        let mut spec = spec();
        change(&mut spec);
        let found = spec.build().map_or_else(|rejection| rejection.code, |_| "");
        assert_eq!(found, *code, "case {number}");
        codes.insert(found);
    }
    for info in chain::ERRORS
        .iter()
        .filter(|i| i.code.starts_with("chain_genesis."))
    {
        assert!(codes.contains(info.code), "no case of {}", info.code);
    }
}

#[test]
fn an_account_is_the_same_by_passphrase_key_and_name() {
    let PublicKey::Ed25519(key) = *key_of_passphrase("0").public() else {
        panic!("passphrases make Ed25519 keys");
    };
    let by_passphrase = spec().build().unwrap();
    let mut by_key = spec();
    by_key.balances[0].passphrase = None;
    by_key.balances[0].key = Some(hex::encode(&key));
    assert_eq!(by_key.build().unwrap(), by_passphrase);
    let mut by_name = spec();
    by_name.balances[0].passphrase = None;
    by_name.balances[0].account = Some(chain::AccountId::of_key(&key));
    assert_eq!(by_name.build().unwrap(), by_passphrase);
}

#[test]
fn a_file_leads_back_and_unknown_fields_are_refused() {
    let text = serde_json::to_string(&spec()).unwrap();
    assert_eq!(serde_json::from_str::<GenesisSpec>(&text).unwrap(), spec());
    let more = text.replacen('{', "{\"other\":1,", 1);
    assert!(serde_json::from_str::<GenesisSpec>(&more).is_err());
}

#[test]
fn every_part_goes_into_the_hash() {
    type Change = fn(&mut GenesisSpec);
    let changes: &[Change] = &[
        |s| s.network.push('x'),
        |s| s.time_ms += 1,
        |s| s.params.block_seconds = Some(Seconds::new(6)),
        |s| s.params.standstill_seconds = Some(Seconds::new(1)),
        |s| s.chains[1].name.push('x'),
        |s| s.chains[1].symbol = "X".into(),
        |s| s.chains[1].decimals = 5,
        |s| s.chains[1].id = ChainId(3),
        |s| s.balances[0].amounts = [("P".to_string(), MinorUnits::new(50_000_001))].into(),
        |s| s.balances[0].passphrase = Some("2".into()),
    ];
    let first = spec().build().unwrap().hash;
    for (number, change) in changes.iter().enumerate() {
        let mut spec = spec();
        change(&mut spec);
        if let Some(balance) = spec.balances.get_mut(1) {
            let symbol = spec.chains[1].symbol.clone();
            balance.amounts = [(symbol, MinorUnits::new(7))].into();
        }
        assert_ne!(spec.build().unwrap().hash, first, "case {number}");
    }
}

/// The version of the encoding follows from the constants, so a network of an earlier version keeps its hash.
#[test]
fn a_constant_of_zero_is_encoded_as_before_it_existed() {
    for (percent, version) in [(0, 1), (17, 2), (100, 2)] {
        let mut spec = spec();
        spec.params.work_elapsed_min_percent = Some(percent);
        let bytes = spec.build().unwrap().to_bytes();
        assert_eq!(bytes[0], version, "{percent} %");
        let read = Genesis::from_bytes(&bytes).unwrap();
        assert_eq!(read.params.work_elapsed_min_percent, percent);
        assert_eq!(read.to_bytes(), bytes, "{percent} %");
        let other = [&[3 - version], &bytes[1..]].concat();
        assert!(Genesis::from_bytes(&other).is_err(), "{percent} %");
    }
    let mut spec = spec();
    spec.params.work_elapsed_min_percent = Some(101);
    assert_eq!(spec.build().unwrap_err().code, "chain_genesis.params");
}

proptest! {
    #![proptest_config(properties::config!(256))]

    #[test]
    fn bytes_lead_back_and_cut_or_changed_ones_never_pass_for_the_same(at in 0usize..400, to: u8) {
        let genesis = spec().build().unwrap();
        let bytes = genesis.to_bytes();
        // The bytes do not contain passphrases. A decoded genesis counts as a production network.
        let read = Genesis::from_bytes(&bytes).unwrap();
        prop_assert!(genesis.is_test_network && !read.is_test_network);
        prop_assert_eq!(&Genesis { is_test_network: true, ..read }, &genesis);
        prop_assert!(Genesis::from_bytes(&bytes[..at.min(bytes.len() - 1)]).is_err());
        let mut changed = bytes.clone();
        let at = at % bytes.len();
        changed[at] = to;
        if let Ok(other) = Genesis::from_bytes(&changed) {
            prop_assert_eq!(other.to_bytes(), changed);
            prop_assert_eq!(other.hash == genesis.hash, to == bytes[at]);
        }
    }

    #[test]
    fn garbage_is_refused(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let mut bytes = bytes;
        if let Some(version) = bytes.first_mut() { *version = 1; }
        let _ = Genesis::from_bytes(&bytes);
    }
}
