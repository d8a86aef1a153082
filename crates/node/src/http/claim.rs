//! The shares that a request draws on, and bodies read within them.
//!
//! # Invariants
//! - Memory is reserved for bytes that have come, never for announced ones.
//! - Bodies of up to [`SMALL_BODY_BYTES`] take as many bytes as they need, as far as there is room. A longer body, and one that finds no
//!   room, waits for a place for a large body. The place covers any length.
//! - A body with such a place waits for its client alone, so bodies that hold memory never wait for each other.
//! - A body that waits takes up a part of its connection's window, within [`WaitingBytes`].

use std::sync::Arc;

use api::codes::{BAD_JSON, BODY_TIMEOUT, BODY_TOO_LARGE, INTERNAL, NOT_JSON};
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{FromRequest, Request};
use axum::http::header::{CONTENT_TYPE, EXPECT};
use bytes::BytesMut;
use futures_util::FutureExt;
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout_at};

use super::options::HttpOptions;
use super::refusal::{Refusal, no_place};
use super::share::{LargePlace, Reserved, Resource, Share, ShareLimits};
use super::unread::{discard, discard_unwanted};
use super::waiting::WaitingBytes;
use super::windows::WINDOWS_BYTES_MAX;

/// A body of more bytes needs a place for a large one.
pub(super) const SMALL_BODY_BYTES: usize = 64 << 10;

/// The shares that one request draws on.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    /// The share of the user, or of an anonymous client's address.
    client: Arc<Share>,
    /// The share of the connection, for bodies alone.
    connection: Arc<Share>,
    waiting: Arc<WaitingBytes>,
}

impl Claim {
    /// Shares of a client and a connection, without a bound of waiting bodies.
    pub(super) fn new(client: Arc<Share>, connection: Arc<Share>) -> Self {
        Self {
            client,
            connection,
            waiting: WaitingBytes::unbounded(),
        }
    }

    /// The same with the connection's bound of waiting bodies.
    pub(super) fn waiting_within(mut self, waiting: &Arc<WaitingBytes>) -> Self {
        self.waiting = Arc::clone(waiting);
        self
    }

    /// Takes one place of a resource in the client's share.
    pub(crate) fn take(&self, resource: Resource) -> Option<Reserved> {
        self.client.take(resource, 1)
    }

    /// Takes a place for the bytes of a large answer in the client's share.
    pub(super) fn take_answer(&self, bytes: usize) -> Option<Reserved> {
        self.client.take_clipped(Resource::AnswerBytes, bytes)
    }
}

/// The whole server's share, as its options say.
pub(super) fn whole_share(options: &HttpOptions) -> ShareLimits {
    let large = large_bodies(options);
    let of_large = large * options.body_bytes_max;
    ShareLimits::unbounded()
        .with(Resource::Requests, options.requests_max)
        .with(Resource::Streams, options.streams_max)
        .with(Resource::Followers, options.followers_max)
        .with(Resource::Queries, options.queries_max)
        .with(Resource::Connections, options.connections_max)
        .with(Resource::WindowBytes, WINDOWS_BYTES_MAX)
        .with(Resource::AnswerBytes, options.bodies_bytes_max)
        // Where the budget is below one body, that one body is all there is room for.
        .with(
            Resource::BodyBytes,
            options.bodies_bytes_max.saturating_sub(of_large),
        )
        .large_bodies(large)
}

/// Places for large bodies: half of the budget, and one at least.
fn large_bodies(options: &HttpOptions) -> usize {
    (options.bodies_bytes_max / 2 / options.body_bytes_max.max(1)).max(1)
}

/// The share of bodies of one connection: a quarter of the server's.
pub(super) fn connection_share(options: &HttpOptions) -> ShareLimits {
    ShareLimits::unbounded()
        .with(
            Resource::BodyBytes,
            (options.bodies_bytes_max / 4).max(SMALL_BODY_BYTES),
        )
        .large_bodies((large_bodies(options) / 4).max(1))
}

/// A request's body together with its claim.
pub(crate) struct ClaimedBody {
    body: Body,
    claim: Claim,
    /// The header `Content-Type`, if it names another media type than JSON.
    other_media: Option<String>,
    /// The client asks whether it should send the body.
    asks_first: bool,
}

impl ClaimedBody {
    /// The length that the client announced; 0 if it did not.
    pub(super) fn announced(&self) -> usize {
        // A clipped length is above every limit.
        usize::try_from(self.body.size_hint().lower()).unwrap_or(usize::MAX)
    }

    /// Reads the body and throws it away.
    pub(super) async fn discard(self) {
        discard(self.body).await;
    }
}

