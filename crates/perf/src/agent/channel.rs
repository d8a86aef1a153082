//! Length-prefixed JSON frames over a TLS connection.
//!
//! Neither end has a signed certificate. Both know a token. Each proves it with the token and a key that only the two
//! ends of *this* TLS connection can compute (RFC 8446 section 7.5). An attacker in the middle has two connections with
//! different keys.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use primitives::{Hash, SecretText};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, ServerConfig, SignatureScheme};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

use super::error::AgentError;

/// The name in an agent's certificate.
pub(super) const NAME: &str = "tally-agent";
/// The longest message from an authenticated peer. Prepared jobs may be large.
const FRAME_BYTES_MAX: u32 = 256 << 20;
/// The longest message from a peer that has not proved that it knows the token.
const STRANGER_BYTES_MAX: u32 = 16 << 10;
/// Messages read but not handled, at most; and written but not sent.
const WAITING_MAX: usize = 64;
/// Bytes of a proof.
const PROOF_BYTES: usize = 32;

/// The role of the end that proves that it knows the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Coordinator,
    Agent,
}

impl Role {
    fn label(self) -> &'static [u8] {
        match self {
            Role::Coordinator => b"EXPORTER-tallystick-lab-coordinator",
            Role::Agent => b"EXPORTER-tallystick-lab-agent",
        }
    }
}

/// A token that both ends know.
#[derive(Clone, Debug)]
pub struct Token(SecretText);

impl Token {
    /// Characters that it has at least: a shorter one can be guessed.
    pub const CHARS_MIN: usize = 16;

    /// Creates a token from a file's text, without white space at its ends.
    pub fn new(text: &str) -> Result<Self, AgentError> {
        let text = text.trim();
        if text.chars().count() < Self::CHARS_MIN {
            return Err(AgentError::ShortToken {
                chars_min: Self::CHARS_MIN,
            });
        }
        Ok(Self(text.into()))
    }
}

/// Returns the proof that a peer in this role sends over this connection if it knows the token.
pub(super) fn proof<Data>(
    connection: &rustls::ConnectionCommon<Data>,
    role: Role,
    token: &Token,
) -> Result<Vec<u8>, rustls::Error> {
    let out = [0; PROOF_BYTES];
    let made =
        connection.export_keying_material(out, role.label(), Some(token.0.expose().as_bytes()))?;
    Ok(made.to_vec())
}

/// Returns whether two proofs are equal, in a time that does not depend on where they differ.
pub(super) fn same(one: &[u8], other: &[u8]) -> bool {
    let differences = one.iter().zip(other).map(|(a, b)| a ^ b);
    one.len() == other.len() && differences.fold(0, |all, one| all | one) == 0
}

/// Returns an agent's TLS configuration with its own certificate, and that certificate's fingerprint.
pub(super) fn server() -> Result<(ServerConfig, Hash), AgentError> {
    let own = rcgen::generate_simple_self_signed(vec![NAME.to_owned()])
        .map_err(|error| AgentError::Tls(error.to_string()))?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(own.signing_key.serialize_der()));
    let certificate = own.cert.der().clone();
    let fingerprint = Hash::plain(&certificate);
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)?;
    Ok((config, fingerprint))
}

/// Returns a coordinator's TLS configuration: it accepts any certificate, or only the one with this fingerprint.
pub(super) fn client(fingerprint: Option<Hash>) -> Result<ClientConfig, AgentError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier = Arc::new(Pinned {
        fingerprint,
        provider: Arc::clone(&provider),
    });
    Ok(ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth())
}

