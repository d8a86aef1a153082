//! Transactions from clients and peers. Cheap checks happen at once, and signatures are checked together at the end of the round.

use std::collections::HashSet;
use std::sync::Arc;

use super::intake::{Message, Source, Submission, Unchecked};
use crate::core::limits::{UNCHECKED_MAX, points};
use crate::core::{Action, Core, PeerId, Ticket, Verdict};
use crate::pool::ChildBlock;
use crate::port::{Reads, StoreFailure, Table};
use crate::state::{BlockContext, Fault, check_transaction};
use crate::transaction::{Body, Carried};
use crate::{Rejection, Transaction, TxId};

/// The reason why a transaction is not accepted.
enum Refusal {
    /// It is in the pool or in a block.
    Known,
    /// Its fee is below the rate of each bundler known here.
    Unpaid(Rejection),
    Refused(Rejection),
}

impl<R: Reads<Table>> Core<R> {
    pub(in crate::core) fn submitted(
        &mut self,
        ticket: Ticket,
        transactions: Vec<Transaction>,
    ) -> Result<(), StoreFailure> {
        let submission = self.intake.submissions.len();
        self.intake.submissions.push(Submission {
            ticket,
            outcomes: transactions.iter().map(|_| None).collect(),
        });
        for (place, transaction) in transactions.into_iter().enumerate() {
            let carried = Arc::new(Carried::new(&self.genesis.hash, transaction));
            self.admit(carried, None, Source::Submission(submission, place))?;
        }
        self.check_intake_if_full()
    }

    /// Handles a gossiped batch of transactions.
    pub(in crate::core) fn gossiped_transactions(
        &mut self,
        peer: PeerId,
        ticket: Ticket,
        transactions: Vec<Transaction>,
    ) -> Result<(), StoreFailure> {
        let source = self.open_message(peer, ticket);
        let mut seen = HashSet::with_capacity(transactions.len());
        for transaction in transactions {
            let carried = Arc::new(Carried::new(&self.genesis.hash, transaction));
            // The pool knows the first copy only after its signature is checked. Equal copies would be checked again.
            if seen.insert((carried.id, carried.transaction.signature)) {
                self.admit(carried, None, source)?;
            }
        }
        self.check_intake_if_full()
    }

    /// Handles a gossiped child block.
    pub(in crate::core) fn gossiped_child_block(
        &mut self,
        peer: PeerId,
        ticket: Ticket,
        transaction: Transaction,
        ids: Vec<TxId>,
    ) -> Result<(), StoreFailure> {
        let source = self.open_message(peer, ticket);
        let carried = Arc::new(Carried::new(&self.genesis.hash, transaction));
        match ChildBlock::new(carried.clone(), ids) {
            Ok(block) => self.admit(carried, Some(Arc::new(block)), source),
            Err(rejection) => {
                if let Source::Message(at) = source {
                    self.intake.messages[at].bad = Some(rejection.code);
                }
                Ok(())
            }
        }
    }

    fn open_message(&mut self, peer: PeerId, ticket: Ticket) -> Source {
        self.intake.messages.push(Message {
            ticket,
            peer,
            taken: false,
            bad: None,
            refused: 0,
        });
        Source::Message(self.intake.messages.len() - 1)
    }

    /// Makes the cheap checks. A transaction that passes waits for the check of its signature.
    pub(in crate::core) fn admit(
        &mut self,
        carried: Arc<Carried>,
        block: Option<Arc<ChildBlock>>,
        source: Source,
    ) -> Result<(), StoreFailure> {
        let mut checked = self.pre_check(&carried, block.as_deref())?;
        if checked.is_ok()
            && let Some(rejection) = self.unpaid(&carried)?
        {
            checked = Err(Refusal::Unpaid(rejection));
        }
        match checked {
            Ok(()) => self.intake.unchecked.push(Unchecked {
                carried,
                block,
                source,
            }),
            Err(refusal) => self.not_admitted(&carried, source, refusal),
        }
        Ok(())
    }

    fn not_admitted(&mut self, carried: &Arc<Carried>, source: Source, refusal: Refusal) {
        match refusal {
            Refusal::Known => self.already_known(carried, source),
            Refusal::Unpaid(rejection) => self.refuse_unpaid(source, rejection),
            Refusal::Refused(rejection) => self.refused(source, rejection),
        }
    }