impl<S: Sync> FromRequest<S> for ClaimedBody {
    type Rejection = Refusal;

    async fn from_request(request: Request, _: &S) -> Result<Self, Refusal> {
        let claim = request.extensions().get::<Claim>().cloned();
        let missing = || Refusal::listed(&INTERNAL, "the request has no share of the memory");
        let media = request.headers().get(CONTENT_TYPE);
        let media = media.map(|media| String::from_utf8_lossy(media.as_bytes()).into_owned());
        Ok(Self {
            claim: claim.ok_or_else(missing)?,
            asks_first: request.headers().contains_key(EXPECT),
            body: request.into_body(),
            other_media: media.filter(|media| !is_json(media)),
        })
    }
}

/// The place of a body in memory, given back when dropped.
#[derive(Debug)]
pub(crate) struct BodyPlace {
    claim: Claim,
    /// Bytes that this covers.
    covered: usize,
    small: Option<(Reserved, Reserved)>,
    large: Option<(LargePlace, LargePlace)>,
}

impl BodyPlace {
    /// Creates a place that covers no bytes yet.
    pub(super) fn new(claim: Claim) -> Self {
        Self {
            claim,
            covered: 0,
            small: None,
            large: None,
        }
    }

    /// Extends the place to this number of bytes, without waiting. Returns `false` if that needs a place for a large body.
    fn cover(&mut self, bytes: usize) -> bool {
        // Clipped at 0: more may be covered already.
        let more = bytes.saturating_sub(self.covered);
        if self.large.is_some() || more == 0 {
            return true;
        }
        if bytes > SMALL_BODY_BYTES || !self.grow(more) {
            return false;
        }
        self.covered = bytes;
        true
    }

    fn grow(&mut self, more: usize) -> bool {
        if let Some((connection, client)) = &mut self.small {
            if !connection.grow(more) {
                return false;
            }
            if client.grow(more) {
                return true;
            }
            connection.shrink(more);
            return false;
        }
        let taken = self.claim.connection.take(Resource::BodyBytes, more);
        let taken = taken.zip(self.claim.client.take(Resource::BodyBytes, more));
        self.small = taken;
        self.small.is_some()
    }

    /// Extends the place to this number of bytes. Waits if that needs a place for a large body. Returns `false` if
    /// the place is taken, and the waiting bodies of the connection have no room for the `rest` bytes that may still arrive.
    pub(super) async fn covered(&mut self, bytes: usize, rest: usize) -> bool {
        if self.cover(bytes) {
            return true;
        }
        let claim = self.claim.clone();
        let places = async || {
            let connection = claim.connection.large_place().await;
            (connection, claim.client.large_place().await)
        };
        self.large = places().now_or_never();
        if self.large.is_none() {
            let Some(_waiting) = claim.waiting.take(rest) else {
                return false;
            };
            self.large = Some(places().await);
        }
        // The large place covers everything.
        self.small = None;
        true
    }

    /// Exchanges a large place for the exact length of a body that is complete, if there is room.
    fn settle(&mut self, bytes: usize) {
        if self.large.is_some() && self.grow(bytes) {
            self.covered = bytes;
            self.large = None;
        }
    }
}

/// Returns whether a media type is JSON.
fn is_json(media: &str) -> bool {
    let essence = media.split(';').next().unwrap_or_default().trim();
    let essence = essence.to_ascii_lowercase();
    essence == "application/json" || essence.ends_with("+json")
}

/// Reads a whole body of up to `body_bytes_max` bytes that is to be JSON, and gives it with its place in memory.
pub(crate) async fn whole(
    body: ClaimedBody,
    options: &HttpOptions,
) -> Result<(Bytes, BodyPlace), Refusal> {
    let deadline = Instant::now() + options.body_timeout;
    whole_within(body, options.body_bytes_max, deadline).await
}

/// The same for a body of any media type.
pub(crate) async fn whole_of_any_kind(
    body: ClaimedBody,
    options: &HttpOptions,
) -> Result<(Bytes, BodyPlace), Refusal> {
    let body = ClaimedBody {
        other_media: None,
        ..body
    };
    whole(body, options).await
}

