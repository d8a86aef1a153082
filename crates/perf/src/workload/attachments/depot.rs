//! A node's attachments over its HTTP API, one connection per transfer. Uploads are generated while they are sent, and
//! downloads are hashed while they arrive. Files are never whole in memory.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use client::Endpoint;
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, RETRY_AFTER};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use primitives::{Hash, Hasher};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde::Deserialize;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::mock::MockFile;
use crate::workload::codes::{NO_CONNECTION, WRONG_FILE};
use crate::workload::ended::Failed;

/// The size of the parts of a request's body.
const BLOCK_BYTES: usize = 64 * 1024;
/// The longest answer that is buffered: a description, or a refusal.
const ANSWER_BYTES_MAX: usize = 64 * 1024;
/// Time limit for a connection with TLS.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// Time limit for an answer's head after the request was sent, and for each part of the answer.
const ANSWER_PATIENCE: Duration = Duration::from_secs(120);
/// Upper limit on tries of an upload that a busy node refuses.
const TRIES_MAX: u32 = 100;
/// Default and maximum pause between two of them.
const RETRY_AFTER_DEFAULT: Duration = Duration::from_millis(200);
const RETRY_AFTER_MAX: Duration = Duration::from_secs(10);
/// Attachments of a node.
const PATH: &str = "/v1/attachments";

/// Client of a node's attachments.
pub(super) struct Depot {
    endpoint: Endpoint,
    name: ServerName<'static>,
    tls: Arc<ClientConfig>,
}

/// A node's description of a stored file.
#[derive(Debug, Deserialize)]
struct Described {
    hash: String,
    size: u64,
}

/// A refusal, as the API writes it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Refusal {
    code: String,
    message: String,
    detail: String,
}

/// The answer to a call, or the delay that a busy node asks for.
enum Called {
    Answer(Response<Incoming>),
    Busy(Duration, Failed),
}

