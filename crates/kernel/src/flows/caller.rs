//! The caller of a flow: its user and the client id, as they stand in the record of the start.

use primitives::{Decode, DecodeError, Decoder, Domain, Encode, Encoder, Hash};

use crate::rows::client_key;

/// The caller's data in a start record. The flow engine does not read it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    /// The user that started it.
    pub user: String,
    /// The client id, if any.
    pub client_id: Option<String>,
    /// The digest of the start, where there is a client id.
    pub start_digest: Option<Hash>,
}

/// Returns the key of a caller's client id and the digest of its start.
pub fn client_of(caller: &Caller) -> Option<(Hash, Hash)> {
    let client_id = caller.client_id.as_ref()?;
    Some((client_key(&caller.user, client_id), caller.start_digest?))
}

impl Encode for Caller {
    fn encode(&self, e: &mut Encoder) {
        e.array(3);
        e.text(&self.user);
        self.client_id.encode(e);
        self.start_digest.encode(e);
    }
}

impl Decode for Caller {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(3)?;
        Ok(Self {
            user: d.text()?.to_owned(),
            client_id: Option::decode(d)?,
            start_digest: Option::decode(d)?,
        })
    }
}

/// Returns the digest that identifies a repeated start.
pub fn start_digest(flow: &str, version: Option<u32>, args: &[u8]) -> Hash {
    let name_len = (flow.len() as u64).to_be_bytes();
    let version = version.map_or([0; 4], u32::to_be_bytes);
    Hash::of(
        Domain::Derive,
        &[b"start", &name_len, flow.as_bytes(), &version, args],
    )
}
