//! The ids of the requests for back chains.

use flow::FlowId;
use flow::messaging::RequestId;

/// Requests for back chains have flow ids that no flow has.
pub(super) fn resolution_request(number: u64, step: u32) -> RequestId {
    let mut flow = [0xff; 16];
    flow[8..].copy_from_slice(&number.to_be_bytes());
    RequestId {
        flow: FlowId(flow),
        effect: step,
    }
}

/// Returns the resolution that sent a request, if one did.
pub(crate) fn resolution_of(id: &RequestId) -> Option<u64> {
    let bytes = id.flow.as_bytes();
    let number = bytes.last_chunk::<8>()?;
    (bytes[..8] == [0xff; 8]).then(|| u64::from_be_bytes(*number))
}
