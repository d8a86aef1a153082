//! Reads the transaction of a request to a notary.

use kernel::message::{PeerMessage, ServiceId};
use ledger::{NotaryRequest, NotarySubject, StateRef, TimeWindow, TxId};
use primitives::Decode;

/// The parts of a transaction that its notary sees.
pub(crate) struct Notarisation {
    pub(crate) id: TxId,
    pub(crate) inputs: Vec<StateRef>,
    pub(crate) window: Option<TimeWindow>,
}

impl Notarisation {
    /// Decodes a message, and returns `None` unless it is a notarisation request.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let message = PeerMessage::from_bytes(bytes).ok()?;
        let PeerMessage::Request { service, body, .. } = message else {
            return None;
        };
        if service != ServiceId::Notarise as u8 {
            return None;
        }
        match NotaryRequest::from_bytes(&body).ok()?.subject {
            NotarySubject::TearOff(tear_off) => {
                let shown = tear_off.verify().ok()?;
                Some(Self {
                    id: shown.id(),
                    inputs: shown.inputs().to_vec(),
                    window: shown.time_window().cloned(),
                })
            }
            NotarySubject::Whole(whole) => Some(Self {
                id: whole.id(),
                inputs: whole.wire().inputs().to_vec(),
                window: whole.wire().time_window().cloned(),
            }),
        }
    }
}
