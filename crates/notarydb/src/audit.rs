//! The audit of a whole record: every inconsistency between its transactions and its consumed states.

use std::collections::BTreeMap;

use ledger::{StateRef, TxId};
use primitives::SignatureChecker;

use crate::error::RecordError;
use crate::shared::SharedRecord;

/// Rows of one page.
const PAGE: usize = 10_000;
/// Inconsistencies that are described.
const SHOWN_MAX: usize = 100;

/// The result of an audit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Accepted transactions.
    pub transactions: u64,
    /// Consumed states.
    pub states: u64,
    /// Inconsistencies in all.
    pub inconsistencies: u64,
    /// The first of them in words.
    pub shown: Vec<String>,
}

impl Findings {
    fn add(&mut self, text: String) {
        self.inconsistencies += 1;
        if self.shown.len() < SHOWN_MAX {
            self.shown.push(text);
        }
    }
}

/// Settings of an audit.
pub struct Audit<'a> {
    /// Checks the signature of the first requester of a transaction. `None` leaves it out.
    pub signatures: Option<(&'a mut SignatureChecker, ledger::PartyId)>,
    /// Called after each page with the number of rows read so far.
    pub progress: &'a mut dyn FnMut(u64),
}

/// Reads a whole record, in the order of its keys, and checks every row: each consumer of a state is an accepted transaction, and each request
/// was signed by its requester for this notary. Rows that are entered meanwhile may be left out.
///
/// # Errors
/// The database can't be reached, or a row is damaged.
pub fn audit(record: &mut SharedRecord, audit: Audit<'_>) -> Result<Findings, RecordError> {
    let Audit {
        mut signatures,
        progress,
    } = audit;
    let mut findings = Findings::default();
    let mut after: Option<StateRef> = None;
    loop {
        let page = record.states_after(after.as_ref(), PAGE)?;
        let Some((last, _)) = page.last() else {
            break;
        };
        after = Some(*last);
        findings.states += page.len() as u64;
        let mut by_consumer: BTreeMap<TxId, StateRef> = BTreeMap::new();
        for (state, consumer) in page {
            by_consumer.insert(consumer, state);
        }
        let ids: Vec<TxId> = by_consumer.keys().copied().collect();
        let accepted = record.look_up(&ids, &[])?.accepted;
        for (consumer, state) in by_consumer {
            if !accepted.contains(&consumer) {
                findings.add(format!(
                    "state {state} is consumed by {consumer}, which was not accepted"
                ));
            }
        }
        progress(findings.states);
    }
    let mut after: Option<TxId> = None;
    loop {
        let page = record.transactions_after(after.as_ref(), PAGE)?;
        let Some((last, _)) = page.last() else {
            break;
        };
        after = Some(*last);
        findings.transactions += page.len() as u64;
        for (id, request) in page {
            let Some((checker, service)) = &mut signatures else {
                continue;
            };
            let message = primitives::SignedMessage {
                key: request.key.clone(),
                context: primitives::SignatureContext::NotaryRequest,
                message: ledger::NotaryRequest::message(&id, service),
                signature: request.signature,
            };
            if !checker.check(&message) {
                findings.add(format!(
                    "the request for {id} is not signed by its requester {}",
                    request.requester
                ));
            }
        }
        progress(findings.states + findings.transactions);
    }
    Ok(findings)
}
