//! Tests of the analysis.

use super::*;

/// Blocks of height 1 on, from times and transactions: of the parent chain, of chain 2, of chain 3.
fn blocks(rows: &[(u64, u32, u32, u32)]) -> Vec<BlockRow> {
    let row = |(at, (time_s, parent, two, three)): (usize, &(u64, u32, u32, u32))| {
        let children = [(2, *two), (3, *three)]
            .into_iter()
            .filter(|(_, count)| *count > 0);
        BlockRow {
            height: at as u64 + 1,
            time_s: *time_s,
            parent: *parent,
            children: children
                .map(|(chain, count)| ChildCount {
                    chain: ChainId(chain),
                    count,
                })
                .collect(),
            bytes: Some(u64::from(149 * parent + 185 * (two + three))),
        }
    };
    rows.iter().enumerate().map(row).collect()
}

#[test]
fn rates_by_range_and_cumulative() {
    let blocks = blocks(&[
        (15, 10, 0, 0),
        (20, 10, 30, 0),
        (25, 0, 0, 0),
        (30, 5, 5, 10),
        (50, 100, 0, 0),
    ]);
    let found = ranges(&blocks, 10, 2);
    let rows: Vec<_> = found
        .iter()
        .map(|row| {
            (
                row.from,
                row.to,
                row.transactions,
                row.seconds,
                row.per_s,
                row.cumulative_per_s,
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            (1, 2, 50, 10.0, 5.0, 5.0),
            (3, 4, 20, 10.0, 2.0, 3.5),
            (5, 5, 100, 20.0, 5.0, 4.25),
        ]
    );
    assert_eq!(block_seconds(&blocks, 10), 8.0);
    assert_eq!(sum(&blocks), 170);
    let one = [
        (15, 1, 0, 0),
        (15, 2, 0, 0),
        (16, 3, 0, 0),
        (18, 4, 0, 0),
        (18, 5, 0, 0),
    ];
    let found = ranges(&self::blocks(&one), 15, 1);
    let rows: Vec<_> = found
        .iter()
        .map(|row| (row.from, row.to, row.transactions, row.per_s))
        .collect();
    assert_eq!(rows, [(1, 3, 6, 6.0), (4, 5, 9, 4.5)], "time stood still");
    let last = found.last().and_then(|row| row.totals);
    assert_eq!(last.map(|one| (one.blocks, one.parent)), Some((2, 9)));
    assert!(ranges(&[], 0, 10).is_empty());
    assert_eq!(block_seconds(&[], 0), 0.0);
    assert_eq!(ranges(&blocks[..1], 15, 5)[0].per_s, 0.0, "no time passed");
}

#[test]
fn blocks_by_how_full_they_are() {
    let blocks = blocks(&[
        (1, 0, 0, 0),
        (2, 1, 0, 0),
        (3, 50, 50, 0),
        (4, 101, 0, 0),
        (5, 0, 0, 350),
        (6, 0, 0, 0),
    ]);
    let rows: Vec<_> = fill(&blocks, 100)
        .into_iter()
        .map(|row| (row.from, row.to, row.blocks))
        .collect();
    assert_eq!(
        rows,
        [
            (0, 0, 2),
            (1, 100, 2),
            (101, 200, 1),
            (201, 300, 0),
            (301, 400, 1)
        ]
    );
    assert!(fill(&[], 100).is_empty());
}

#[test]
fn every_hundred_up_to_the_fullest_block_has_a_row() {
    let blocks = blocks(&[(1, 0, 0, 0), (2, 100, 0, 0), (3, 1, 25_000, 902)]);
    let rows = hundreds(&blocks);
    assert_eq!(rows.len(), 1 + 260);
    let ends = [rows.first(), rows.last()].map(|row| row.map(|row| (row.from, row.to)));
    assert_eq!(ends, [Some((0, 0)), Some((25_901, 26_000))]);
    let full: Vec<u64> = rows
        .iter()
        .filter(|row| row.blocks > 0)
        .map(|row| row.to)
        .collect();
    assert_eq!(full, [0, 100, 26_000]);
    assert!(rows.windows(2).all(|two| two[1].from == two[0].to + 1));
}

#[test]
fn totals_add_up_over_ranges_and_unknown_bytes_stay_unknown() {
    let mut blocks = blocks(&[
        (15, 10, 0, 0),
        (20, 10, 30, 0),
        (25, 0, 0, 0),
        (30, 5, 5, 10),
    ]);
    let all = totals(&blocks);
    let wanted = BlockTotals {
        blocks: 4,
        parent: 25,
        child: 45,
        child_blocks: 3,
        payload_bytes: Some(25 * 149 + 45 * 185),
    };
    assert_eq!(all, wanted);
    assert_eq!(all.per_block(all.child), Some(11.25));
    let found = ranges(&blocks, 10, 2);
    let times: Vec<_> = found.iter().map(|row| (row.start_s, row.end_s)).collect();
    assert_eq!(times, [(Some(10), Some(20)), (Some(20), Some(30))]);
    let parts = found.iter().filter_map(|row| row.totals);
    assert_eq!(parts.map(|one| one.child_blocks).sum::<u64>(), 3);
    blocks[2].bytes = None;
    assert_eq!(totals(&blocks).payload_bytes, None);
    let known: Vec<bool> = ranges(&blocks, 10, 2)
        .iter()
        .map(|row| row.totals.is_some_and(|one| one.payload_bytes.is_some()))
        .collect();
    assert_eq!(known, [true, false]);
    let none = totals(&[]);
    assert_eq!((none.payload_bytes, none.per_block(0)), (None, None));
}

#[test]
fn the_fullest_blocks_of_each_chain() {
    let mut rows = vec![(1, 3, 9, 0), (2, 7, 0, 4), (3, 3, 9, 1)];
    rows.extend((0..30).map(|at| (4 + at, 1, 0, 0)));
    let chain = |id, name: &str| Chain {
        id: ChainId(id),
        name: name.to_owned(),
        ..Chain::default()
    };
    let found = fullest(
        &blocks(&rows),
        &[chain(1, "P"), chain(2, "A"), chain(3, "B")],
    );
    let names: Vec<&str> = found.iter().map(|list| list.of.as_str()).collect();
    assert_eq!(names, ["parent", "A", "B", "all child chains"]);
    assert_eq!(found[0].blocks[..4], [(2, 7), (1, 3), (3, 3), (4, 1)]);
    assert_eq!(found[0].blocks.len(), FULLEST_MAX);
    assert_eq!(found[1].blocks, [(1, 9), (3, 9)]);
    assert_eq!(found[2].blocks, [(2, 4), (3, 1)]);
    assert_eq!(found[3].blocks, [(3, 10), (1, 9), (2, 4)]);
}

#[test]
fn ranges_fit_the_page_and_are_the_published_ones_where_there_is_enough() {
    for (blocks, each) in [
        (0, 1),
        (1, 1),
        (100, 1),
        (101, 2),
        (1_000, 10),
        (641_270, 10_000),
        (5_000_000, 50_000),
    ] {
        assert_eq!(range_blocks(blocks), each, "{blocks}");
        assert!(blocks / each <= RANGES_MAX);
    }
    for (most, step) in [
        (0, 1),
        (19, 1),
        (20, 2),
        (235, 20),
        (999, 50),
        (1_000, 100),
        (6_000, 100),
        (25_903, 500),
    ] {
        assert_eq!(fill_step(most), step, "{most}");
    }
}

#[test]
fn extreme_numbers_of_a_server_are_analysed_without_a_panic() {
    let row = |height, time_s, bytes| BlockRow {
        height,
        time_s,
        parent: u32::MAX,
        children: vec![
            ChildCount {
                chain: ChainId(2),
                count: u32::MAX,
            };
            3
        ],
        bytes,
    };
    for (rows, payload_bytes) in [
        (vec![], None),
        (vec![row(0, 0, Some(0))], Some(0)),
        (vec![BlockRow::default(); 3], None),
        // Times that go back, and all at the same second.
        (
            vec![row(1, u64::MAX, Some(5)), row(2, 0, Some(6))],
            Some(11),
        ),
        (vec![row(1, 7, Some(1)); 2], Some(2)),
        // A sum of bytes that is no number is unknown.
        (vec![row(u64::MAX, u64::MAX, Some(u64::MAX)); 2], None),
    ] {
        let most = rows.iter().map(BlockRow::transactions).max().unwrap_or(0);
        assert_eq!(totals(&rows).payload_bytes, payload_bytes, "{rows:?}");
        for each in [0, 1, range_blocks(rows.len() as u64)] {
            for began_s in [0, u64::MAX] {
                let found = ranges(&rows, began_s, each);
                assert!(found.iter().all(|range| range.per_s.is_finite()));
            }
        }
        for step in [0, 1, fill_step(most)] {
            assert!(fill(&rows, step).len() as u64 <= FILL_ROWS_MAX * 2 + 1);
        }
        assert!(hundreds(&rows).len() as u64 <= HUNDREDS_MAX + 1);
        assert_eq!(fullest(&rows, &[]).len(), 2);
        assert!(block_seconds(&rows, 3).is_finite());
    }
}
