//! Settings of the API's server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::share::{Resource, ShareLimits};
use super::tokens::Tokens;
use crate::users::{AuditLog, StartQuota, Users};

/// Bytes of a file that have to move, up or down, in the time that an ordinary body may take. A client that moves fewer is
/// stalled.
pub(super) const PROGRESS_BYTES: u64 = 64 << 10;

/// Requests of anonymous clients at once, where only users may work: they log in and read the documentation.
const ANONYMOUS_REQUESTS_MAX: usize = 256;
/// The same of one address other than the machine's own.
const ANONYMOUS_REQUESTS_PER_ADDRESS_MAX: usize = 64;
/// Bytes of their bodies at once.
const ANONYMOUS_BYTES_MAX: usize = 1 << 20;
/// The same of one address other than the machine's own.
const ANONYMOUS_BYTES_PER_ADDRESS_MAX: usize = 64 << 10;
/// Bytes of large answers at once, as a multiple of those of bodies.
const ANONYMOUS_ANSWER_FACTOR: usize = 16;

/// Bounds of clients that have shown no good token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnonymousLimits {
    /// Their connections at once. When there are as many, the one that has been idle longest ends for a new one.
    pub connections_max: usize,
    /// The same of one address, or of a network of 64 bits of IPv6. The machine's own addresses have no such bound.
    pub connections_per_address_max: usize,
    /// Whether the server works for them. Then all of them have three quarters of everything, and an address three quarters of that.
    /// Otherwise they have a small budget for logging in.
    pub may_work: bool,
}

impl Default for AnonymousLimits {
    fn default() -> Self {
        Self {
            connections_max: 1_024,
            connections_per_address_max: 128,
            may_work: false,
        }
    }
}

impl AnonymousLimits {
    /// The share of all of them together.
    pub(super) fn of_all(&self, whole: ShareLimits) -> ShareLimits {
        if self.may_work {
            return whole.three_quarters();
        }
        Self::for_login(ANONYMOUS_REQUESTS_MAX, ANONYMOUS_BYTES_MAX)
    }

    /// The share of one address.
    pub(super) fn of_address(&self, whole: ShareLimits) -> ShareLimits {
        if self.may_work {
            return whole.three_quarters().three_quarters();
        }
        Self::for_login(
            ANONYMOUS_REQUESTS_PER_ADDRESS_MAX,
            ANONYMOUS_BYTES_PER_ADDRESS_MAX,
        )
    }

    fn for_login(requests: usize, bytes: usize) -> ShareLimits {
        ShareLimits::unbounded()
            .with(Resource::Requests, requests)
            .with(Resource::Streams, 0)
            .with(Resource::Followers, 0)
            .with(Resource::Queries, 0)
            .with(Resource::BodyBytes, bytes)
            // They get the API's description, which is larger than any body of theirs.
            .with(
                Resource::AnswerBytes,
                bytes.saturating_mul(ANONYMOUS_ANSWER_FACTOR),
            )
            .large_bodies(0)
    }
}

/// Settings of the API's server. Each bound holds for any behaviour of clients.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// The listening address; port 0 for any free one.
    pub listen: SocketAddr,
    /// The server's certificate and key: see [`super::server_config`].
    pub tls: Arc<rustls::ServerConfig>,
    /// The tokens of the configuration.
    pub tokens: Tokens,
    /// Further users, with passwords and permissions.
    pub users: Option<Arc<Users>>,
    /// The audit log.
    pub audit: Option<Arc<AuditLog>>,
    /// Connections at once. When there are as many, an anonymous one ends for a new one; if users have all, the new one is closed.
    pub connections_max: usize,
    /// Bounds of clients that have shown no good token.
    pub anonymous: AnonymousLimits,
    /// For TLS to be agreed, for a request's head to arrive, and for a first request with a good token.
    pub head_timeout: Duration,
    /// Maximum time in which a client has to read written bytes. Its connection is closed after that.
    pub write_patience: Duration,
    /// For a single request's body to arrive; of a file, up or down, for each 64 KiB.
    pub body_timeout: Duration,
    /// Largest body of a single request, and longest line of a stream, in bytes.
    pub body_bytes_max: usize,
    /// Requests in flight at once, over all connections; further ones are refused as busy. `/health` is always answered.
    pub requests_max: usize,
    /// Streams at once, over all connections; further ones are refused as busy.
    pub streams_max: usize,
    /// Followers of events at once, over all connections; further ones are refused as busy.
    pub followers_max: usize,
    /// Bytes of the vault's events in a second, for all followers together; beyond, they fall behind and catch up later.
    pub followers_bytes_per_s: u64,
    /// Queries of the vault at once, over all connections; further ones are refused as busy.
    pub queries_max: usize,
    /// Bytes of bodies in memory at once; further bodies wait their turn. As many bytes of large answers may wait to be sent; a further
    /// large answer of a read is refused as busy.
    pub bodies_bytes_max: usize,
    /// Maximum number of concurrent requests on one HTTP/2 connection.
    pub requests_per_connection_max: u32,
    /// Bounds of starts for users without bounds of their own.
    pub start_quota: StartQuota,
    /// Maximum number of outstanding starts on one stream. At this number the node pauses reading the stream.
    pub stream_outstanding_max: usize,
    /// Time that a request waits for a flow or the vault's view if it names no wait.
    pub wait_default: Duration,
    /// Maximum wait of a request.
    pub wait_max: Duration,
    /// Entries on one page at most, and when the request does not say.
    pub page_max: usize,
    /// For requests in flight to end when the server stops.
    pub stop_patience: Duration,
}

impl HttpOptions {
    /// Returns the number of entries of a page. Without a wish, a page is as long as it may be.
    pub(crate) fn page(&self, wish: Option<usize>) -> usize {
        let most = self.page_max.max(1);
        wish.unwrap_or(most).clamp(1, most)
    }

    /// The usual settings.
    pub fn new(listen: SocketAddr, tls: Arc<rustls::ServerConfig>, tokens: Tokens) -> Self {
        Self {
            listen,
            tls,
            tokens,
            users: None,
            audit: None,
            connections_max: 2_048,
            anonymous: AnonymousLimits::default(),
            head_timeout: Duration::from_secs(10),
            write_patience: Duration::from_secs(60),
            body_timeout: Duration::from_secs(30),
            body_bytes_max: 1 << 20,
            requests_max: 4_096,
            streams_max: 256,
            followers_max: 1_024,
            followers_bytes_per_s: 16 << 20,
            queries_max: 8,
            bodies_bytes_max: 32 << 20,
            requests_per_connection_max: 1_024,
            start_quota: StartQuota::default(),
            stream_outstanding_max: 4_096,
            wait_default: Duration::from_secs(30),
            wait_max: Duration::from_secs(300),
            page_max: 10_000,
            stop_patience: Duration::from_secs(5),
        }
    }
}
