//! The traits of a workload.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use client::ClientError;

use super::Site;
use crate::load::Fault;

/// A future on the heap, as traits that are used by reference need it.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A future that has ended already.
pub fn done<'a, T: Send + 'a>(value: T) -> Boxed<'a, T> {
    Box::pin(std::future::ready(value))
}

/// A kind of work, made from its knobs for one point of a scenario.
pub trait Workload: Send + Sync + 'static {
    /// Its registered name.
    fn kind(&self) -> &str;

    /// Banks that it needs at least.
    fn banks_min(&self) -> u32 {
        1
    }

    /// Runs before the load, on an empty network, and again where more is needed than is left: coins, back chains, standing orders.
    /// `units_expected` is how many units will run, about.
    ///
    /// It is skipped where a snapshot of the same preparation is restored: so all that it leaves is in the network, or in
    /// the site's books, which are restored with it ([`Site::put`]). [`Site::preparation`] shows how far it is.
    fn prepare<'a>(
        &'a self,
        site: &'a Arc<Site>,
        units_expected: u64,
    ) -> Boxed<'a, Result<(), Failed>> {
        let _ = (site, units_expected);
        done(Ok(()))
    }

    /// What the preparation for so many units depends on: points of a sweep for which it is the same share one, made once
    /// and copied. A kind that prepares nothing says so, and its points may then share a network as well.
    fn prepares(&self, units_expected: u64) -> Prepares {
        let _ = units_expected;
        Prepares::ByKnobs
    }

    /// One worker's set-up. Numbers count from 0; there are as many workers as units outstanding in a closed loop.
    fn worker<'a>(
        &'a self,
        site: &'a Arc<Site>,
        number: u32,
    ) -> Boxed<'a, Result<Box<dyn Worker>, Failed>>;

    /// New states that one unit leaves, for rates of states; 0 if that says nothing about it.
    fn states_per_unit(&self) -> f64 {
        0.0
    }

    /// Bytes of files that one unit moves, on average; 0 if it moves none. What moves some is shown beside what the machine can do
    /// with files at most.
    fn bytes_per_unit(&self) -> f64 {
        0.0
    }
}

/// What a preparation depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prepares {
    /// There is none.
    Nothing,
    /// On every knob, and on how many units are expected.
    ByKnobs,
    /// On this alone, beside the kind.
    By(String),
}

/// Whether each unit uses up something that was prepared for so many units and no more.
pub fn is_used_up(workload: &dyn Workload) -> bool {
    match workload.prepares(1) {
        Prepares::Nothing => false,
        Prepares::ByKnobs => true,
        by => by != workload.prepares(2),
    }
}

/// One of those who do the work.
pub trait Worker: Send + Sync {
    /// Runs one unit to its end: delivered to all whom it concerns. `unit` differs from those of all other units of a
    /// stretch. In an open loop one worker may have several outstanding.
    fn invoke(&self, unit: u64) -> Boxed<'_, Result<Tried, Failed>>;

    /// Undoes the set-up. Runs once, after the last unit, also when units failed or another worker's set-up did.
    fn teardown(&self) -> Boxed<'_, Result<(), Failed>> {
        done(Ok(()))
    }
}

/// How a unit that ended well went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    /// Tries beyond the first. They are counted apart: a unit is one success, however often it was tried.
    pub retries: u32,
}

/// Something that did not end well.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{fault}")]
pub struct Failed {
    /// A stable code, and words.
    pub fault: Fault,
    /// Tries beyond the first.
    pub retries: u32,
    /// Whether something may have begun that nobody saw the end of.
    pub begun: bool,
}

impl Failed {
    /// With a code of one's own.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::from(Fault {
            code: code.into(),
            message: message.into(),
        })
    }
}

impl From<Fault> for Failed {
    fn from(fault: Fault) -> Self {
        Self {
            fault,
            retries: 0,
            begun: false,
        }
    }
}

impl From<ClientError> for Failed {
    fn from(error: ClientError) -> Self {
        Self::from(Fault::from(error))
    }
}