impl Depot {
    /// Creates a client of a node. It connects when it is used.
    pub(super) fn new(endpoint: &Endpoint) -> Result<Self, Failed> {
        let bad = |what: String| Failed::new(NO_CONNECTION, what);
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(endpoint.root_pem.as_bytes()) {
            let certificate = certificate.map_err(|error| bad(error.to_string()))?;
            roots
                .add(certificate)
                .map_err(|error| bad(error.to_string()))?;
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut tls = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| bad(error.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        let name = ServerName::try_from(endpoint.server_name.clone());
        Ok(Self {
            endpoint: endpoint.clone(),
            name: name.map_err(|error| bad(error.to_string()))?,
            tls: Arc::new(tls),
        })
    }

    /// Uploads a file. The node must return the file's hash. With `patient`, an upload that a busy node refuses is
    /// repeated. Returns the number of repeats.
    pub(super) async fn upload(
        &self,
        file: MockFile,
        hash: Hash,
        patient: bool,
    ) -> Result<u32, Failed> {
        let path = format!("{PATH}?name={}&sha256={hash}", file.name());
        let mut tries = 0;
        loop {
            let called = self.call(Method::POST, &path, MockBody::new(file)).await?;
            match called {
                Called::Busy(after, failed) => {
                    tries += 1;
                    if !patient || tries >= TRIES_MAX {
                        return Err(failed);
                    }
                    tokio::time::sleep(after).await;
                }
                Called::Answer(answer) => {
                    let described: Described = json(answer).await?;
                    is_as_expected(&described, hash, file.size())?;
                    return Ok(tries);
                }
            }
        }
    }

    /// Checks that the node reports a complete file.
    pub(super) async fn has(&self, hash: Hash, size: u64) -> Result<(), Failed> {
        let path = format!("{PATH}/{hash}");
        match self.call(Method::GET, &path, MockBody::none()).await? {
            Called::Busy(_, failed) => Err(failed),
            Called::Answer(answer) => is_as_expected(&json(answer).await?, hash, size),
        }
    }

    /// Reads a file back and checks its hash.
    pub(super) async fn reads_back(&self, hash: Hash, size: u64) -> Result<(), Failed> {
        let path = format!("{PATH}/{hash}/content");
        let answer = match self.call(Method::GET, &path, MockBody::none()).await? {
            Called::Busy(_, failed) => return Err(failed),
            Called::Answer(answer) => answer,
        };
        let mut body = answer.into_body();
        let mut hasher = Hasher::new();
        let mut bytes = 0u64;
        while let Some(frame) = patient(body.frame()).await? {
            let frame = frame.map_err(lost)?;
            if let Some(data) = frame.data_ref() {
                hasher.update(data);
                bytes += data.len() as u64;
                if bytes > size {
                    break;
                }
            }
        }
        let found = hasher.finish();
        if bytes != size || found != hash {
            let message = format!("{hash} of {size} bytes came as {bytes} bytes of {found}");
            return Err(Failed::new(WRONG_FILE, message));
        }
        Ok(())
    }

    async fn call(&self, method: Method, path: &str, body: MockBody) -> Result<Called, Failed> {
        let mut sender = patient_for(CONNECT_PATIENCE, self.connect()).await??;
        let length = body.left();
        let mut request = Request::builder()
            .method(&method)
            .uri(path)
            .header(HOST, &self.endpoint.address)
            .header(
                AUTHORIZATION,
                format!("Bearer {}", self.endpoint.token.expose()),
            );
        if method == Method::POST {
            request = request
                .header(CONTENT_TYPE, "application/octet-stream")
                .header(CONTENT_LENGTH, length);
        }
        let request = request.body(body).map_err(unreadable)?;
        // A large body takes time to send, so the time limit applies only to requests without one.
        let answer = sender.send_request(request);
        let answer = match length {
            0 => patient(answer).await?,
            _ => answer.await,
        };
        let answer = answer.map_err(lost)?;
        if answer.status().is_success() {
            return Ok(Called::Answer(answer));
        }
        refused(answer).await
    }

    async fn connect(&self) -> Result<SendRequest<MockBody>, Failed> {
        let failed = |error: std::io::Error| {
            let message = format!("{}: {error}", self.endpoint.address);
            Failed::new(NO_CONNECTION, message)
        };
        let tcp = TcpStream::connect(&self.endpoint.address).await;
        let tcp = tcp.map_err(failed)?;
        tcp.set_nodelay(true).map_err(failed)?;
        let tls = TlsConnector::from(Arc::clone(&self.tls));
        let tls = tls.connect(self.name.clone(), tcp).await.map_err(failed)?;
        let (sender, connection) = handshake(TokioIo::new(tls)).await.map_err(lost)?;
        // It ends with its sender. A failure also shows at the sender.
        tokio::spawn(connection);
        Ok(sender)
    }
}

fn is_as_expected(found: &Described, hash: Hash, size: u64) -> Result<(), Failed> {
    if found.hash == hash.to_string() && found.size == size {
        return Ok(());
    }
    let message = format!(
        "{hash} of {size} bytes is there as {} of {} bytes",
        found.hash, found.size
    );
    Err(Failed::new(WRONG_FILE, message))
}

async fn refused(answer: Response<Incoming>) -> Result<Called, Failed> {
    let status = answer.status();
    let after = answer.headers().get(RETRY_AFTER);
    let after = after.and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let refusal: Refusal = match whole(answer).await {
        // An answer of another form, such as a proxy's page, has its status only.
        Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_default(),
        Err(_) => Refusal::default(),
    };
    let words = match (refusal.message.is_empty(), refusal.detail.is_empty()) {
        (false, _) => refusal.message,
        (true, false) => refusal.detail,
        (true, true) => format!("the node answered {status}"),
    };
    let code = match refusal.code.as_str() {
        "" => format!("http.{}", status.as_u16()),
        code => code.to_owned(),
    };
    let failed = Failed::new(code, words);
    match status {
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            let after = after.map_or(RETRY_AFTER_DEFAULT, Duration::from_secs);
            Ok(Called::Busy(after.min(RETRY_AFTER_MAX), failed))
        }
        _ => Err(failed),
    }
}

async fn json<T: for<'de> Deserialize<'de>>(answer: Response<Incoming>) -> Result<T, Failed> {
    let bytes = whole(answer).await?;
    serde_json::from_slice(&bytes).map_err(unreadable)
}

async fn whole(answer: Response<Incoming>) -> Result<Bytes, Failed> {
    let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX);
    let collected = patient(body.collect()).await?;
    let collected = collected.map_err(|error| Failed::new(NO_CONNECTION, error.to_string()))?;
    Ok(collected.to_bytes())
}

async fn patient<T>(what: impl Future<Output = T>) -> Result<T, Failed> {
    patient_for(ANSWER_PATIENCE, what).await
}

async fn patient_for<T>(limit: Duration, what: impl Future<Output = T>) -> Result<T, Failed> {
    let ended = tokio::time::timeout(limit, what).await;
    ended.map_err(|_| Failed::new(NO_CONNECTION, format!("no answer within {limit:?}")))
}

fn lost(error: hyper::Error) -> Failed {
    Failed::new(NO_CONNECTION, error.to_string())
}

fn unreadable(error: impl std::fmt::Display) -> Failed {
    Failed::new(WRONG_FILE, error.to_string())
}

/// A mock file as a request's body, made block by block as the connection accepts it.
struct MockBody {
    file: Option<MockFile>,
    offset: u64,
}

impl MockBody {
    fn new(file: MockFile) -> Self {
        Self {
            file: Some(file),
            offset: 0,
        }
    }

    fn none() -> Self {
        Self {
            file: None,
            offset: 0,
        }
    }

    fn left(&self) -> u64 {
        self.file.map_or(0, |file| file.size() - self.offset)
    }
}

impl Body for MockBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let own = self.get_mut();
        let Some(file) = own.file else {
            return Poll::Ready(None);
        };
        let most = usize::try_from(own.left()).map_or(BLOCK_BYTES, |left| left.min(BLOCK_BYTES));
        if most == 0 {
            return Poll::Ready(None);
        }
        let mut block = BytesMut::zeroed(most);
        let count = file.fill(own.offset, &mut block);
        own.offset += count as u64;
        Poll::Ready(Some(Ok(Frame::data(block.freeze()))))
    }

    fn is_end_stream(&self) -> bool {
        self.left() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left())
    }
}
