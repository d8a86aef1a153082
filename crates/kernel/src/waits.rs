//! What flows wait for inside the kernel: a time, a transaction, a commit. Indexed both ways, so that giving up one wait, or
//! all of a flow, costs a logarithm.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use flow::FlowId;
use ledger::{SelectionRequest, TxId};
use primitives::Timestamp;

/// An effect of a flow.
pub(crate) type EffectId = (FlowId, u32);

/// A selection that waits until what its flow recorded is durable, so that it can see it.
#[derive(Clone, Debug)]
pub(crate) struct HeldSelect {
    /// The flow.
    pub flow: FlowId,
    /// The effect.
    pub effect: u32,
    /// The wish.
    pub request: SelectionRequest,
}

#[derive(Clone, Copy, Debug)]
enum Waited {
    Time(Timestamp),
    Transaction(TxId),
    Commit(u64),
}

/// See the module. Bounded by the effects that live flows may have outstanding.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    of: BTreeMap<EffectId, Waited>,
    times: BTreeSet<(Timestamp, EffectId)>,
    transactions: HashMap<TxId, BTreeSet<EffectId>>,
    commits: BTreeMap<(u64, EffectId), HeldSelect>,
}

impl Waits {
    /// Until a time.
    pub(crate) fn sleep(&mut self, effect: EffectId, until: Timestamp) {
        self.of.insert(effect, Waited::Time(until));
        self.times.insert((until, effect));
    }

    /// The next time somebody waits for.
    pub(crate) fn next_time(&self) -> Option<Timestamp> {
        self.times.first().map(|(at, _)| *at)
    }

    /// Somebody whose time has come.
    pub(crate) fn due(&mut self, now: Timestamp) -> Option<EffectId> {
        let (at, effect) = *self.times.first()?;
        if at > now {
            return None;
        }
        self.cancel(effect);
        Some(effect)
    }

    /// Until a transaction is recorded.
    pub(crate) fn for_transaction(&mut self, effect: EffectId, id: TxId) {
        self.of.insert(effect, Waited::Transaction(id));
        self.transactions.entry(id).or_default().insert(effect);
    }

    /// Whether a flow waits for the transaction.
    pub(crate) fn expects(&self, id: &TxId) -> bool {
        self.transactions.contains_key(id)
    }

    /// A transaction is recorded: returns who waited for it.
    pub(crate) fn recorded(&mut self, id: &TxId) -> BTreeSet<EffectId> {
        let effects = self.transactions.remove(id).unwrap_or_default();
        for effect in &effects {
            self.of.remove(effect);
        }
        effects
    }

    /// Until a commit is durable.
    pub(crate) fn hold(&mut self, number: u64, select: HeldSelect) {
        let effect = (select.flow, select.effect);
        self.of.insert(effect, Waited::Commit(number));
        self.commits.insert((number, effect), select);
    }

    /// A selection whose commit is among those up to `number`.
    pub(crate) fn released(&mut self, number: u64) -> Option<HeldSelect> {
        let ((waits_for, effect), _) = self.commits.first_key_value()?;
        if *waits_for > number {
            return None;
        }
        self.of.remove(effect);
        self.commits.pop_first().map(|(_, select)| select)
    }

    /// An effect is given up.
    pub(crate) fn cancel(&mut self, effect: EffectId) {
        match self.of.remove(&effect) {
            None => {}
            Some(Waited::Time(at)) => {
                self.times.remove(&(at, effect));
            }
            Some(Waited::Commit(number)) => {
                self.commits.remove(&(number, effect));
            }
            Some(Waited::Transaction(id)) => {
                if let Some(effects) = self.transactions.get_mut(&id) {
                    effects.remove(&effect);
                    if effects.is_empty() {
                        self.transactions.remove(&id);
                    }
                }
            }
        }
    }

    /// A flow ended: all its effects are given up.
    pub(crate) fn cancel_flow(&mut self, flow: FlowId) {
        while let Some((effect, _)) = self.of.range((flow, 0)..=(flow, u32::MAX)).next() {
            self.cancel(*effect);
        }
    }
}

#[cfg(test)]
mod tests {
    use ledger::TokenId;
    use primitives::Hash;

    use super::*;

    fn effect(flow: u8, number: u32) -> EffectId {
        (FlowId([flow; 16]), number)
    }

    fn select(flow: u8) -> HeldSelect {
        let token = TokenId::from_hash(Hash::ZERO);
        let request = SelectionRequest {
            token,
            quantity: 1,
            notary: None,
            deadline_ms: 1,
        };
        HeldSelect {
            flow: FlowId([flow; 16]),
            effect: 9,
            request,
        }
    }

    #[test]
    fn everything_comes_once_and_what_is_given_up_never() {
        let mut waits = Waits::default();
        let id = TxId::from_array([7; 32]);
        waits.sleep(effect(1, 1), Timestamp::from_ms(10));
        waits.sleep(effect(1, 2), Timestamp::from_ms(20));
        waits.sleep(effect(2, 1), Timestamp::from_ms(5));
        waits.for_transaction(effect(1, 3), id);
        waits.for_transaction(effect(2, 2), id);
        waits.hold(4, select(1));
        waits.hold(3, select(2));
        assert!(waits.expects(&id));
        assert_eq!(waits.next_time(), Some(Timestamp::from_ms(5)));
        assert_eq!(waits.due(Timestamp::from_ms(4)), None);
        assert_eq!(waits.due(Timestamp::from_ms(15)), Some(effect(2, 1)));
        waits.cancel(effect(1, 1));
        assert_eq!(waits.due(Timestamp::from_ms(15)), None);
        assert_eq!(
            waits.released(3).map(|held| held.flow),
            Some(FlowId([2; 16]))
        );
        assert!(waits.released(3).is_none());
        waits.cancel_flow(FlowId([1; 16]));
        assert!(waits.released(9).is_none());
        assert_eq!(waits.due(Timestamp::MAX), None);
        assert_eq!(waits.recorded(&id), BTreeSet::from([effect(2, 2)]));
        assert!(!waits.expects(&id) && waits.of.is_empty());
    }
}
