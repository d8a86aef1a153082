//! The verification of fetched back chains: oldest transactions first, as bulk work, and recorded on the way.

use std::collections::BTreeSet;
use std::sync::Arc;

use ledger::{PartyId, Rejection, SignedTransaction, TxId};
use primitives::Decode;

use crate::back_chains::BackChains;
use crate::back_chains::chain::VERIFY_CHUNK;
use crate::back_chains::chain_part::{ChainPart, Verifying};
use crate::back_chains::fetching::Failure;
use crate::command::Command;
use crate::context::Context;
use crate::errors;
use crate::intake::fault::Fault;
use crate::ledger_view::LedgerView;
use crate::peers::budget::{GARBAGE_MESSAGE, contract_work};
use crate::port::{Reads, StoreFailure};
use crate::round::CheckOwner;

impl BackChains {
    /// Takes parts of fetched chains, one of each in turn up to a maximum number of transactions a round, and has their signatures
    /// checked.
    pub(crate) fn begin_verifying(
        &mut self,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        if std::mem::replace(&mut context.round.chains_verified, true) {
            return Ok(());
        }
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
            let part = ChainPart::new(resolution.is_drained());
            let part = gather_checks(part, rows, number, peer, context);
            if part.is_checked() {
                self.verifying.push_back(Verifying { number, peer, part });
            } else {
                self.resolutions.keep_part(number, part);
            }
        }
        Ok(())
    }

    /// Notes the verdict on the signatures of a transaction in a chain.
    pub(crate) fn on_checked(&mut self, number: u64, place: usize, is_good: bool) {
        let checked = self.resolutions.part_checked(number, place, is_good);
        if let Some((part, peer)) = checked {
            self.verifying.push_back(Verifying { number, peer, part });
        }
    }

    /// Verifies the next transaction of the parts whose signatures are good. The caller has it recorded before the next call.
    /// Returns false if none is left.
    pub(crate) fn verify_next(
        &mut self,
        ledger: LedgerView<'_>,
        context: &mut Context,
    ) -> Result<bool, StoreFailure> {
        let Some(first) = self.verifying.front_mut() else {
            return Ok(false);
        };
        let (number, mut failure) = (first.number, None);
        if let Some((transaction, is_good)) = first.part.pop() {
            match verify(&transaction, is_good, first.peer, ledger, context)? {
                Ok(()) => return Ok(true),
                Err(rejected) => failure = Some(rejected),
            }
        }
        // The part ends with a faulty transaction, or there is none after the last one.
        let ended = self.verifying.pop_front().map(|verifying| verifying.part);
        let is_last = ended.as_ref().is_some_and(|part| part.is_last);
        let failure = failure.or_else(|| {
            let rejection = ended?.fault?;
            Some(Failure::Faulty(Fault::Final(rejection)))
        });
        if failure.is_some() || is_last {
            self.end(number, failure, context);
        }
        Ok(true)
    }
}

/// Has the signatures of a part's transactions checked, up to the first that has no form to be checked.
fn gather_checks(
    mut part: ChainPart,
    rows: Vec<Vec<u8>>,
    number: u64,
    peer: PartyId,
    context: &mut Context,
) -> ChainPart {
    for bytes in rows {
        let parsed = SignedTransaction::from_bytes(&bytes).map_err(|e| Rejection::of(&e));
        let checked = parsed.and_then(|transaction| {
            let pending = transaction.check_signatures(&[]);
            let pending =
                pending.map_err(|e| invalid_ancestor(transaction.id(), &Rejection::of(&e)))?;
            Ok((transaction, pending))
        });
        match checked {
            Ok((transaction, pending)) => {
                context.charge(Some(peer), contract_work(transaction.wire()));
                let owner = CheckOwner::Ancestor(number, part.next_place());
                let has_checks = context.gather(owner, pending.messages(), Some(peer));
                part.push(transaction, has_checks);
            }
            Err(rejection) => {
                // An honest peer has verified every transaction before it serves it.
                context.note_garbage(peer, GARBAGE_MESSAGE);
                part.fault = Some(rejection);
                break;
            }
        }
    }
    part
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

/// Names the ancestor in its rejection, which keeps its code.
fn of_ancestor(id: TxId, rejection: Rejection) -> Rejection {
    let text = format!("ancestor {id}: {}", rejection.message);
    Rejection::new(rejection.code, text, rejection.hint)
}
