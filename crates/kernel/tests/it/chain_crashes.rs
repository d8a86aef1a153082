//! A back chain too long for memory is fetched while the node that fetches it, or the one that serves it, crashes.

use kernel::port::{Table, WriteBatch};

use crate::pay::pay;
use crate::testnet::{Crash, Disk, Last, Testnet};

/// Payments in the chain: more bytes than a chain may keep in memory.
const LENGTH: usize = 500;

/// Returns the disk of node 1 when it holds one coin at the end of a long chain.
fn long_chain() -> Disk {
    let mut net = Testnet::new(2);
    net.script(0);
    let mut chain = vec![net.issued(1, 1, 10)];
    for _ in 0..LENGTH {
        let last = chain.last().expect("an issue");
        chain.push(net.paid(last, 1, 1));
    }
    for part in chain.chunks(100) {
        let part: Vec<_> = part.iter().collect();
        net.deliver(0, 1, &part);
        net.settle();
    }
    net.nodes[1].disk.clone()
}

/// The observations of a run.
struct Played {
    /// Commits of each node before the payment and at the end.
    before: Vec<u64>,
    after: Vec<u64>,
    /// Rows of the chain that the crash left behind.
    staged: usize,
}

/// Pays from node 1 to node 2, which fetches the chain. A node that crashes is restarted.
fn play(disk: &Disk, crash: Option<Crash>) -> Played {
    let mut net = Testnet::new(2);
    net.down(1);
    net.nodes[1].disk = disk.clone();
    // The chain was signed by hand; the notary knows of it, or it would take its own data for an older copy.
    let mut known = WriteBatch::default();
    for (_, transaction) in disk.ledger() {
        let id = transaction.id().as_bytes().to_vec();
        known.put(Table::NotaryTxs, id, Vec::new());
    }
    net.nodes[0].disk.write(known);
    net.up(1);
    net.settle();
    let commits = |net: &Testnet| net.nodes.iter().map(|node| node.commits).collect();
    let before = commits(&net);
    net.crashes = crash.into_iter().collect();
    let mut staged = 0;
    let paid = loop {
        let paid = net.start(1, "cash.pay", &pay(10, 2), Some("a"));
        net.settle();
        let down = (1..3).find(|node| net.nodes[*node].kernel.is_none());
        staged += net.nodes[2].disk.count(Table::Staging);
        down.into_iter().for_each(|node| net.up(node));
        net.quiet();
        if net.replies.contains_key(&paid) {
            break paid;
        }
    };
    assert_eq!(net.ended(paid), Ok(true), "{crash:?}");
    assert!(net.crashes.is_empty(), "{crash:?} never came");
    assert_eq!([1, 2].map(|node| net.balance(node)), [0, 10], "{crash:?}");
    let disk = &net.nodes[2].disk;
    assert_eq!(disk.count(Table::Ledger), LENGTH + 2, "{crash:?}");
    assert_eq!(disk.count(Table::Staging), 0, "{crash:?}");
    Played {
        before,
        after: commits(&net),
        staged,
    }
}

#[test]
fn a_crash_while_a_long_chain_is_fetched_changes_nothing() {
    let disk = long_chain();
    let Played { before, after, .. } = play(&disk, None);
    let mut staged = 0;
    for node in [1, 2] {
        for at in before[node] + 1..=after[node] {
            for last in [Last::Lost, Last::Durable, Last::Performed] {
                staged += play(&disk, Some(Crash { node, at, last })).staged;
            }
        }
    }
    assert!(staged > 0, "the chain never went to the disk");
}
