//! Bodies of refused requests: read and discarded.
//!
//! A client that speaks HTTP/1 sends its body before it reads the answer. If the node answered and closed the connection
//! meanwhile, the client would find a broken connection instead of the refusal.

use std::time::Duration;

use axum::body::{Body, HttpBody};
use http_body_util::BodyExt;

use super::share::Reserved;

/// Maximum number of bytes discarded of one body. A client that sends more finds the connection closed.
const DISCARDED_BYTES_MAX: usize = 1 << 20;
/// Time limit for reading and discarding the rest of an unwanted body.
const DISCARD_PATIENCE: Duration = Duration::from_secs(2);

/// Maximum number of bytes discarded of a body that is too long or of another media type.
const UNWANTED_BYTES_MAX: usize = 16 << 20;
/// Time limit for that.
const UNWANTED_PATIENCE: Duration = Duration::from_secs(5);

/// Reads a body of known length to its end, within bounds, and keeps nothing of it. One without end is not waited for.
pub(crate) async fn discard(body: Body) {
    if body.size_hint().exact().is_some() {
        discard_within(body, DISCARDED_BYTES_MAX, DISCARD_PATIENCE).await;
    }
}

/// Reads the rest of an unwanted body while the client gets its answer, within bounds. A client that reads no
/// answer before it has sent its whole body gets it so. The place is held meanwhile.
pub(super) fn discard_unwanted(body: Body, place: Reserved) {
    tokio::spawn(async move {
        let _place = place;
        discard_within(body, UNWANTED_BYTES_MAX, UNWANTED_PATIENCE).await;
    });
}

/// Reads a body. A client that is too slow, or sends more, finds the connection closed.
async fn discard_within(mut body: Body, bytes_max: usize, patience: Duration) {
    let read = async {
        let mut left = bytes_max;
        while let Some(Ok(frame)) = body.frame().await {
            let bytes = frame.data_ref().map_or(0, bytes::Bytes::len);
            match left.checked_sub(bytes) {
                Some(rest) => left = rest,
                None => break,
            }
        }
    };
    let _ = tokio::time::timeout(patience, read).await;
}
