//! Why connections are refused or end, and the one log line about it. Texts name parties by their legal names, where this node knows
//! them.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ledger::PartyId;
use primitives::Coded;
use rustls::CertificateError;
use thiserror::Error;

use crate::errors;
use crate::frame::{FrameError, HelloError};

/// Why a connection is refused, or ended.
#[derive(Debug, Error)]
pub enum Refusal {
    /// Not TLS as nodes speak it.
    #[error("not TLS 1.3 as nodes speak it: {0}")]
    NotTls(String),
    /// No certificate of this network, or an expired one.
    #[error("no valid certificate of this network: {0}")]
    WrongCertificate(String),
    /// A certificate of this network, but of another party.
    #[error("the certificate is not that of {0}")]
    WrongName(String),
    /// An unknown party.
    #[error("party {0} is not in the network map")]
    UnknownPeer(PartyId),
    /// A party connects that this node has to dial: the party with the smaller id always dials.
    #[error("{0} has the greater id and should wait to be connected to")]
    WrongDirection(String),
    /// A bad hello.
    #[error(transparent)]
    Hello(#[from] HelloError),
    /// A bad frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// Too slow.
    #[error("the handshake took longer than {} ms", .0.as_millis())]
    HandshakeTimeout(Duration),
    /// Broken.
    #[error("the connection broke during its handshake: {0}")]
    HandshakeFailed(String),
    /// Abandoned in favour of a newer handshake.
    #[error("more than {0} connections are in their handshake")]
    TooManyHandshakes(usize),
    /// No address of the peer answers.
    #[error("cannot be reached at {address}: {source}")]
    Unreachable {
        /// The address.
        address: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// TLS broke after the handshake.
    #[error("TLS failed: {0}")]
    Tls(rustls::Error),
    /// The peer was silent for too long.
    #[error("nothing came for {} s", .0.as_secs())]
    Idle(Duration),
    /// Closed or reset.
    #[error("the connection is gone: {0}")]
    Lost(String),
    /// A newer connection of the same peer.
    #[error("the peer connected again")]
    Replaced,
    /// The peer is cut off.
    #[error("{0} is cut off for {1} ms more")]
    CutOff(String, u128),
    /// This node stops, or no longer knows the peer.
    #[error("this node has ended the connection")]
    Stopped,
}

impl Coded for Refusal {
    fn code(&self) -> &'static str {
        match self {
            Self::NotTls(_) => "net.not_tls",
            Self::WrongCertificate(_) => "net.wrong_certificate",
            Self::WrongName(_) => "net.wrong_name",
            Self::UnknownPeer(_) => "net.unknown_peer",
            Self::WrongDirection(_) => "net.wrong_direction",
            Self::Hello(error) => error.code(),
            Self::Frame(error) => error.code(),
            Self::HandshakeTimeout(_) => "net.handshake_timeout",
            Self::HandshakeFailed(_) => "net.handshake_failed",
            Self::TooManyHandshakes(_) => "net.too_many_handshakes",
            Self::Unreachable { .. } => "net.unreachable",
            Self::Tls(_) => "net.tls_failed",
            Self::Idle(_) => "net.idle",
            Self::Lost(_) => "net.connection_lost",
            Self::Replaced => "net.replaced",
            Self::CutOff(..) => "net.cut_off",
            Self::Stopped => "net.stopped",
        }
    }

    fn hint(&self) -> &'static str {
        errors::action(self.code())
    }
}

impl Refusal {
    /// Classifies the error of a TLS handshake; `expected` is the name of the party that was dialled.
    pub(crate) fn of_handshake(error: &io::Error, expected: Option<&str>) -> Self {
        let tls = error
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<rustls::Error>());
        match tls {
            Some(rustls::Error::InvalidCertificate(why)) => Self::of_certificate(why, expected),
            Some(error @ rustls::Error::NoCertificatesPresented) => {
                Self::WrongCertificate(error.to_string())
            }
            Some(rustls::Error::AlertReceived(alert)) => {
                Self::HandshakeFailed(format!("the other side refused it ({alert:?})"))
            }
            Some(error) => Self::NotTls(error.to_string()),
            None => Self::HandshakeFailed(describe(error)),
        }
    }

    fn of_certificate(why: &CertificateError, expected: Option<&str>) -> Self {
        let text = match why {
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                match expected {
                    Some(party) => return Self::WrongName(party.to_owned()),
                    None => "it is another party's".to_owned(),
                }
            }
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                "it was not issued by this network's root".to_owned()
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "it has expired".to_owned()
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "it is not valid yet: check the clocks of both machines".to_owned()
            }
            other => format!("{other:?}"),
        };
        Self::WrongCertificate(text)
    }

    /// Returns whether the refusal is an ordinary event that needs no operator's attention.
    pub(crate) fn is_harmless(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::Stopped)
    }
}

/// Describes an error of a connection. The library's text for an end without notice is about TLS and names a page of its own.
pub(crate) fn describe(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the other side closed it".to_owned(),
        _ => error.to_string(),
    }
}

/// Refusals logged each second. Beyond it only their number is logged, so that no peer can fill the disk with log
/// lines.
const LINES_PER_SECOND: u32 = 20;

/// Writes the log lines about refused connections.
#[derive(Debug, Default)]
pub(crate) struct RefusalLog(Mutex<Second>);

#[derive(Debug, Default)]
struct Second {
    began: Option<Instant>,
    lines: u32,
    left_out: u64,
}

impl RefusalLog {
    /// One line about a connection that was refused; `from` is its other end.
    pub(crate) fn refused(&self, from: &str, refusal: &dyn Coded) {
        let Some(left_out) = self.turn(Instant::now()) else {
            return;
        };
        let (code, hint) = (refusal.code(), refusal.hint());
        if left_out > 0 {
            tracing::warn!(code, from, hint, left_out, "connection refused: {refusal}");
        } else {
            tracing::warn!(code, from, hint, "connection refused: {refusal}");
        }
    }

    /// Returns the number of lines suppressed since the last one, if a line may be written now.
    fn turn(&self, now: Instant) -> Option<u64> {
        let mut second = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let over = second
            .began
            .is_none_or(|began| now.duration_since(began).as_secs() >= 1);
        if over {
            (second.began, second.lines) = (Some(now), 0);
        }
        if second.lines == LINES_PER_SECOND {
            second.left_out += 1;
            return None;
        }
        second.lines += 1;
        Some(std::mem::take(&mut second.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_without_notice_is_told_in_plain_words() {
        let text =
            "peer closed connection without sending TLS close_notify: https://docs.rs/rustls/";
        for (kind, told) in [
            (io::ErrorKind::UnexpectedEof, "the other side closed it"),
            (io::ErrorKind::ConnectionReset, text),
        ] {
            let refusal = Refusal::of_handshake(&io::Error::new(kind, text), None);
            let told = format!("the connection broke during its handshake: {told}");
            assert_eq!(refusal.to_string(), told);
        }
    }

    #[test]
    fn lines_are_bounded_and_what_is_left_out_is_counted() {
        let (log, start) = (RefusalLog::default(), Instant::now());
        for _ in 0..LINES_PER_SECOND {
            assert_eq!(log.turn(start), Some(0));
        }
        assert_eq!(log.turn(start), None);
        assert_eq!(log.turn(start), None);
        assert_eq!(log.turn(start + Duration::from_secs(1)), Some(2));
        assert_eq!(log.turn(start + Duration::from_secs(1)), Some(0));
    }
}