/// Checks only the fingerprint. The agent's proof authenticates it.
#[derive(Debug)]
struct Pinned {
    fingerprint: Option<Hash>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match self.fingerprint {
            Some(expected) if expected != Hash::plain(certificate) => {
                Err(rustls::Error::General(format!(
                    "its certificate has the fingerprint {}, not {expected}",
                    Hash::plain(certificate)
                )))
            }
            _ => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// The other end is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gone;

/// A connection that receives `In`. Reading and writing run in background tasks.
pub(super) struct Channel<In> {
    to: mpsc::Sender<Vec<u8>>,
    from: mpsc::Receiver<In>,
    bytes_max: Arc<AtomicU32>,
}

/// Sends on a channel.
#[derive(Clone)]
pub(super) struct Sender {
    to: mpsc::Sender<Vec<u8>>,
}

impl Sender {
    /// Sends a message, waiting for room.
    pub async fn send(&self, message: &impl Serialize) -> Result<(), Gone> {
        self.place().await?.send(message)
    }

    /// Waits for the place of a message in the queue. Dropping the future loses nothing.
    pub async fn place(&self) -> Result<Place<'_>, Gone> {
        self.to.reserve().await.map(Place).map_err(|_| Gone)
    }
}

/// The place of a message in the queue.
pub(super) struct Place<'a>(mpsc::Permit<'a, Vec<u8>>);

impl Place<'_> {
    /// Sends the message.
    pub fn send(self, message: &impl Serialize) -> Result<(), Gone> {
        let mut frame = vec![0; 4];
        serde_json::to_writer(&mut frame, message).map_err(|_| Gone)?;
        let length = u32::try_from(frame.len() - 4).map_err(|_| Gone)?;
        frame[..4].copy_from_slice(&length.to_be_bytes());
        self.0.send(frame);
        Ok(())
    }
}

impl<In: DeserializeOwned + Send + 'static> Channel<In> {
    /// Creates a channel over a connection on which nothing has been sent yet. Until [`Self::trust`], only short messages
    /// are read.
    pub fn over<S>(stream: S) -> Self
    where
        S: AsyncRead + AsyncWrite + Send + 'static,
    {
        let (reader, writer) = tokio::io::split(stream);
        let (to, frames) = mpsc::channel(WAITING_MAX);
        let (messages, from) = mpsc::channel(WAITING_MAX);
        tokio::spawn(write(writer, frames));
        let bytes_max = Arc::new(AtomicU32::new(STRANGER_BYTES_MAX));
        tokio::spawn(read(reader, messages, Arc::clone(&bytes_max)));
        Self {
            to,
            from,
            bytes_max,
        }
    }

    /// Allows long messages, once the peer is authenticated.
    pub fn trust(&self) {
        self.bytes_max.store(FRAME_BYTES_MAX, Ordering::Release);
    }

    /// Returns a handle that sends while the channel receives.
    pub fn sender(&self) -> Sender {
        Sender {
            to: self.to.clone(),
        }
    }

    /// Sends a message.
    pub async fn send(&self, message: &impl Serialize) -> Result<(), Gone> {
        self.sender().send(message).await
    }

    /// Returns the next message. Dropping the future loses nothing.
    pub async fn receive(&mut self) -> Result<In, Gone> {
        self.from.recv().await.ok_or(Gone)
    }

    /// Returns the next message. A peer that is silent for longer than this counts as gone.
    pub async fn receive_within(&mut self, silence_max: Duration) -> Result<In, Gone> {
        let next = tokio::time::timeout(silence_max, self.receive());
        next.await.map_err(|_| Gone)?
    }
}

async fn write<W: AsyncWrite + Unpin>(mut writer: W, mut frames: mpsc::Receiver<Vec<u8>>) {
    while let Some(frame) = frames.recv().await {
        if writer.write_all(&frame).await.is_err() || writer.flush().await.is_err() {
            return;
        }
    }
    // Ignore the error: the connection is ending anyway.
    let _ = writer.shutdown().await;
}

async fn read<In: DeserializeOwned, R: AsyncRead + Unpin>(
    mut reader: R,
    messages: mpsc::Sender<In>,
    bytes_max: Arc<AtomicU32>,
) {
    // The buffer grows with the bytes received, not with the announced length.
    let mut frame = Vec::new();
    while let Ok(length) = reader.read_u32().await {
        if length > bytes_max.load(Ordering::Acquire) {
            return;
        }
        frame.clear();
        let mut part = (&mut reader).take(u64::from(length));
        let read = part.read_to_end(&mut frame).await;
        if read.ok() != usize::try_from(length).ok() {
            return;
        }
        let Ok(message) = serde_json::from_slice(&frame) else {
            return;
        };
        tokio::select! {
            sent = messages.send(message) => if sent.is_err() { return },
            () = messages.closed() => return,
        }
        frame.shrink_to(1 << 20);
    }
}
