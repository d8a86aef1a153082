//! `payment`: a payment between two test accounts of a chain, completed when a node has accepted it.

use std::sync::Arc;
use std::time::Duration;

use primitives::whole_ms;

use super::boxed::{Boxed, done};
use super::codes::NO_CHAIN;
use super::ended::{Failed, Tried};
use super::registry::Make;
use super::traits::{Prepares, Worker, Workload};
use super::{KnobError, Knobs, Site};
use crate::chain::books::Accepted;
use crate::chain::{ChainId, Payment as Transfer};

/// The kind that a chain's load has, unless its scenario gives another.
pub const PAYMENT: &str = "payment";

/// The kind, a one-line description, and the constructor.
pub(super) const REGISTERED: (&str, &str, Make) = (
    PAYMENT,
    "Test accounts of a chain pay each other, at all nodes: a payment each, accepted by a node.",
    Payment::make,
);

struct Payment {
    /// Whether payments are made on a chain.
    is_paid_on: fn(ChainId) -> bool,
}

impl Payment {
    fn make(knobs: &mut Knobs) -> Result<Arc<dyn Workload>, KnobError> {
        Ok(Arc::new(Self::of(knobs)?))
    }

    fn of(knobs: &mut Knobs) -> Result<Self, KnobError> {
        let is_paid_on: fn(ChainId) -> bool =
            match knobs.word("chains", &["all", "parent", "children"])? {
                "parent" => |chain| chain == ChainId::PARENT,
                "children" => |chain| chain != ChainId::PARENT,
                _ => |_| true,
            };
        Ok(Self { is_paid_on })
    }

    fn paying(&self, site: &Arc<Site>) -> Result<Paying, Failed> {
        let chains = site.chain()?.chains().iter().copied();
        let chains: Vec<ChainId> = chains.filter(|chain| (self.is_paid_on)(*chain)).collect();
        if chains.is_empty() {
            return Err(Failed::new(NO_CHAIN, "the network has no such chain"));
        }
        let site = Arc::clone(site);
        Ok(Paying { site, chains })
    }
}

impl Workload for Payment {
    fn kind(&self) -> &str {
        REGISTERED.0
    }

    fn banks_min(&self) -> u32 {
        0
    }

    fn prepares(&self, _: u64) -> Prepares {
        Prepares::Nothing
    }

    fn worker<'a>(
        &'a self,
        site: &'a Arc<Site>,
        _number: u32,
    ) -> Boxed<'a, Result<Box<dyn Worker>, Failed>> {
        let paying = self.paying(site);
        done(paying.map(|paying| Box::new(paying) as Box<dyn Worker>))
    }
}

struct Paying {
    site: Arc<Site>,
    /// At least one.
    chains: Vec<ChainId>,
}

impl Paying {
    /// Chooses a unit's payment and its node: nodes in turn, then accounts, then chains.
    fn choose(&self, unit: u64, nodes: usize, accounts: usize, amount: u64) -> (usize, Transfer) {
        let (nodes, accounts) = (nodes.max(1) as u64, accounts.max(2) as u64);
        let chains = self.chains.len() as u64;
        let (node, round) = (unit % nodes, unit / nodes);
        let (from, round) = (round % accounts, round / accounts);
        let (chain, round) = (round % chains, round / chains);
        // Never to the same account, and to each of the others in turn.
        let to = (from + 1 + round % (accounts - 1)) % accounts;
        let payment = Transfer {
            chain: self.chains[chain as usize],
            from: from as usize,
            to: to as usize,
            amount,
        };
        (node as usize, payment)
    }
}

