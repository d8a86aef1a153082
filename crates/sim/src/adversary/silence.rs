//! A counterparty that stops answering in the middle of its flows: for a while, beyond all deadlines, or until the others have
//! finished without it. It receives everything and sends nothing. It is trusted with separate tokens, whose balances depend on
//! the time of the silence but whose sums do not.

use std::collections::BTreeMap;

use flow::{SessionBody, SessionId, SessionMessage};
use kernel::message::PeerMessage;
use ledger::{SignedTransaction, StateRef, TimeWindow, TxId};
use primitives::Decode;

use crate::chance::Chance;
use crate::membership::EXCHANGE;

/// The member that goes silent.
pub(crate) const SILENT: usize = EXCHANGE;
/// Messages that it sends before it goes silent.
const MESSAGES: (u64, u64) = (5, 150);
/// Durations of the silence in microseconds: within a deadline, beyond some deadlines, beyond all.
const LATE_US: [u64; 4] = [2_000_000, 40_000_000, 420_000_000, 1_000_000_000];
/// Failures that a silent counterparty may cause: by its silence, or by cash that it had notarised without telling its
/// counterparty.
const CAUSED: [&str; 6] = [
    "flow.counterparty_silent",
    "flow.timed_out",
    "flow.session_ended",
    "notary.conflict",
    "vault.insufficient_funds",
    "vault.selection_timeout",
];

/// The stage of the silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SilenceStage {
    /// Number of messages that it sends before it falls silent.
    Speaks(u64),
    /// It is silent.
    Silent,
    /// It is silent, and the others spend the states that it kept locked.
    Spending,
    /// It sends messages again, and does not fall silent again.
    Over,
}

/// A transaction that a node has signed and sent to the silent member.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    pub(crate) id: TxId,
    pub(crate) end_ms: u64,
    session: SessionId,
}

/// The silent member, and the promises that others made to it.
pub(crate) struct Silence {
    pub(crate) stage: SilenceStage,
    /// Duration of the silence. `None` means until the others have finished without it.
    pub(crate) for_us: Option<u64>,
    pub(crate) since_us: u64,
    pub(crate) shown: BTreeMap<(usize, StateRef), Shown>,
}

impl Silence {
    pub(crate) fn new(mut chance: Chance) -> Self {
        let late = chance.per_mille(600).then(|| chance.one_of(&LATE_US));
        Self {
            stage: SilenceStage::Speaks(chance.between(MESSAGES.0, MESSAGES.1)),
            for_us: late,
            since_us: 0,
            shown: BTreeMap::new(),
        }
    }

    pub(crate) fn is_silent(&self) -> bool {
        matches!(self.stage, SilenceStage::Silent | SilenceStage::Spending)
    }

    /// Records a signed transaction that a node sends to the silent member. Forgets it when the silent member ends that session.
    pub(crate) fn watch(&mut self, from: usize, to: usize, bytes: &[u8]) {
        let Ok(PeerMessage::Session { body, .. }) = PeerMessage::from_bytes(bytes) else {
            return;
        };
        let Ok(message) = SessionMessage::from_bytes(&body) else {
            return;
        };
        let payload = match &message.body {
            SessionBody::Data { payload, .. } if to == SILENT => payload,
            SessionBody::End { .. } | SessionBody::Data { last: true, .. } if from == SILENT => {
                return self
                    .shown
                    .retain(|_, shown| shown.session != message.session);
            }
            _ => return,
        };
        let Ok(signed) = SignedTransaction::from_bytes(payload) else {
            return;
        };
        let end = signed.wire().time_window().and_then(TimeWindow::end);
        let (Some(end), false) = (end, signed.signatures().is_empty()) else {
            return;
        };
        let shown = Shown {
            id: signed.id(),
            end_ms: end.as_ms(),
            session: message.session,
        };
        for input in signed.wire().inputs() {
            self.shown.insert((from, *input), shown);
        }
    }
}

/// Returns whether the silent member may have caused this failure: the flow runs at the silent node, or the code is an
/// expected one.
pub(crate) fn is_caused(node: usize, code: &str) -> bool {
    node == SILENT || CAUSED.contains(&code)
}
