//! One HTTP/2 connection over TLS, opened when needed, and again after it was lost.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

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
/// Number of new connections that a request is tried on, if its connection was lost before it was sent.
const RECONNECTS_MAX: usize = 2;

/// One HTTP connection to the node.
pub(crate) struct Connection {
    address: String,
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
    pub(crate) async fn send_with(
        &self,
        method: Method,
        path: &str,
        header: Option<(HeaderName, HeaderValue)>,
        body: RequestBody,
    ) -> Result<Response<Incoming>, ClientError> {
        let media = HeaderValue::from_static(body.media());
        let mut request = Request::builder()
            .method(method)
            .uri(format!("https://{}{path}", self.address))
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

    async fn connect(&self) -> Result<SendRequest<RequestBody>, ClientError> {
        let tcp = TcpStream::connect(&self.address)
            .await
            .map_err(|error| self.not_connected(error.to_string()))?;
        tcp.set_nodelay(true)
            .map_err(|error| self.not_connected(error.to_string()))?;
        let tcp = traffic::counted(tcp);
        let tls = TlsConnector::from(Arc::clone(&self.tls))
            .connect(self.name.clone(), tcp)
            .await
            .map_err(|error| self.tls_failed(&error))?;
        let (sender, connection) = Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .max_frame_size(FRAME_BYTES)
            .keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PING_PATIENCE)
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
