//! The job that checks the proofs of a tear-off.

use flow::messaging::RequestId;
use ledger::{CheckedTearOff, FilteredTransaction, PartyId, TearOffError};

use crate::notarisation::whole::Asks;

/// An estimate of the bytes of a tear-off that are checked in ten microseconds, the unit of a job's cost.
const BYTES_PER_COST: usize = 4 << 10;

/// The tear-off of a request whose form and requester are known to be good.
pub(crate) struct TearOffJob {
    pub(crate) tear_off: Box<FilteredTransaction>,
    /// The size of the request, in bytes.
    pub(crate) bytes: usize,
}

/// The request that a tear-off belongs to.
#[derive(Debug)]
pub(crate) struct AskedWith {
    pub(crate) asked: (PartyId, RequestId),
    pub(crate) asks: Asks,
}

impl TearOffJob {
    /// Checks the proofs.
    pub(crate) fn run(&self) -> Result<Box<CheckedTearOff>, TearOffError> {
        self.tear_off.verify().map(Box::new)
    }

    /// Estimates the time that the job takes, in units of ten microseconds.
    pub(crate) fn cost(&self) -> usize {
        1 + self.bytes / BYTES_PER_COST
    }
}
