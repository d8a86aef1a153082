//! The start record: everything that a run depends on except the results of its effects.

use ledger::PartyId;
use primitives::{Seed, Timestamp, record};

use crate::{FlowId, SessionId};

/// The start of a flow; the first entry of its journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartRecord {
    /// The permanent id of the flow.
    pub id: FlowId,
    /// The registered flow.
    pub flow: String,
    /// The version it runs on.
    pub version: u32,
    /// Its arguments, encoded; empty for a responder.
    pub args: Vec<u8>,
    /// The seed of its random values; drawn by the shell.
    pub seed: Seed,
    /// The time of the start.
    pub at: Timestamp,
    /// The session that started it, if it is a responder.
    pub origin: Option<Origin>,
    /// Data that the node needs to answer its client (user, client id); opaque to the engine.
    pub caller: Vec<u8>,
}

/// The session a responder answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The party that opened it.
    pub peer: PartyId,
    /// The session.
    pub session: SessionId,
}

record!(Origin { peer, session });

impl primitives::Encode for StartRecord {
    fn encode(&self, e: &mut primitives::Encoder) {
        e.array(8);
        self.id.encode(e);
        e.text(&self.flow);
        e.u64(self.version.into());
        e.bytes(&self.args);
        e.bytes(self.seed.expose());
        self.at.encode(e);
        self.origin.encode(e);
        e.bytes(&self.caller);
    }
}

impl primitives::Decode for StartRecord {
    fn decode(d: &mut primitives::Decoder<'_>) -> Result<StartRecord, primitives::DecodeError> {
        d.expect_array(8)?;
        Ok(StartRecord {
            id: FlowId::decode(d)?,
            flow: d.text()?.to_owned(),
            version: d.u32()?,
            args: d.bytes()?.to_vec(),
            seed: Seed::new(<[u8; 32]>::decode(d)?),
            at: Timestamp::decode(d)?,
            origin: Option::decode(d)?,
            caller: d.bytes()?.to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_hides_the_seed() {
        let start = StartRecord {
            id: FlowId([1; 16]),
            flow: "a.b".to_owned(),
            version: 1,
            args: Vec::new(),
            seed: Seed::new([171; 32]),
            at: Timestamp::from_ms(0),
            origin: None,
            caller: Vec::new(),
        };
        for shown in [format!("{start:?}"), format!("{start:#?}")] {
            assert!(!shown.contains("171"), "{shown}");
        }
    }
}
