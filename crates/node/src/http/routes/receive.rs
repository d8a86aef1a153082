//! A body of any length, on its way to the disk.

use std::time::Duration;

use api::codes::{BAD_JSON, BODY_TIMEOUT};
use axum::body::{Body, HttpBody};
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout_at};

use crate::http::options::{HttpOptions, PROGRESS_BYTES};
use crate::http::refusal::Refusal;
use crate::http::unread::discard;
use crate::uploads::{Incoming, Place};

/// Receives a body. On an error the upload decides whether the received bytes are kept. The rest of the body is not awaited.
pub(super) async fn receive(
    mut body: Body,
    incoming: &mut Incoming,
    place: &Place,
    options: &HttpOptions,
) -> Result<(), Refusal> {
    if let Err(refusal) = incoming.check_more(body.size_hint().lower()) {
        // So that the client reads why.
        discard(body).await;
        return Err(refusal);
    }
    let patience = options.body_timeout;
    let (mut deadline, mut since) = (Instant::now() + patience, 0);
    loop {
        let frame = match timeout_at(deadline, body.frame()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(None) => return incoming.write().await,
            Ok(Some(Err(error))) => {
                incoming.write().await?;
                let text = format!("the body ended early: {error}");
                return Err(Refusal::listed(&BAD_JSON, text));
            }
            Err(_) => {
                incoming.write().await?;
                return Err(stalled(patience));
            }
        };
        let Ok(bytes) = frame.into_data() else {
            continue;
        };
        place.received(bytes.len());
        incoming.add(&bytes).await?;
        since += bytes.len() as u64;
        if since >= PROGRESS_BYTES {
            (deadline, since) = (Instant::now() + patience, 0);
        }
    }
}

fn stalled(patience: Duration) -> Refusal {
    let text = format!("fewer than {PROGRESS_BYTES} bytes came within {patience:?}");
    Refusal::listed(&BODY_TIMEOUT, text)
}
