//! The result of a successful flow.

use api::{FlowStatus, Outcome, RawJson};
use primitives::Hash;
use serde::de::DeserializeOwned;

use crate::load::Fault;
use crate::workload::codes::{BAD_ANSWER, NO_TRANSACTION};
use crate::workload::ended::{Failed, Tried};

/// A flow that has ended well: delivered to all participants.
#[derive(Clone, Debug)]
pub struct Delivered {
    /// The transactions it recorded, in order.
    pub transactions: Vec<Hash>,
    /// Its return value, as JSON.
    pub result: Option<RawJson>,
    /// Tries beyond the first.
    pub retries: u32,
}

impl Delivered {
    /// Returns the result for a worker whose unit is this one flow.
    pub fn tried(&self) -> Tried {
        Tried {
            retries: self.retries,
        }
    }

    /// Decodes its return value.
    pub fn returned<T: DeserializeOwned>(&self) -> Result<T, Failed> {
        let text = self.result.as_ref().map_or("null", |result| result.get());
        serde_json::from_str(text).map_err(|error| Failed::new(BAD_ANSWER, error.to_string()))
    }

    /// Returns the last transaction; a fault if there is none.
    pub fn last(&self) -> Result<Hash, Failed> {
        let last = self.transactions.last().copied();
        last.ok_or_else(|| Failed::new(NO_TRANSACTION, "the flow recorded no transaction"))
    }
}

/// Converts the outcome of a flow that ended well. Any other outcome is a fault.
pub(super) fn delivered(outcome: Outcome, retries: u32) -> Result<Delivered, Fault> {
    if outcome.status != FlowStatus::Delivered {
        let code = format!("lab.{}", outcome.status.as_str());
        let message = format!("flow {} is not delivered", outcome.flow_id);
        return Err(Fault::new(code, message));
    }
    Ok(Delivered {
        transactions: hashes(&outcome.transactions)?,
        result: outcome.result,
        retries,
    })
}

/// Returns the same from the transactions alone, for flows whose end was awaited elsewhere.
pub(super) fn recorded(ids: Vec<String>, retries: u32) -> Result<Delivered, Failed> {
    let transactions = hashes(&ids).map_err(|fault| Failed {
        fault,
        retries,
        begun: true,
    })?;
    Ok(Delivered {
        transactions,
        result: None,
        retries,
    })
}

fn hashes(ids: &[String]) -> Result<Vec<Hash>, Fault> {
    let parse = |id: &String| {
        let parsed = id.parse();
        parsed.map_err(|error| Fault::new(BAD_ANSWER, format!("{id:?}: {error}")))
    };
    ids.iter().map(parse).collect()
}
