//! One HTTP/2 connection over TLS, opened when needed, and again after it was lost.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::body::RequestBody;
use crate::endpoint::{Endpoint, Limits};
use crate::error::{ClientError, root_cause};
use crate::traffic;

const STREAM_WINDOW_BYTES: u32 = 4 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;
const FRAME_BYTES: u32 = 64 << 10;
const PING_EVERY: Duration = Duration::from_secs(10);
const PING_PATIENCE: Duration = Duration::from_secs(20);
/// The same times while a node has several addresses. A process that was stopped is left before the other one has taken over, which takes
/// `database.lease_s`, 3 seconds by default.
const PING_EVERY_OF_SEVERAL: Duration = Duration::from_secs(1);
const PING_PATIENCE_OF_SEVERAL: Duration = Duration::from_millis(1_500);
/// Time after which the next address is tried as well, while the one before has not answered.
const NEXT_ADDRESS_AFTER: Duration = Duration::from_millis(250);
/// Number of new connections that a request is tried on, if its connection was lost before it was sent.
const RECONNECTS_MAX: usize = 2;

/// One HTTP connection to the node.
pub(crate) struct Connection {
    /// As the caller gave them.
    address: String,
    addresses: Vec<String>,
    name: ServerName<'static>,
    tls: Arc<ClientConfig>,
    authorization: HeaderValue,
    pub(crate) limits: Limits,
    current: Mutex<Option<SendRequest<RequestBody>>>,
    /// Held while connecting, so that many callers open one connection.
    connecting: tokio::sync::Mutex<()>,
}

impl Connection {
    pub(crate) fn new(endpoint: &Endpoint, limits: Limits) -> Result<Self, ClientError> {
        Ok(Self {
            address: endpoint.address.clone(),
            addresses: endpoint.addresses(),
            name: endpoint.name()?,
            tls: endpoint.tls()?,
            authorization: endpoint.authorization()?,
            limits,
            current: Mutex::new(None),
            connecting: tokio::sync::Mutex::new(()),
        })
    }

