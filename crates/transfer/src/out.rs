//! Collects actions and updates the figures.

use ledger::PartyId;
use primitives::{Encode, Hash};

use crate::event::{Action, Failure};
use crate::figures::Figures;
use crate::message::Message;

/// The output of one event: actions and figures.
pub(crate) struct Out<'a> {
    pub(crate) now_ms: u64,
    pub(crate) actions: &'a mut Vec<Action>,
    pub(crate) figures: &'a mut Figures,
}

impl Out<'_> {
    pub(crate) fn act(&mut self, action: Action) {
        self.actions.push(action);
    }

    pub(crate) fn send(&mut self, peer: PartyId, message: &Message) {
        self.act(Action::Send {
            peer,
            bytes: message.to_bytes(),
        });
    }

    pub(crate) fn failed(&mut self, hash: Hash, peer: PartyId, failure: Failure) {
        self.figures.failed += 1;
        self.act(Action::Failed {
            hash,
            peer,
            failure,
        });
    }
}
