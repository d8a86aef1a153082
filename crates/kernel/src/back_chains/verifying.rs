//! The verification of fetched back chains: oldest transactions first, as bulk work, and recorded on the way.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use ledger::{PartyId, Rejection, SignedTransaction, TxId};
use primitives::{Decode, SignedMessage};

use crate::back_chains::BackChains;
use crate::back_chains::chain::VERIFY_CHUNK;
use crate::back_chains::fetching::Failure;
use crate::command::Command;
use crate::context::Context;
use crate::errors;
use crate::intake::fault::Fault;
use crate::ledger_view::LedgerView;
use crate::peers::budget::{contract_work, work_of};
use crate::port::{Reads, StoreFailure};

/// A part of a chain that is verified in this round.
#[derive(Debug)]
pub(super) struct Verifying {
    number: u64,
    peer: PartyId,
    /// Its transactions, oldest first, and whether their signatures are good.
    transactions: VecDeque<(Arc<SignedTransaction>, bool)>,
    /// Nothing is left of the chain after this.
    is_last: bool,
    /// The fault of the transaction after these.
    failure: Option<Failure>,
}

/// The transactions of a part, with the places of their signatures among those of all parts.
type Places = Vec<(Arc<SignedTransaction>, Range<usize>)>;

impl BackChains {
    /// Takes parts of fetched chains, one of each in turn and so many transactions a round, and checks their signatures. Returns
    /// whether there are any in this round.
    pub(crate) fn begin_verifying(
        &mut self,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<bool, StoreFailure> {
        if std::mem::replace(&mut context.round.chains_verified, true) {
            return Ok(false);
        }
        assert!(
            self.verifying.is_empty(),
            "parts of chains are left from an earlier round"
        );
        let mut messages = Vec::new();
        let parts = self.take_parts(&mut messages, context, reads)?;
        if parts.is_empty() {
            return Ok(false);
        }
        let figures = &mut context.figures;
        let verdicts = context.signatures.check_messages(messages.iter(), figures);
        for (mut part, places) in parts {
            let transactions = places.into_iter();
            part.transactions = transactions
                .map(|(transaction, range)| (transaction, !verdicts[range].contains(&false)))
                .collect();
            self.verifying.push_back(part);
        }
        Ok(true)
    }

    /// Verifies the next transaction of this round's parts. It is to be recorded before the next call. Returns false if none is left.
    pub(crate) fn verify_next(
        &mut self,
        ledger: LedgerView<'_>,
        context: &mut Context,
    ) -> Result<bool, StoreFailure> {
        let Some(part) = self.verifying.front_mut() else {
            return Ok(false);
        };
        let (number, mut failure) = (part.number, None);
        if let Some((transaction, is_good)) = part.transactions.pop_front() {
            let peer = part.peer;
            match verify(&transaction, is_good, peer, ledger, context)? {
                Ok(()) => return Ok(true),
                Err(rejected) => failure = Some(rejected),
            }
        }
        // The part ends with a faulty transaction, or there is none after the last one.
        let ended = self.verifying.pop_front();
        let is_last = ended.as_ref().is_some_and(|part| part.is_last);
        let failure = failure.or_else(|| ended?.failure);
        if failure.is_some() || is_last {
            self.end(number, failure, context);
        }
        Ok(true)
    }

    fn take_parts(
        &mut self,
        messages: &mut Vec<SignedMessage>,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<Vec<(Verifying, Places)>, StoreFailure> {
        let mut parts = Vec::new();
        let mut seen = BTreeSet::new();
        let mut count = 0;
        while count < VERIFY_CHUNK
            && let Some(number) = self.resolutions.next_to_verify()
            && seen.insert(number)
            && let Some(resolution) = self.resolutions.get_mut(number)
        {
            let peer = resolution.peer;
            if !context.may_work(&peer) {
                continue;
            }
            let rows = resolution.take_oldest(reads, &mut context.round.batch)?;
            count += rows.len().max(1);
            let mut work = 0;
            let mut places = Vec::with_capacity(rows.len());
            let mut part = Verifying {
                number,
                peer,
                transactions: VecDeque::new(),
                is_last: resolution.is_drained(),
                failure: None,
            };
            for bytes in rows {
                let parsed = SignedTransaction::from_bytes(&bytes).map_err(|e| Rejection::of(&e));
                let checked = parsed.and_then(|transaction| {
                    let pending = transaction.check_signatures(&[]);
                    let pending = pending
                        .map_err(|e| invalid_ancestor(transaction.id(), &Rejection::of(&e)))?;
                    Ok((transaction, pending))
                });
                match checked {
                    Ok((transaction, pending)) => {
                        work += work_of(pending.messages());
                        work += contract_work(transaction.wire());
                        let from = messages.len();
                        messages.extend_from_slice(pending.messages());
                        places.push((Arc::new(transaction), from..messages.len()));
                    }
                    Err(rejection) => {
                        part.failure = Some(Failure::Faulty(Fault::Final(rejection)));
                        break;
                    }
                }
            }
            context.charge(Some(peer), work);
            parts.push((part, places));
        }
        Ok(parts)
    }
}

/// Verifies one transaction of a back chain, and has it recorded. Those before it are recorded.
fn verify(
    transaction: &Arc<SignedTransaction>,
    signatures_good: bool,
    peer: PartyId,
    ledger: LedgerView<'_>,
    context: &mut Context,
) -> Result<Result<(), Failure>, StoreFailure> {
    let id = transaction.id();
    if ledger.contains(&id)? {
        return Ok(Ok(()));
    }
    let invalid = |rejection: &Rejection| {
        let fault = Fault::Final(invalid_ancestor(id, rejection));
        Ok(Err(Failure::Faulty(fault)))
    };
    if !signatures_good {
        let text = "a signature is not valid";
        return invalid(&errors::rejection(&errors::SIGNATURE_INVALID, text));
    }
    match ledger.run_contracts(transaction, context)? {
        Ok(_) => {}
        Err(Fault::Final(rejection)) => return invalid(&rejection),
        // Nothing is wrong with the ancestor: the reason keeps its own code.
        Err(local) => {
            let fault = local.map(|rejection| of_ancestor(id, rejection));
            return Ok(Err(Failure::Faulty(fault)));
        }
    }
    if let Some(rejection) = ledger.contradicted(transaction, Some(peer), context)? {
        return invalid(&rejection);
    }
    context.figures.resolved_transactions += 1;
    context.command(Command::Record(Arc::clone(transaction)));
    Ok(Ok(()))
}

fn invalid_ancestor(id: TxId, rejection: &Rejection) -> Rejection {
    let text = format!("ancestor {id}: {} ({})", rejection.message, rejection.code);
    errors::rejection(&errors::DEPENDENCY_INVALID, text)
}

/// A reason that concerns an ancestor, under its own code.
fn of_ancestor(id: TxId, rejection: Rejection) -> Rejection {
    let text = format!("ancestor {id}: {}", rejection.message);
    Rejection::new(rejection.code, text, rejection.hint)
}
