//! A running server, clients of it, and requests written by hand.

use std::sync::Arc;

use client::{Client, Endpoint, Limits};
use node::http::{
    ApiToken, HttpHandle, HttpOptions, HttpServer, ListenError, Tokens, server_config,
};
use node::metrics::NodeMetrics;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::http_api::described;
use crate::http_api::fake::Fake;

/// Returns a path with this segment for each of its `{name}`s.
pub fn filled(path: &str, segment: &str) -> String {
    let fill = |part| match str::starts_with(part, '{') {
        true => segment,
        false => part,
    };
    path.split('/').map(fill).collect::<Vec<_>>().join("/")
}

pub const NAME: &str = "p00.party.tally";
pub const TOKEN: &str = "a secret of Ann";

pub struct Fixture {
    pub fake: Arc<Fake>,
    pub metrics: Arc<NodeMetrics>,
    pub server: HttpHandle,
    pub root_pem: String,
    options: HttpOptions,
}

/// Writes that reach the socket. A TLS stream keeps bytes that the socket did not take at once, also where only tokio's
/// cooperative budget was exhausted, and sends them at the next write or flush. A client that only reads from then on
/// would wait for the answer to a request that was never sent.
pub trait SendAll: AsyncWrite + Unpin {
    async fn send_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.write_all(bytes).await?;
        self.flush().await
    }
}

impl<T: AsyncWrite + Unpin> SendAll for T {}

/// An answer to a request written by hand.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Reply {
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Fixture {
    pub async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub async fn with(adjust: impl FnOnce(&mut HttpOptions)) -> Self {
        let (root_pem, tls) = certificates();
        let tokens = Tokens::new(vec![
            ApiToken::new("ann", TOKEN),
            ApiToken::new("bob", "bob's"),
        ]);
        let listen = "127.0.0.1:0".parse().expect("an address");
        let mut options = HttpOptions::new(listen, tls, tokens);
        adjust(&mut options);
        Self::start(options, root_pem).await
    }

    async fn start(options: HttpOptions, root_pem: String) -> Self {
        let (fake, metrics) = (Fake::new(), Arc::new(NodeMetrics::new()));
        let server = HttpServer::start(options.clone(), fake.services(), Arc::clone(&metrics))
            .await
            .expect("a free port");
        Self {
            fake,
            metrics,
            server,
            root_pem,
            options,
        }
    }

    /// Stops the server and starts another one in its place.
    pub async fn restart(self) -> Self {
        let mut options = self.options;
        options.listen = self.server.address();
        self.server.stop().await;
        Self::start(options, self.root_pem).await
    }

    /// Tries to start another server where this one listens.
    pub async fn listen_again(&self) -> Result<HttpHandle, ListenError> {
        let mut options = self.options.clone();
        options.listen = self.server.address();
        HttpServer::start(options, Fake::new().services(), Arc::default()).await
    }

    pub fn endpoint(&self) -> Endpoint {
        Endpoint {
            address: self.server.address().to_string(),
            server_name: NAME.into(),
            root_pem: self.root_pem.clone(),
            token: TOKEN.into(),
        }
    }

    pub fn client(&self) -> Client {
        self.client_with(|_| {})
    }

    /// A client with another token.
    pub fn client_of(&self, token: &str) -> Client {
        let endpoint = Endpoint {
            token: token.into(),
            ..self.endpoint()
        };
        Client::with_limits(endpoint, Limits::default()).expect("a good endpoint")
    }

    pub fn client_with(&self, adjust: impl FnOnce(&mut Limits)) -> Client {
        let mut limits = Limits::default();
        adjust(&mut limits);
        Client::with_limits(self.endpoint(), limits).expect("a good endpoint")
    }

    /// A connection for bytes written by hand.
    pub async fn connect(&self) -> TlsStream<TcpStream> {
        self.connect_with(&[]).await
    }

    /// A connection that offers these protocols (ALPN).
    pub async fn connect_with(&self, protocols: &[&[u8]]) -> TlsStream<TcpStream> {
        let mut roots = rustls::RootCertStore::empty();
        let root = CertificateDer::from_pem_slice(self.root_pem.as_bytes()).expect("PEM");
        roots.add(root).expect("a root");
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .expect("TLS 1.3")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        let tcp = TcpStream::connect(self.server.address())
            .await
            .expect("it listens");
        let name = ServerName::try_from(NAME).expect("a name");
        TlsConnector::from(Arc::new(config))
            .connect(name, tcp)
            .await
            .expect("TLS")
    }

    /// Sends a request over HTTP/1.1 and reads until the server closes.
    pub async fn request(&self, method: &str, path: &str, headers: &str, body: &str) -> Reply {
        let length = if body.is_empty() {
            String::new()
        } else {
            format!("content-length: {}\r\n", body.len())
        };
        let headers = format!("{headers}{length}");
        self.request_as_is(method, path, &headers, body).await
    }

    /// The same with a body whose length the headers give. Every problem must be described.
    pub async fn request_as_is(
        &self,
        method: &str,
        path: &str,
        headers: &str,
        body: &str,
    ) -> Reply {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {NAME}\r\nconnection: close\r\n{headers}\r\n"
        );
        let mut tls = self.connect().await;
        let mut bytes = Vec::new();
        // A server that refuses the head may close the connection before it has read everything.
        let _ = tls.send_all(head.as_bytes()).await;
        let _ = tls.send_all(body.as_bytes()).await;
        let _ = tls.read_to_end(&mut bytes).await;
        let text = String::from_utf8(bytes).expect("text");
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok())
            .unwrap_or(0);
        let reply = Reply {
            status,
            head: head.to_ascii_lowercase(),
            body: body.to_owned(),
        };
        described::check(method, path, &reply);
        reply
    }

    /// The same with a good token.
    pub async fn authorised(&self, method: &str, path: &str, body: &str) -> Reply {
        self.request(
            method,
            path,
            &format!("authorization: Bearer {TOKEN}\r\n"),
            body,
        )
        .await
    }
}

fn certificates() -> (String, Arc<rustls::ServerConfig>) {
    let root_key = KeyPair::generate().expect("a key");
    let mut root = CertificateParams::new(Vec::new()).expect("no names");
    root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root_certificate = root.self_signed(&root_key).expect("a root");
    let issuer = Issuer::new(root, root_key);
    let key = KeyPair::generate().expect("a key");
    let leaf = CertificateParams::new(vec![NAME.to_owned()]).expect("a name");
    let certificate = leaf.signed_by(&key, &issuer).expect("signed");
    let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).expect("PEM");
    let tls = server_config(vec![certificate.der().clone()], key).expect("a pair");
    (root_certificate.pem(), tls)
}

/// Waits for something that another task is about to do.
pub async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let patience = tokio::time::timeout(std::time::Duration::from_secs(20), async {
        while !is_so() {
            tokio::task::yield_now().await;
        }
    });
    patience.await.unwrap_or_else(|_| panic!("never: {what}"));
}