    /// Sends a request and returns the head of its answer.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: RequestBody,
    ) -> Result<Response<Incoming>, ClientError> {
        self.send_with(method, path, None, body).await
    }

    /// Sends a request with one more header. Sets the media type of the body unless it is JSON.
    pub(crate) fn send_with<'a>(
        &'a self,
        method: Method,
        path: &'a str,
        header: Option<(HeaderName, HeaderValue)>,
        body: RequestBody,
    ) -> BoxFuture<'a, Result<Response<Incoming>, ClientError>> {
        // Compiled here, and not in each crate that awaits it.
        Box::pin(self.send_repeatedly(method, path, header, body))
    }

    async fn send_repeatedly(
        &self,
        method: Method,
        path: &str,
        header: Option<(HeaderName, HeaderValue)>,
        body: RequestBody,
    ) -> Result<Response<Incoming>, ClientError> {
        let media = HeaderValue::from_static(body.media());
        let mut request = Request::builder()
            .method(method)
            .uri(format!("https://{}{path}", self.addresses[0]))
            .header(AUTHORIZATION, self.authorization.clone())
            .header(CONTENT_TYPE, media)
            .body(body)
            .map_err(|error| {
                ClientError::BadEndpoint(format!("{}{path}: {error}", self.address))
            })?;
        if let Some((name, value)) = header {
            request.headers_mut().insert(name, value);
        }
        let mut attempts = 0;
        loop {
            let mut sender = self.sender().await?;
            match sender.try_send_request(request).await {
                Ok(response) => return Ok(response),
                Err(mut error) => match error.take_message() {
                    Some(unsent) if attempts < RECONNECTS_MAX => {
                        attempts += 1;
                        self.forget();
                        request = unsent;
                    }
                    _ => return Err(self.lost(error.error())),
                },
            }
        }
    }

    /// Returns the error of a connection that broke after a request was sent.
    pub(crate) fn lost(&self, error: &hyper::Error) -> ClientError {
        ClientError::ConnectionLost {
            address: self.address.clone(),
            reason: root_cause(error),
        }
    }

    /// Returns the error of a connection that broke for the given reason, after a request was sent.
    pub(crate) fn lost_because(&self, reason: &str) -> ClientError {
        ClientError::ConnectionLost {
            address: self.address.clone(),
            reason: reason.to_owned(),
        }
    }

    fn live(&self) -> Option<SendRequest<RequestBody>> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current
            .as_ref()
            .filter(|sender| !sender.is_closed())
            .cloned()
    }

    fn forget(&self) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    async fn sender(&self) -> Result<SendRequest<RequestBody>, ClientError> {
        if let Some(sender) = self.live() {
            return Ok(sender);
        }
        let _only_one = self.connecting.lock().await;
        if let Some(sender) = self.live() {
            return Ok(sender);
        }
        let limit = self.limits.connect_timeout;
        let sender = tokio::time::timeout(limit, self.connect())
            .await
            .map_err(|_| self.not_connected(format!("no answer within {limit:?}")))??;
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender.clone());
        Ok(sender)
    }

    /// Connects to the first address that answers. If all fail, returns the first failure. While one is silent, those that have failed are tried
    /// again: the other process of the node may be about to take over.
    async fn connect(&self) -> Result<SendRequest<RequestBody>, ClientError> {
        let mut idle: VecDeque<usize> = (0..self.addresses.len()).collect();
        let attempt = async |place: usize| (place, self.connect_to(&self.addresses[place]).await);
        let (mut attempts, mut begun) = (FuturesUnordered::new(), 0);
        let mut first: Option<ClientError> = None;
        let mut next = tokio::time::interval(NEXT_ADDRESS_AFTER);
        loop {
            let is_next = tokio::select! {
                _ = next.tick() => true,
                Some((place, answer)) = attempts.next(), if !attempts.is_empty() => {
                    let error = match answer {
                        Ok(sender) => return Ok(sender),
                        Err(error) => first.get_or_insert(error).clone(),
                    };
                    idle.push_back(place);
                    let all_begun = begun >= self.addresses.len();
                    if all_begun && attempts.is_empty() {
                        return Err(error);
                    }
                    !all_begun
                }
            };
            if is_next && let Some(place) = idle.pop_front() {
                attempts.push(attempt(place));
                begun += 1;
            }
        }
    }

    async fn connect_to(&self, address: &str) -> Result<SendRequest<RequestBody>, ClientError> {
        let tcp = TcpStream::connect(address)
            .await
            .map_err(|error| self.not_connected(error.to_string()))?;
        tcp.set_nodelay(true)
            .map_err(|error| self.not_connected(error.to_string()))?;
        let tcp = traffic::counted(tcp);
        let tls = TlsConnector::from(Arc::clone(&self.tls))
            .connect(self.name.clone(), tcp)
            .await
            .map_err(|error| self.tls_failed(&error))?;
        let (ping_every, ping_patience) = match self.addresses.len() {
            1 => (PING_EVERY, PING_PATIENCE),
            _ => (PING_EVERY_OF_SEVERAL, PING_PATIENCE_OF_SEVERAL),
        };
        let (sender, connection) = Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .max_frame_size(FRAME_BYTES)
            .keep_alive_interval(ping_every)
            .keep_alive_timeout(ping_patience)
            .handshake(TokioIo::new(tls))
            .await
            .map_err(|error| self.not_connected(root_cause(&error)))?;
        tokio::spawn(async move {
            // Callers that wait for an answer on this connection learn of its end when this task
            // ends.
            let _ = connection.await;
        });
        Ok(sender)
    }

    fn not_connected(&self, reason: String) -> ClientError {
        ClientError::NotConnected {
            address: self.address.clone(),
            reason,
        }
    }

    fn tls_failed(&self, error: &std::io::Error) -> ClientError {
        let inner = error
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<rustls::Error>());
        match inner {
            Some(rustls::Error::InvalidCertificate(reason)) => ClientError::NotTrusted {
                address: self.address.clone(),
                reason: reason.to_string(),
            },
            _ => self.not_connected(error.to_string()),
        }
    }
}
