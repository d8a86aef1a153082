//! Bodies of refused requests: read and discarded.
//!
//! A client that speaks HTTP/1 sends its body before it reads the answer. If the node answered and closed the connection
//! meanwhile, the client would find a broken connection instead of the refusal.

use std::time::Duration;

use axum::body::{Body, HttpBody};
use http_body_util::BodyExt;

/// Maximum number of bytes discarded of one body. A client that sends more finds the connection closed.
const DISCARDED_BYTES_MAX: usize = 1 << 20;
/// Time limit for reading and discarding the rest of an unwanted body.
const DISCARD_PATIENCE: Duration = Duration::from_secs(2);

/// Reads a body of known length to its end, within bounds, and keeps nothing of it. One without end is not waited for.
pub(crate) async fn discard(mut body: Body) {
    if body.size_hint().exact().is_none() {
        return;
    }
    let read = async {
        let mut left = DISCARDED_BYTES_MAX;
        while let Some(Ok(frame)) = body.frame().await {
            let bytes = frame.data_ref().map_or(0, bytes::Bytes::len);
            match left.checked_sub(bytes) {
                Some(rest) => left = rest,
                None => break,
            }
        }
    };
    // A client that is too slow finds the connection closed.
    let _ = tokio::time::timeout(DISCARD_PATIENCE, read).await;
}
