//! Computes the result of a stretch from the observed chains and the audit. Pure.

use super::analysis::{self, BlockRow};
use super::left::all_left;
use super::line::Line;
use super::result_input::ResultInput;
use crate::measure::Latencies;
use crate::results::{ChainNode, ChainResult, DiskLook};

/// Computes the result.
#[must_use]
pub fn outcome(seen: &ResultInput<'_>) -> ChainResult {
    let blocks = &seen.audited.blocks;
    let nodes: Vec<ChainNode> = seen
        .audited
        .nodes
        .iter()
        .enumerate()
        .map(|(at, end)| {
            let line = seen.lines.get(at);
            let (from, to) = seen.measured_ms;
            let forks = line.map_or(&[][..], Line::forks);
            ChainNode {
                name: end.name.clone(),
                payments_per_s: line.map_or(0.0, |line| rate(line, blocks, seen.measured_ms)),
                height: end.height,
                tip: end.tip.clone(),
                state_hash: end.state.as_ref().map(|state| state.1.clone()),
                forks: forks
                    .iter()
                    .filter(|fork| (from..=to).contains(&fork.at_ms))
                    .map(|fork| fork.depth)
                    .collect(),
            }
        })
        .collect();
    let mean = analysis::block_seconds(blocks, seen.began_s);
    let range_blocks = analysis::range_blocks(blocks.len() as u64);
    // Without blocks there are no rows of fill.
    let most = blocks.iter().map(BlockRow::transactions).max().unwrap_or(0);
    let fill_step = analysis::fill_step(most);
    let least = nodes
        .iter()
        .map(|node| node.payments_per_s)
        .fold(f64::INFINITY, f64::min);
    ChainResult {
        payments_per_s: if least.is_finite() { least } else { 0.0 },
        accepted: seen.total,
        in_blocks: seen.of_all(seen.audited.placed.len() as u64),
        left: all_left(seen),
        to_block: to_block(seen).histogram(),
        block_seconds: seen.block_s,
        block_seconds_mean: mean,
        blocks: blocks.len() as u64,
        transactions: analysis::sum(blocks),
        range_blocks,
        ranges: analysis::ranges(blocks, seen.began_s, range_blocks),
        fill_step,
        fill: analysis::fill(blocks, fill_step),
        hundreds: analysis::hundreds(blocks),
        totals: Some(analysis::totals(blocks)),
        fullest: analysis::fullest(blocks, seen.chains),
        disk: disk(seen, &nodes),
        // Read after the audit, from nodes that this run owns.
        sizes: None,
        nodes,
    }
}

/// Returns the payments per second in those blocks of the main chain that a node first showed while measuring.
fn rate(line: &Line, blocks: &[BlockRow], (from, to): (u64, u64)) -> f64 {
    let during = blocks.iter().filter(|block| {
        let seen = line.at(block.height).map(|placed| placed.seen_ms);
        seen.is_some_and(|seen| from < seen && seen <= to)
    });
    let payments: u64 = during.map(BlockRow::transactions).sum();
    let seconds = (to - from) as f64 / 1000.0;
    if seconds > 0.0 {
        payments as f64 / seconds
    } else {
        0.0
    }
}

/// Measures from each payment's due time until the node that accepted it showed its block. A payment is left out if the node's last
/// reading still shows an orphan at the height of its block.
fn to_block(seen: &ResultInput<'_>) -> Latencies {
    let mut latencies = Latencies::new();
    for (place, height) in &seen.audited.placed {
        let Some(accepted) = seen.accepted.get(*place) else {
            continue;
        };
        let line = seen.lines.get(accepted.node as usize);
        // Payments of the warm-up are in blocks too, but they are not measured.
        if accepted.due_ms < seen.measured_ms.0 {
            continue;
        }
        let placed = line.and_then(|line| line.at(*height));
        // A block that was seen before the payment was due is an orphan: it cannot hold the payment.
        let took = placed.and_then(|placed| placed.seen_ms.checked_sub(accepted.due_ms));
        if let Some(took) = took {
            latencies.record(std::time::Duration::from_millis(took));
        }
    }
    latencies
}

