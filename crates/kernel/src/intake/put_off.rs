//! Signature checks beyond the rates of the peers that cause them. A thread beside the rounds makes them, one batch at a time. It runs
//! in time that no other thread needs. So rounds make some as well, within the rate: the checks progress on a busy machine too.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ledger::PartyId;
use primitives::{Monotonic, SignedMessage};

use crate::event::SignatureBatch;
use crate::peers::budget::{PeerBudgets, work_of};
use crate::round::{CheckOwner, CheckVerdict};

/// Maximum work of one batch, except that each peer gets at least one check. It is short enough that a peer with few checks
/// need not wait long for one with many, and long enough that the thread seldom waits for a round.
const BATCH_WORK_MAX: u64 = 4_096;

/// Checks that have one verdict.
#[derive(Debug)]
struct Group {
    owner: CheckOwner,
    payer: PartyId,
    /// The signatures that were not handed out yet: to the thread from the front, to rounds from the back.
    waiting: VecDeque<SignedMessage>,
    /// Work of the signatures that were handed out and have no result yet.
    out_work: u64,
}

/// Signatures of a group that a round checks.
#[derive(Debug)]
pub(super) struct Portion {
    /// The number of the group.
    pub(super) group: u64,
    pub(super) owner: CheckOwner,
    pub(super) messages: Vec<SignedMessage>,
}

/// The checks that were put off. A peer adds none while it has some, because none of its messages is handled.
#[derive(Debug, Default)]
pub(super) struct PutOffChecks {
    /// In the order of their arrival, by ascending numbers.
    groups: BTreeMap<u64, Group>,
    groups_so_far: u64,
    batches_so_far: u64,
    /// The groups of the batch that is out, with the number of signatures of each, in the order of the batch.
    out: Vec<(u64, usize)>,
}

impl PutOffChecks {
    /// Adds checks of at least one signature.
    pub(super) fn add(&mut self, owner: CheckOwner, payer: PartyId, messages: Vec<SignedMessage>) {
        assert!(!messages.is_empty(), "a group without a check");
        self.groups_so_far += 1;
        let group = Group {
            owner,
            payer,
            waiting: messages.into(),
            out_work: 0,
        };
        self.groups.insert(self.groups_so_far, group);
    }

    /// Returns the next batch, of which all peers get the same share. Returns `None` if one is out or there is nothing to check.
    pub(super) fn next_batch(&mut self) -> Option<SignatureBatch> {
        if !self.out.is_empty() {
            return None;
        }
        let payers: BTreeSet<_> = self.payers().collect();
        let share = BATCH_WORK_MAX.checked_div(payers.len() as u64)?;
        let mut spent: BTreeMap<PartyId, u64> = BTreeMap::new();
        let mut messages = Vec::new();
        for (number, group) in &mut self.groups {
            let spent = spent.entry(group.payer).or_default();
            let (before, mut count) = (*spent, 0);
            for message in &group.waiting {
                let work = work_of([message]);
                if *spent > 0 && *spent + work > share {
                    break;
                }
                *spent += work;
                count += 1;
            }
            if count > 0 {
                group.out_work += *spent - before;
                self.out.push((*number, count));
                messages.extend(group.waiting.drain(..count));
            }
        }
        self.batches_so_far += 1;
        let number = self.batches_so_far;
        Some(SignatureBatch { number, messages })
    }

    /// Takes the results of the batch that is out. Returns the verdicts that are complete.
    pub(super) fn checked(
        &mut self,
        batch: &SignatureBatch,
        good: &[bool],
        budgets: &mut PeerBudgets,
    ) -> Vec<CheckVerdict> {
        assert_eq!(
            batch.number, self.batches_so_far,
            "not the batch that is out"
        );
        assert_eq!(
            batch.messages.len(),
            good.len(),
            "a signature has one result"
        );
        let (mut messages, mut good) = (&batch.messages[..], good);
        let mut verdicts = Vec::new();
        for (number, count) in std::mem::take(&mut self.out) {
            let (checked, results);
            (checked, messages) = messages.split_at(count);
            (results, good) = good.split_at(count);
            let is_good = !results.contains(&false);
            verdicts.extend(self.portion_checked(number, work_of(checked), is_good, budgets));
        }
        assert!(messages.is_empty(), "a batch has the checks of its groups");
        verdicts
    }

    /// Returns the time from which a round may check the next signatures.
    pub(super) fn next_portions(&self, budgets: &PeerBudgets, per_ms: u64) -> Option<Monotonic> {
        let payers = self.payers();
        payers
            .filter_map(|it| budgets.burst_from(&it, per_ms))
            .min()
    }

    /// Takes the signatures that this round may check: a burst for each peer that had none for as long as its rate needs for one.
    pub(super) fn take_portions(
        &mut self,
        budgets: &mut PeerBudgets,
        per_ms: u64,
        now: Monotonic,
    ) -> Vec<Portion> {
        let may = |peer: &PartyId| budgets.burst_from(peer, per_ms).is_some_and(|at| at <= now);
        let payers: BTreeSet<_> = self.payers().filter(may).collect();
        let mut portions = Vec::new();
        for (number, group) in &mut self.groups {
            let mut messages = Vec::new();
            while payers.contains(&group.payer)
                && let Some(message) = group.waiting.back()
                && budgets.takes_check(group.payer, work_of([message]), per_ms, now)
            {
                group.out_work += work_of([message]);
                messages.extend(group.waiting.pop_back());
            }
            if !messages.is_empty() {
                portions.push(Portion {
                    group: *number,
                    owner: group.owner,
                    messages,
                });
            }
        }
        portions
    }

    /// Takes the result of some signatures of a group. Returns its verdict if it is complete now.
    pub(super) fn portion_checked(
        &mut self,
        number: u64,
        work: u64,
        is_good: bool,
        budgets: &mut PeerBudgets,
    ) -> Option<CheckVerdict> {
        // A signature that is not valid decided for the group before these were checked.
        let group = self.groups.get_mut(&number)?;
        group.out_work -= work;
        let is_complete = group.waiting.is_empty() && group.out_work == 0;
        if is_good && !is_complete {
            budgets.made_up(group.payer, work);
            return None;
        }
        let group = self.groups.remove(&number)?;
        let left = group.out_work + work_of(&group.waiting);
        budgets.made_up(group.payer, work + left);
        Some(CheckVerdict {
            owner: group.owner,
            payer: Some(group.payer),
            is_good,
            work,
        })
    }

    /// Returns the peers with signatures that were not handed out.
    fn payers(&self) -> impl Iterator<Item = PartyId> {
        let waiting = self.groups.values().filter(|it| !it.waiting.is_empty());
        waiting.map(|it| it.payer)
    }
}
