//! Judges the nodes' answers. Pure: it is given blocks one by one, and returns its findings at the end.

use std::collections::BTreeMap;

use super::audited::NodeEnd;
use super::question::Balances;
use crate::chain::books::Accepted;
use crate::chain::{BlockSeen, Chain, ChainId, TxKey};

/// Upper limit on findings in words. Further ones are only counted.
const FINDINGS_MAX: usize = 20;

/// Findings so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Findings {
    told: Vec<String>,
    more: u64,
}

impl Findings {
    pub fn note(&mut self, words: impl Into<String>) {
        match self.told.len() < FINDINGS_MAX {
            true => self.told.push(words.into()),
            false => self.more += 1,
        }
    }

    pub fn are_none(&self) -> bool {
        self.told.is_empty()
    }

    pub fn words(&self) -> String {
        let mut words = self.told.join("\n");
        if self.more > 0 {
            words.push_str(&format!("\nand {} more", self.more));
        }
        words
    }
}

/// Positions of accepted payments in one node's blocks.
pub(super) struct Places<'a> {
    accepted: &'a [Accepted],
    heights: Vec<Option<u64>>,
    twice: Vec<usize>,
}

impl<'a> Places<'a> {
    /// Creates it; `accepted` is in order of keys.
    pub fn new(accepted: &'a [Accepted]) -> Self {
        Self {
            accepted,
            heights: vec![None; accepted.len()],
            twice: Vec::new(),
        }
    }

    /// Takes in a block of the main chain.
    pub fn block(&mut self, block: &BlockSeen) {
        for key in &block.keys {
            let Ok(place) = self
                .accepted
                .binary_search_by_key(key, |accepted| accepted.key)
            else {
                // Another client's payment, or one that the books do not keep.
                continue;
            };
            if self.heights[place].replace(block.height).is_some() {
                self.twice.push(place);
            }
        }
    }

    /// Returns the payments in no block.
    pub fn missing(&self) -> impl Iterator<Item = usize> {
        let heights = self.heights.iter().enumerate();
        heights
            .filter(|(_, height)| height.is_none())
            .map(|(place, _)| place)
    }

    /// Returns the payments in a block, with its height.
    pub fn placed(&self) -> Vec<(usize, u64)> {
        let heights = self.heights.iter().enumerate();
        heights
            .filter_map(|(place, height)| height.map(|height| (place, height)))
            .collect()
    }

    /// Notes payments that are in several blocks.
    pub fn judge(&self, node: &str, findings: &mut Findings) {
        for place in &self.twice {
            let key: TxKey = self.accepted[*place].key;
            findings.note(format!(
                "{node}: the payment {key} stands in more than one block"
            ));
        }
    }
}

/// The balance changes according to the blocks.
#[derive(Default)]
pub(super) struct Moves {
    changes: BTreeMap<(String, ChainId), i128>,
    /// Whether some block did not report its balance changes.
    silent: bool,
}

impl Moves {
    pub fn block(&mut self, block: &BlockSeen) {
        if block.moves.is_empty() && block.transactions() > 0 {
            self.silent = true;
        }
        for moved in &block.moves {
            for (account, change) in &moved.changes {
                let sum = self
                    .changes
                    .entry((account.clone(), moved.chain))
                    .or_default();
                *sum += *change;
            }
        }
    }

    /// Compares a node's balances with those before plus the changes. Without changes, it compares the sums of each
    /// chain.
    pub fn judge(
        &self,
        node: &str,
        before: &Balances,
        after: &Balances,
        chains: &[Chain],
        names: &[String],
        findings: &mut Findings,
    ) {
        if self.silent {
            return sums(node, before, after, chains, findings);
        }
        for ((account, chain), balance) in before {
            let name = names.get(*account).map_or("", String::as_str);
            // No block changed the balance of an account without an entry. A node may leave out a balance of 0.
            let change = self
                .changes
                .get(&(name.to_owned(), *chain))
                .copied()
                .unwrap_or(0);
            let wanted = i128::from(*balance) + change;
            let found = after.get(&(*account, *chain)).copied().unwrap_or(0);
            if wanted != i128::from(found) {
                findings.note(format!(
                    "{node}: account {account} ({name}) has {found} on {}; by its blocks it has to be {wanted}",
                    chain_name(chains, *chain)
                ));
            }
        }
    }