    /// Returns the rejection of a child-chain transaction that pays less than every known bundler asks. No block would include
    /// it, so its sender could have it verified, relayed and stored for free. A child block that lists it pays for it. While no
    /// bundler is known, a fee of one unit is enough.
    fn unpaid(&mut self, carried: &Carried) -> Result<Option<Rejection>, StoreFailure> {
        let transaction = &carried.transaction;
        if !transaction.chain.is_child() || self.genesis.chain(transaction.chain).is_none() {
            return Ok(None);
        }
        let least = self.fee_least(transaction.chain)?;
        if transaction.fee >= least
            || self.is_carried_here(carried)
            || self.pool.is_listed(&carried.id)
        {
            return Ok(None);
        }
        let detail = format!(
            "a fee of {}; the cheapest known bundler asks {}",
            transaction.fee.on(transaction.chain),
            least.on(transaction.chain)
        );
        Ok(Some(Rejection::new("chain_pool.unpaid", detail)))
    }

    /// Refuses at once, before its signature is checked, what is known already or breaks a rule that costs little to check.
    fn pre_check(
        &self,
        carried: &Carried,
        block: Option<&ChildBlock>,
    ) -> Result<Result<(), Refusal>, StoreFailure> {
        if self.pool.contains(&carried.id) {
            return Ok(Err(Refusal::Known));
        }
        if block.is_none() && matches!(carried.transaction.body, Body::ChildBlock { .. }) {
            let detail = "a child block without its list of ids";
            return Ok(Err(Refusal::Refused(Rejection::new(
                "chain_pool.wrong_list",
                detail,
            ))));
        }
        let context = BlockContext {
            time: self.timestamp_now(),
            height: self.rows.tip().next_height(),
        };
        match check_transaction(&self.rows, &self.genesis, carried, context) {
            Ok(()) => {}
            Err(Fault::InBlock(_)) => return Ok(Err(Refusal::Known)),
            Err(fault) => return Ok(Err(Refusal::Refused(fault.rejection()?))),
        }
        let now = self.timestamp_now();
        let rows = &self.rows;
        let mut balances = |account: crate::AccountId, chain| rows.balance(&account, chain);
        let checked = match block {
            Some(block) => self.pool.check_child_block(block, now, &mut balances)?,
            None => self.pool.check(carried, now, &mut balances)?,
        };
        Ok(checked.map_err(Refusal::Refused))
    }

    fn check_intake_if_full(&mut self) -> Result<(), StoreFailure> {
        if self.intake.unchecked.len() >= UNCHECKED_MAX {
            self.check_intake()?;
        }
        Ok(())
    }

    /// Checks the signatures of all waiting transactions, puts the valid ones into the pool, and reports the outcomes.
    pub(in crate::core) fn check_intake(&mut self) -> Result<(), StoreFailure> {
        let unchecked = std::mem::take(&mut self.intake.unchecked);
        let tip_moved = std::mem::take(&mut self.intake.tip_moved);
        if !unchecked.is_empty() {
            let signed = unchecked.iter().map(|one| one.carried.signed_message());
            let verdicts = self.checker.check_all(signed, unchecked.len());
            for (one, holds) in unchecked.into_iter().zip(verdicts) {
                if !holds {
                    self.bad_signature(&one);
                    continue;
                }
                if tip_moved
                    && let Err(refusal) = self.pre_check(&one.carried, one.block.as_deref())?
                {
                    self.not_admitted(&one.carried, one.source, refusal);
                    continue;
                }
                self.insert_into_pool(one)?;
            }
        }
        for submission in std::mem::take(&mut self.intake.submissions) {
            let outcomes = submission.outcomes.into_iter().flatten().collect();
            self.actions.push(Action::Submitted {
                ticket: submission.ticket,
                outcomes,
            });
        }
        for message in std::mem::take(&mut self.intake.messages) {
            self.report_verdict(&message);
        }
        Ok(())
    }