/// Reads a whole body of up to `most` bytes that is to be JSON until a deadline. A body without a media type is taken for JSON.
pub(super) async fn whole_within(
    body: ClaimedBody,
    most: usize,
    deadline: Instant,
) -> Result<(Bytes, BodyPlace), Refusal> {
    let announced = body.announced();
    let ClaimedBody {
        mut body,
        claim,
        other_media,
        asks_first,
    } = body;
    // Without a place the client may find a broken connection. One that asks first sends nothing after a refusal.
    let unwanted = |body: Body, claim: &Claim| {
        let place = claim.take(Resource::Requests).filter(|_| !asks_first);
        if let Some(place) = place {
            discard_unwanted(body, place);
        }
    };
    if let Some(media) = other_media {
        unwanted(body, &claim);
        let text = format!("the body is said to be '{media:.128}'");
        return Err(Refusal::listed(&NOT_JSON, text));
    }
    let too_large = |body: Body, claim: &Claim| {
        unwanted(body, claim);
        Refusal::listed(
            &BODY_TOO_LARGE,
            format!("a body may have {most} bytes (api.body_bytes_max)"),
        )
    };
    if announced > most {
        return Err(too_large(body, &claim));
    }
    let mut place = BodyPlace::new(claim);
    let (mut first, mut rest) = (Bytes::new(), BytesMut::new());
    loop {
        let frame = match timeout_at(deadline, body.frame()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(None) => break,
            Ok(Some(Err(error))) => {
                let text = format!("the body ended early: {error}");
                return Err(Refusal::listed(&BAD_JSON, text));
            }
            Err(_) => {
                let text = "the body did not arrive in time";
                return Err(Refusal::listed(&BODY_TIMEOUT, text));
            }
        };
        let Ok(bytes) = frame.into_data() else {
            continue;
        };
        let received = first.len() + rest.len() + bytes.len();
        if received > most {
            return Err(too_large(body, &place.claim));
        }
        // A clipped remainder is more than may wait.
        let to_come = body.size_hint().upper().map_or(most - received, |left| {
            usize::try_from(left).unwrap_or(usize::MAX)
        });
        let is_covered = timeout_at(deadline, place.covered(received, to_come)).await;
        // A place that did not come in time did not come.
        if !is_covered.unwrap_or(false) {
            return Err(no_place("bodies"));
        }
        if first.is_empty() {
            first = bytes;
        } else {
            rest.extend_from_slice(&bytes);
        }
    }
    place.settle(first.len() + rest.len());
    if rest.is_empty() {
        return Ok((first, place));
    }
    let mut joined = BytesMut::with_capacity(first.len() + rest.len());
    joined.extend_from_slice(&first);
    joined.extend_from_slice(&rest);
    Ok((joined.freeze(), place))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(limits: ShareLimits) -> (Claim, Arc<Share>) {
        let whole = Share::new(limits);
        let client = Share::within(&whole, ShareLimits::unbounded());
        let connection = Share::new(ShareLimits::unbounded());
        (Claim::new(client, connection), whole)
    }

    #[test]
    fn covers_small_bodies_at_once_and_asks_for_large_places() {
        let limits = ShareLimits::unbounded().with(Resource::BodyBytes, 100_000);
        let (claim, whole) = claim(limits);
        let (mut one, mut two) = (BodyPlace::new(claim.clone()), BodyPlace::new(claim));
        // The body, the bytes it has then, whether they are covered at once, and the bytes in use then.
        for (is_first, bytes, at_once, used) in [
            (true, 0, true, 0),
            (true, 10, true, 10),
            (true, 10, true, 10),
            (true, 60_000, true, 60_000),
            (false, 40_001, false, 60_000),
            (false, 40_000, true, 100_000),
            (false, 40_001, false, 100_000),
            (true, SMALL_BODY_BYTES + 1, false, 100_000),
        ] {
            let place = if is_first { &mut one } else { &mut two };
            assert_eq!(place.cover(bytes), at_once, "{bytes}");
            assert_eq!(whole.used(Resource::BodyBytes), used, "{bytes}");
            let connection = &place.claim.connection;
            assert_eq!(connection.used(Resource::BodyBytes), used, "{bytes}");
        }
        drop((one, two));
        assert_eq!(whole.used(Resource::BodyBytes), 0);
    }

    #[tokio::test]
    async fn a_large_place_covers_the_rest_and_frees_the_small_one() {
        let limits = ShareLimits::unbounded().with(Resource::BodyBytes, 50);
        let (claim, whole) = claim(limits.large_bodies(1));
        let mut place = BodyPlace::new(claim);
        assert!(place.covered(50, 0).await);
        assert_eq!(whole.used(Resource::BodyBytes), 50);
        assert!(place.covered(51, 0).await);
        assert_eq!(whole.used(Resource::BodyBytes), 0);
        assert!(place.cover(1 << 20));
        // Complete with more bytes than there is room for, then with fewer.
        for (bytes, used, is_large) in [(51, 0, true), (49, 49, false)] {
            place.settle(bytes);
            assert_eq!(whole.used(Resource::BodyBytes), used);
            assert_eq!(place.large.is_some(), is_large);
        }
    }
}
