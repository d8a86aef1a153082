//! Tests of the times of bundling.

use std::time::Duration;

use super::super::*;
use crate::{ChainId, ChainTime, Height, Minutes, Params, Seconds};

fn at(ms: u64) -> Expected {
    Expected {
        at: ChainTime::from_ms(ms),
        local: false,
    }
}

fn here(ms: u64) -> Expected {
    Expected {
        local: true,
        ..at(ms)
    }
}

#[test]
fn ranks_take_turns_ahead_of_the_next_forger() {
    let params = Params::loadtest();
    let settings = BundleSettings::default();
    let next = |forgers: &[Expected], rank, tip_ms, last_ms: Option<u64>| {
        let (tip, last) = (ChainTime::from_ms(tip_ms), last_ms.map(ChainTime::from_ms));
        plan(&settings, &params, forgers, rank, tip, last).map(ChainTime::as_ms)
    };
    let far = [at(20_000)];
    let cases: &[(&str, Option<u64>, u64)] = &[
        ("a second ahead", next(&far, 0, 0, None), 19_000),
        (
            "the second bundler a quarter later",
            next(&far, 1, 0, None),
            19_250,
        ),
        ("the fourth", next(&far, 3, 0, None), 19_750),
        ("the tenth with the fourth", next(&far, 10, 0, None), 19_750),
        (
            "on the forger's node later",
            next(&[here(20_000)], 2, 0, None),
            19_750,
        ),
        (
            "a tip within the lead leaves less",
            next(&far, 0, 19_600, None),
            19_600,
        ),
        ("shared by all", next(&far, 2, 19_600, None), 19_800),
        ("a forger that is late", next(&far, 2, 25_000, None), 25_000),
        (
            "the next one after a look",
            next(&[at(20_000), at(24_000)], 0, 0, Some(19_000)),
            23_000,
        ),
        (
            "but not right after",
            next(&[at(20_000), at(20_500), at(30_000)], 0, 0, Some(19_000)),
            29_000,
        ),
    ];
    for (name, planned, expected) in cases {
        assert_eq!(*planned, Some(*expected), "{name}");
    }
    assert_eq!(next(&[], 0, 0, None), None);
    assert_eq!(next(&far, 0, 0, Some(19_000)), None);
}

#[test]
fn the_lead_follows_the_block_time_or_the_setting() {
    let with = |block_seconds| Params {
        block_seconds: Seconds::new(block_seconds),
        ..Params::loadtest()
    };
    let own = BundleSettings {
        lead_ms: Some(3_000),
        local_lead_ms: Some(9_000),
        margin_seconds: Some(Seconds::new(7)),
        deadline_minutes: Minutes::ZERO,
        ..BundleSettings::default()
    };
    let usual = BundleSettings::default();
    assert_eq!(
        [2, 5, 60].map(|s| usual.lead(&with(s)).as_millis()),
        [500, 1_000, 1_000]
    );
    assert_eq!(
        [2, 5, 60].map(|s| usual.local_lead(&with(s)).as_millis()),
        [125, 250, 250]
    );
    assert_eq!(
        [2, 5, 60].map(|s| usual.margin_seconds(&with(s)).get()),
        [20, 50, 600]
    );
    assert_eq!(
        (own.lead(&with(5)), own.local_lead(&with(5))),
        (Duration::from_secs(3), Duration::from_secs(3))
    );
    assert_eq!(
        (own.margin_seconds(&with(5)), own.deadline_minutes(&with(5))),
        (Seconds::new(7), Minutes::new(1))
    );
}

#[test]
fn ranks_differ_and_change_with_the_height() {
    let keys: Vec<[u8; 32]> = (0..5).map(|number| [number; 32]).collect();
    let ranks = |height| -> Vec<u32> {
        keys.iter()
            .map(|key| rank(key, keys.iter().copied(), ChainId(2), height))
            .collect()
    };
    let mut firsts = std::collections::BTreeSet::new();
    for height in 0..100 {
        let mut drawn = ranks(Height::new(height));
        firsts.insert(drawn.iter().position(|rank| *rank == 0));
        drawn.sort_unstable();
        assert_eq!(drawn, [0, 1, 2, 3, 4]);
    }
    assert_eq!(firsts.len(), keys.len(), "everybody is first now and then");
    assert_eq!(rank(&[1; 32], [], ChainId(2), Height::new(7)), 0);
}