    /// Puts a transaction with a valid signature into the pool.
    fn insert_into_pool(&mut self, one: Unchecked) -> Result<(), StoreFailure> {
        let Unchecked {
            carried,
            block,
            source,
        } = one;
        // The same transaction may have arrived twice in this round.
        if self.pool.contains(&carried.id) {
            self.already_known(&carried, source);
            return Ok(());
        }
        let now = self.timestamp_now();
        let rows = &self.rows;
        let mut balances = |account: crate::AccountId, chain| rows.balance(&account, chain);
        let entered = match &block {
            Some(block) => {
                if let Some(rejection) = self.carries_confirmed(block)? {
                    self.refused(source, rejection);
                    return Ok(());
                }
                self.pool
                    .insert_child_block(block.clone(), now, &mut balances)?
            }
            None => self.pool.insert(carried.clone(), now, &mut balances)?,
        };
        if let Err(rejection) = entered {
            self.refused(source, rejection);
            return Ok(());
        }
        self.counters.accepted += 1;
        match source {
            Source::Submission(submission, place) => {
                self.keep_local(&carried);
                self.gossip_transaction(&carried)?;
                self.answer_submission(submission, place, Ok(carried.id));
            }
            Source::Message(at) => {
                self.intake.messages[at].taken = true;
                if let Some(block) = block {
                    let peer = self.intake.messages[at].peer;
                    let missing = self.pool.missing_of(&block);
                    self.reconciliation.add(peer, missing, self.now);
                }
            }
            Source::Fetched(_) => {}
        }
        Ok(())
    }

    /// Rejects a child block that carries a confirmed transaction, because no block can include it.
    fn carries_confirmed(&self, block: &ChildBlock) -> Result<Option<Rejection>, StoreFailure> {
        for id in block.ids() {
            if !self.pool.contains(id) && self.is_confirmed(id)? {
                let detail = format!("it carries {id}, which is already in a block");
                return Ok(Some(Rejection::new("chain_pool.superseded", detail)));
            }
        }
        Ok(None)
    }

    fn already_known(&mut self, carried: &Arc<Carried>, source: Source) {
        if let Source::Submission(submission, place) = source {
            // An accepted transaction survives a crash, regardless of the peer or client that sent it first.
            if let Some(known) = self.pool.get(&carried.id).cloned() {
                self.keep_local(&known);
            }
            self.answer_submission(submission, place, Ok(carried.id));
        }
    }

    /// Refuses a fee that is too low here. Nodes learn rates at different times, so it may be sufficient at an honest sender.
    fn refuse_unpaid(&mut self, source: Source, rejection: Rejection) {
        match source {
            Source::Message(_) => self.counters.refused += 1,
            _ => self.refused(source, rejection),
        }
    }

    fn refused(&mut self, source: Source, rejection: Rejection) {
        self.counters.refused += 1;
        match source {
            Source::Submission(submission, place) => {
                self.answer_submission(submission, place, Err(rejection));
            }
            Source::Message(at) => self.intake.messages[at].refused += 1,
            Source::Fetched(_) => {}
        }
    }

    fn bad_signature(&mut self, one: &Unchecked) {
        let code = "chain_tx.signature";
        match one.source {
            Source::Message(at) => self.intake.messages[at].bad = Some(code),
            Source::Fetched(peer) => self.penalise(peer, points::BAD_SIGNATURE, code),
            Source::Submission(..) => {
                let detail = format!("the signature of {} is not valid", one.carried.id);
                self.refused(one.source, Rejection::new(code, detail));
            }
        }
    }

    fn answer_submission(
        &mut self,
        submission: usize,
        place: usize,
        outcome: Result<TxId, Rejection>,
    ) {
        self.intake.submissions[submission].outcomes[place] = Some(outcome);
    }

    fn report_verdict(&mut self, message: &Message) {
        let verdict = match (message.bad, message.taken) {
            (Some(code), _) => {
                self.penalise(message.peer, points::BAD_SIGNATURE, code);
                Verdict::Reject
            }
            (None, true) => Verdict::Accept,
            (None, false) => Verdict::Ignore,
        };
        self.actions.push(Action::Verdict {
            message: message.ticket,
            verdict,
        });
        self.count_refused(message.peer, message.refused);
    }
}