impl Worker for Paying {
    fn invoke(&self, unit: u64) -> Boxed<'_, Result<Tried, Failed>> {
        self.invoke_due(unit, Duration::ZERO)
    }

    fn invoke_due(&self, unit: u64, due: Duration) -> Boxed<'_, Result<Tried, Failed>> {
        Box::pin(async move {
            let chain = self.site.chain()?;
            let (nodes, accounts) = (chain.nodes(), chain.accounts());
            let (node, payment) = self.choose(unit, nodes, accounts, chain.amount(unit));
            let key = chain.pay(node, payment).await?;
            self.site.accepted(Accepted {
                key,
                due_ms: whole_ms(due),
                node: u32::try_from(node).expect("the index of a node, few"),
            });
            Ok(Tried::default())
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::chain::nxt::fake::{Behaviour, Fake};
    use crate::chain::nxt::{NxtTarget, Options, Signing};
    use crate::chain::{ChainSite, ChainTarget, TxKey};
    use crate::workload::UNITS_EACH;

    /// Returns a site with these chains and ten accounts.
    fn site(nodes: &[Arc<dyn ChainTarget>], chains: &[u8], batch: usize) -> Arc<Site> {
        let chains = chains.iter().copied().map(ChainId).collect();
        let chain = ChainSite::new(nodes, chains, 10, batch, None);
        Arc::new(Site::new(Vec::new(), None, 1).with_chain(chain))
    }

    fn paying(knob: &str, site: &Arc<Site>) -> Result<Paying, Failed> {
        let set = BTreeMap::from([("chains".to_owned(), knob.into())]);
        let kind = Payment::of(&mut Knobs::new(set));
        kind.expect("a knob that it has").paying(site)
    }

    async fn nodes(fake: &Fake, behaviour: &Behaviour) -> Vec<Arc<dyn ChainTarget>> {
        let mut nodes: Vec<Arc<dyn ChainTarget>> = Vec::new();
        for (at, url) in fake.urls().iter().enumerate() {
            let options = Options {
                url: url.clone(),
                name: format!("server-{}", at + 1),
                chains: behaviour.chains.clone(),
                passphrases: behaviour.passphrases.clone(),
                forgers: Vec::new(),
                signing: Signing::Passphrase,
                deadline_minutes: 60,
                patience: Duration::from_secs(20),
            };
            let node = NxtTarget::connect(options).await;
            nodes.push(Arc::new(node.expect("the fake answers")));
        }
        nodes
    }

    #[test]
    fn every_account_pays_on_every_chain_at_every_node_and_amounts_differ() {
        let paying = paying("all", &site(&[], &[1, 2, 3], 1)).expect("the chain is there");
        let chosen: Vec<(usize, Transfer)> = (0..2 * 10 * 3 * 9)
            .map(|unit| paying.choose(unit, 2, 10, unit + 1))
            .collect();
        assert!(chosen.iter().all(|(_, payment)| payment.from != payment.to));
        let ways: BTreeSet<_> = chosen
            .iter()
            .map(|(node, payment)| (*node, payment.from, payment.to, payment.chain))
            .collect();
        assert_eq!(ways.len(), chosen.len(), "each way once");
        let amounts: BTreeSet<u64> = chosen.iter().map(|(_, payment)| payment.amount).collect();
        assert_eq!(amounts.len(), chosen.len());
    }

    #[test]
    fn amounts_are_small_and_differ() {
        let alone = ChainSite::new(&[], Vec::new(), 10, 1, None);
        let shared = ChainSite::new(&[], Vec::new(), 10, 1, None).shared();
        for (site, unit, expected) in [
            (&alone, 0, 1),
            (&alone, 9_999, 10_000),
            (&shared, 0, 1),
            (&shared, 1, 65),
            (&shared, UNITS_EACH, 2),
            (&shared, 63 * UNITS_EACH + 1, 128),
            (&shared, 64 * UNITS_EACH, 1),
        ] {
            assert_eq!(site.amount(unit), expected, "{unit}");
        }
    }

    #[tokio::test]
    async fn batches_carry_everything_once_and_each_unit_gets_its_own_answer() {
        for batch in [1, 50] {
            let behaviour = Behaviour {
                refuse_every: 10,
                ..Behaviour::default()
            };
            let fake = Fake::start(2, behaviour.clone()).await.expect("ports");
            let site = site(&nodes(&fake, &behaviour).await, &[1, 2, 3], batch);
            let worker = Arc::new(paying("all", &site).expect("the chain is there"));
            let units = (0..200).map(|unit| {
                let worker = Arc::clone(&worker);
                tokio::spawn(
                    async move { worker.invoke_due(unit, Duration::from_millis(unit)).await },
                )
            });
            let units: Vec<_> = units.collect();
            let mut refused = 0;
            for unit in units {
                refused += usize::from(unit.await.expect("no panic").is_err());
            }
            let (kept, every) = site.books().payments().kept();
            assert_eq!((refused, kept.len(), every), (20, 180, 1), "batch {batch}");
            let keys: BTreeSet<TxKey> = kept.iter().map(|accepted| accepted.key).collect();
            assert_eq!(keys.len(), 180);
            assert!(
                kept.iter()
                    .any(|accepted| accepted.due_ms > 0 && accepted.node == 1)
            );
        }
    }

    #[test]
    fn payments_stay_on_the_chains_of_the_knob() {
        for (knob, chains, expected) in [
            ("all", &[1, 2, 3][..], Ok(vec![1, 2, 3])),
            ("parent", &[1, 2, 3], Ok(vec![1])),
            ("children", &[1, 2, 3], Ok(vec![2, 3])),
            ("children", &[1], Err(NO_CHAIN.to_owned())),
        ] {
            let paying = paying(knob, &site(&[], chains, 1));
            let found = paying.map(|paying| paying.chains.iter().map(|chain| chain.0).collect());
            assert_eq!(
                found.map_err(|failed| failed.fault.code),
                expected,
                "{knob}"
            );
        }
        let none = paying("all", &Arc::new(Site::new(Vec::new(), None, 1)));
        assert_eq!(
            none.err().map(|failed| failed.fault.code),
            Some(NO_CHAIN.to_owned())
        );
    }
}
