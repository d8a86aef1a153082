//! Downloads of branches while the own chain changes.

use chain::core::{Settings, Verdict, limits};
use chain::port::Table;
use chain::{Anchor, Height};

use crate::core::bench::{Bench, Maker, Manner};
use crate::core::branches::payment;
use crate::core::kit::{ACCOUNTS, deep, key};

/// Blocks of the fork. Three questions of 128 bodies and a last one are needed.
const FORK: usize = 444;
/// Blocks in the first three questions.
const FIRST: usize = 384;
const _: () = assert!(FIRST > limits::SIDE_BLOCKS_MAX);

#[test]
fn a_new_tip_deletes_no_body_that_a_download_needs() {
    let genesis = deep();
    let mut theirs = Maker::on(genesis.clone());
    for amount in 1..=FORK as u64 {
        let mut paid = payment(2, amount);
        paid.anchor = Anchor::at(Height::GENESIS, &genesis.hash);
        paid.sign(&genesis.hash, &key(2));
        theirs.add(0, vec![paid]);
    }
    // Our branch has more work than the first bodies of theirs, and less than all of them.
    let mut ours = Maker::on(genesis.clone());
    let mut work = ours.add(1, Vec::new()).header.difficulty;
    while work < theirs.blocks[FIRST].header.difficulty {
        work = ours.add(0, Vec::new()).header.difficulty;
    }
    let rival = ours.make(0, Vec::new());
    let tip = ours.add(ACCOUNTS - 1, Vec::new());
    assert!(rival.header.difficulty > tip.header.difficulty);
    let last = &theirs.blocks[FORK - 1];
    assert!(rival.header.difficulty < last.header.difficulty);
    assert!(ours.blocks.len() < genesis.params.rollback_blocks_max as usize);

    let mut bench = Bench::on(genesis, Settings::default());
    bench.run_to(20_000);
    bench.connect(0, &ours.blocks, Manner::Honest);
    bench.run_to(20_050);
    assert_eq!(bench.tip(), tip.hash);
    bench.connect(1, &theirs.blocks, Manner::WithholdsLastBody);
    let side = |bench: &Bench| bench.store.rows(Table::Side).len();
    assert_eq!(side(&bench), FIRST, "the first bodies are stored");
    assert_eq!(bench.announce(0, &rival), Some(Verdict::Accept));
    assert_eq!(bench.tip(), rival.hash);
    assert_eq!(side(&bench), FIRST, "without the former tip");
    bench.behaves(1, Manner::Honest);
    bench.run_to(20_100);
    assert_eq!(bench.tip(), last.hash);
    let kept = side(&bench);
    assert!(kept <= limits::SIDE_BLOCKS_MAX, "{kept}");
    assert_eq!(bench.penalties, ["chain_peer.silent"]);
}