    /// Checks conservation: the changes on each chain add up to zero.
    pub fn judge_supply(&self, chains: &[Chain], findings: &mut Findings) {
        for chain in chains {
            let changes = self.changes.iter().filter(|((_, of), _)| *of == chain.id);
            let sum: i128 = changes.map(|(_, change)| *change).sum();
            if sum != 0 {
                findings.note(format!(
                    "the sum of all changes on {} adds up to {sum}, not to zero",
                    chain.name
                ));
            }
        }
    }
}

fn chain_name(chains: &[Chain], id: ChainId) -> &str {
    let chain = chains.iter().find(|chain| chain.id == id);
    chain.map_or("an unknown chain", |chain| chain.name.as_str())
}

/// Checks that the sum of each chain stays the same, fees included. This holds while only test accounts forge and bundle.
fn sums(
    node: &str,
    before: &Balances,
    after: &Balances,
    chains: &[Chain],
    findings: &mut Findings,
) {
    let sum = |balances: &Balances, id: ChainId| -> u128 {
        let of = balances.iter().filter(|((_, chain), _)| *chain == id);
        of.map(|(_, balance)| u128::from(*balance)).sum()
    };
    for chain in chains {
        let (was, is) = (sum(before, chain.id), sum(after, chain.id));
        if was != is {
            findings.note(format!(
                "{node}: all test accounts together had {was} on {} and have {is}",
                chain.name
            ));
        }
    }
}