/// Pairs each disk reading with the number of transactions in blocks at that time.
fn disk(seen: &ResultInput<'_>, nodes: &[ChainNode]) -> Vec<DiskLook> {
    let mut looks = Vec::new();
    for (at, node) in nodes.iter().enumerate() {
        let process = seen
            .processes
            .iter()
            .find(|process| process.name == node.name);
        let (Some(process), Some(line)) = (process, seen.lines.get(at)) else {
            continue;
        };
        let mut transactions = 0u64;
        let mut blocks = seen.audited.blocks.iter().peekable();
        let mut before = None;
        for sample in process
            .samples
            .iter()
            .filter(|sample| sample.disk_bytes > 0)
        {
            while let Some(block) = blocks.next_if(|block| {
                line.at(block.height)
                    .is_some_and(|placed| placed.seen_ms <= sample.at_ms)
            }) {
                transactions += block.transactions();
            }
            // Disk usage is summed less often than processes are sampled.
            if before.replace(sample.disk_bytes) != Some(sample.disk_bytes) {
                looks.push(DiskLook {
                    node: node.name.clone(),
                    at_ms: sample.at_ms,
                    transactions,
                    bytes: sample.disk_bytes,
                });
            }
        }
    }
    looks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::audit::{Audited, NodeEnd};
    use crate::chain::books::Accepted;
    use crate::chain::{BlockSeen, Chain, ChainId, TxKey};
    use crate::results::{Process, ProcessSample};

    fn line(blocks: &[(u64, u64)]) -> Line {
        let mut line = Line::default();
        for (height, seen_ms) in blocks {
            let block = BlockSeen {
                height: *height,
                id: height.to_string(),
                previous: (height - 1).to_string(),
                ..BlockSeen::default()
            };
            line.tell(&[block], *seen_ms);
        }
        line
    }

    #[test]
    fn rates_count_from_when_each_node_showed_a_block_and_the_slowest_node_stands_for_all() {
        let row = |height, time_s, parent| BlockRow {
            height,
            time_s,
            parent,
            ..BlockRow::default()
        };
        let node = |name: &str| NodeEnd {
            name: name.to_owned(),
            height: 4,
            ..NodeEnd::default()
        };
        let accepted = |byte: u8, due_ms, node| Accepted {
            key: TxKey([byte; 32]),
            due_ms,
            node,
        };
        let audited = Audited {
            blocks: vec![
                row(1, 5, 10),
                row(2, 10, 100),
                row(3, 15, 200),
                row(4, 20, 50),
            ],
            placed: vec![(0, 2), (1, 3), (2, 1), (3, 1)],
            nodes: vec![node("node-1"), node("node-2")],
            ..Audited::default()
        };
        let lines = [
            line(&[(1, 900), (2, 5_000), (3, 10_900), (4, 16_000)]),
            line(&[(1, 950), (2, 6_000), (3, 11_500), (4, 16_100)]),
        ];
        let accepted = [
            accepted(1, 2_000, 0),
            accepted(2, 9_500, 1),
            accepted(3, 100, 0),
            // The node showed another block at that height before the payment was due.
            accepted(4, 1_000, 0),
        ];
        let look = |at_ms, disk_bytes| ProcessSample {
            at_ms,
            disk_bytes,
            ..ProcessSample::default()
        };
        let processes = [Process {
            name: "node-1".to_owned(),
            samples: vec![
                look(0, 500),
                look(500, 500),
                look(6_000, 10_500),
                look(20_000, 40_500),
            ],
        }];
        let found = outcome(&ResultInput {
            lines: &lines,
            audited: &audited,
            accepted: &accepted,
            total: 4,
            chains: &[Chain {
                id: ChainId(1),
                name: "P".to_owned(),
                ..Chain::default()
            }],
            measured_ms: (1_000, 11_000),
            began_s: 0,
            block_s: 5.0,
            processes: &processes,
        });
        // The second node showed block 3 when measuring was over.
        let rates: Vec<f64> = found.nodes.iter().map(|node| node.payments_per_s).collect();
        assert_eq!((rates, found.payments_per_s), (vec![30.0, 10.0], 10.0));
        // The third payment was due before measuring began.
        assert_eq!(found.to_block.count(), 2);
        let (p0, p100) = (
            found.to_block.quantile_ms(0.0),
            found.to_block.quantile_ms(1.0),
        );
        assert!(
            (p0 - 2_000.0).abs() < 5.0 && (p100 - 3_000.0).abs() < 5.0,
            "{p0} {p100}"
        );
        let looks: Vec<(u64, u64)> = found
            .disk
            .iter()
            .map(|look| (look.transactions, look.bytes))
            .collect();
        assert_eq!(looks, [(0, 500), (110, 10_500), (360, 40_500)]);
        assert_eq!(found.bytes_per_transaction().map(f64::round), Some(111.0));
        assert_eq!(
            (found.blocks, found.transactions, found.block_seconds_mean),
            (4, 360, 5.0)
        );
    }
}
