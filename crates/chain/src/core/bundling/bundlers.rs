//! The bundlers of this node, and the forgers that they expect.

use std::collections::BTreeMap;

use primitives::PublicKey;

use crate::bundle::{Bundler, Expected};
use crate::core::limits::BUNDLERS_MAX;
use crate::core::part::Part;
use crate::state::Point;
use crate::{ChainId, ChainTime};

/// A bundler's key and its chain.
pub(super) type BundlerKey = ([u8; 32], ChainId);

/// The bundlers of this node.
#[derive(Debug, Default)]
pub(in crate::core) struct Bundling {
    pub(super) bundlers: BTreeMap<BundlerKey, Bundler>,
    /// The prediction for this tip. `None` after the tip has moved.
    pub(super) outlook: Option<ForgerForecast>,
}

/// The expected forgers, and the times at which bundlers look at the pool.
#[derive(Debug)]
pub(super) struct ForgerForecast {
    pub(super) forgers: Vec<Expected>,
    /// The time at which this node received the tip.
    pub(super) tip_received: ChainTime,
    /// The time of each bundler's next look.
    pub(super) due: BTreeMap<BundlerKey, ChainTime>,
}

impl Bundling {
    pub(in crate::core) fn new(bundlers: &[Bundler]) -> Self {
        let mut bundling = Self::default();
        for bundler in bundlers {
            bundling.start(bundler.clone());
        }
        bundling
    }

    /// Lets an account bundle, or replaces its rules for the chain. Returns false for keys that are not account keys, and beyond
    /// the limit.
    pub(in crate::core) fn start(&mut self, bundler: Bundler) -> bool {
        let PublicKey::Ed25519(key) = *bundler.key.public() else {
            return false;
        };
        let place = (key, bundler.rules.child);
        if self.bundlers.len() >= BUNDLERS_MAX && !self.bundlers.contains_key(&place) {
            return false;
        }
        self.bundlers.insert(place, bundler);
        self.outlook = None;
        true
    }

    pub(in crate::core) fn stop(&mut self, key: &[u8; 32], child: ChainId) -> bool {
        self.outlook = None;
        self.bundlers.remove(&(*key, child)).is_some()
    }

    pub(in crate::core) fn is_empty(&self) -> bool {
        self.bundlers.is_empty()
    }

    /// Returns the bundlers with their keys.
    pub(in crate::core) fn keyed(&self) -> impl Iterator<Item = (&[u8; 32], &Bundler)> {
        self.bundlers
            .iter()
            .map(|((key, _), bundler)| (key, bundler))
    }
}

impl Part for Bundling {
    fn tip_moved(&mut self, _: &Point) {
        self.outlook = None;
    }
}