/// Checks that all nodes have one tip and, where they report it, one state.
pub(super) fn one_tip(nodes: &[NodeEnd], findings: &mut Findings) {
    let Some((first, others)) = nodes.split_first() else {
        return;
    };
    for node in others {
        if node.tip != first.tip {
            findings.note(format!(
                "{} ends at height {} with tip {}, {} at height {} with tip {}",
                first.name, first.height, first.tip, node.name, node.height, node.tip
            ));
        }
        if let (Some(one), Some(other)) = (&first.state, &node.state)
            && one != other
        {
            findings.note(format!(
                "{} has the state {} at height {}, {} the state {} at height {}",
                first.name, one.1, one.0, node.name, other.1, other.0
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::Moved;

    fn key(byte: u8) -> TxKey {
        TxKey([byte; 32])
    }

    fn accepted(keys: &[u8]) -> Vec<Accepted> {
        let accepted = |byte: &u8| Accepted {
            key: key(*byte),
            due_ms: 0,
            node: 0,
        };
        keys.iter().map(accepted).collect()
    }

    fn block(height: u64, keys: &[u8]) -> BlockSeen {
        BlockSeen {
            height,
            parent_count: keys.len() as u32,
            keys: keys.iter().map(|byte| key(*byte)).collect(),
            ..BlockSeen::default()
        }
    }

    fn words(judge: impl FnOnce(&mut Findings)) -> String {
        let mut findings = Findings::default();
        judge(&mut findings);
        findings.words()
    }

    #[test]
    fn each_payment_stands_in_one_block() {
        for (blocks, missing, twice) in [
            (vec![block(1, &[1, 2]), block(2, &[3])], vec![], false),
            (vec![block(1, &[1]), block(2, &[3, 9])], vec![1], false),
            (vec![block(1, &[1, 2]), block(2, &[3, 2])], vec![], true),
            (vec![], vec![0, 1, 2], false),
        ] {
            let accepted = accepted(&[1, 2, 3]);
            let mut places = Places::new(&accepted);
            blocks.iter().for_each(|block| places.block(block));
            assert_eq!(places.missing().collect::<Vec<_>>(), missing);
            let found = words(|findings| places.judge("n", findings));
            assert_eq!(found.contains("more than one block"), twice, "{found}");
            assert_eq!(places.placed().len(), 3 - missing.len());
        }
    }

    fn chains() -> Vec<Chain> {
        let chain = |id, name: &str| Chain {
            id: ChainId(id),
            name: name.to_owned(),
            ..Chain::default()
        };
        vec![chain(1, "P"), chain(2, "C")]
    }

    fn balances(rows: &[(usize, u8, u64)]) -> Balances {
        rows.iter()
            .map(|(account, chain, balance)| ((*account, ChainId(*chain)), *balance))
            .collect()
    }

    #[test]
    fn balances_are_what_blocks_make_of_them() {
        let before = balances(&[(0, 1, 100), (1, 1, 100), (0, 2, 50), (1, 2, 50)]);
        let names = ["a".to_owned(), "b".to_owned()];
        let mut moved = block(1, &[1]);
        moved.moves = vec![
            Moved {
                chain: ChainId(1),
                changes: vec![("a".into(), -12), ("b".into(), 10), ("a".into(), 2)],
            },
            Moved {
                chain: ChainId(2),
                changes: vec![("b".into(), -5), ("a".into(), 5)],
            },
        ];
        let mut moves = Moves::default();
        moves.block(&moved);
        assert_eq!(
            words(|findings| moves.judge_supply(&chains(), findings)),
            ""
        );
        for (after, wanted) in [
            (
                balances(&[(0, 1, 90), (1, 1, 110), (0, 2, 55), (1, 2, 45)]),
                "",
            ),
            (
                balances(&[(0, 1, 90), (1, 1, 111), (0, 2, 55), (1, 2, 45)]),
                "account 1 (b) has 111 on P; by its blocks it has to be 110",
            ),
            (
                balances(&[(0, 1, 90), (1, 1, 110), (1, 2, 45)]),
                "has 0 on C",
            ),
        ] {
            let found =
                words(|findings| moves.judge("n", &before, &after, &chains(), &names, findings));
            assert!(
                found.contains(wanted) && found.is_empty() == wanted.is_empty(),
                "{found}"
            );
        }
        moved.moves[0].changes.push(("c".into(), 1));
        let mut minted = Moves::default();
        minted.block(&moved);
        let found = words(|findings| minted.judge_supply(&chains(), findings));
        assert!(found.contains("on P adds up to 1"), "{found}");
    }

    #[test]
    fn where_blocks_do_not_tell_sums_stay() {
        let before = balances(&[(0, 1, 100), (1, 1, 100)]);
        let mut moves = Moves::default();
        moves.block(&block(1, &[1]));
        for (after, good) in [
            (balances(&[(0, 1, 60), (1, 1, 140)]), true),
            (balances(&[(0, 1, 60), (1, 1, 141)]), false),
            (balances(&[(0, 1, 60), (1, 1, 139)]), false),
        ] {
            let found =
                words(|findings| moves.judge("n", &before, &after, &chains(), &[], findings));
            assert_eq!(found.is_empty(), good, "{found}");
        }
    }

    #[test]
    fn nodes_agree() {
        let node = |name: &str, tip: &str, state: Option<&str>| NodeEnd {
            name: name.into(),
            height: 9,
            tip: tip.into(),
            state: state.map(|state| (9, state.to_owned())),
        };
        for (nodes, wanted) in [
            (vec![node("a", "x", None), node("b", "x", None)], ""),
            (
                vec![node("a", "x", Some("s")), node("b", "x", Some("s"))],
                "",
            ),
            (
                vec![node("a", "x", Some("s")), node("b", "x", Some("t"))],
                "has the state",
            ),
            (
                vec![node("a", "x", None), node("b", "y", None)],
                "with tip y",
            ),
            (vec![], ""),
        ] {
            let found = words(|findings| one_tip(&nodes, findings));
            assert!(
                found.contains(wanted) && found.is_empty() == wanted.is_empty(),
                "{found}"
            );
        }
        let many = words(|findings| (0..50).for_each(|number| findings.note(number.to_string())));
        assert!(many.ends_with("and 30 more"), "{many}");
    }
}
