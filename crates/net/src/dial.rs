//! Connections that this node makes: to every peer with a greater id, retried until it stops. A peer with a smaller id can be asked to dial
//! again.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::handshake::{self, Met, Reached};
use crate::options::NetLimits;
use crate::peer::Peer;
use crate::refusal::Refusal;
use crate::service;
use crate::shared::TransportState;

/// If a connection lasted this long, the next attempt follows at once.
const GOOD: Duration = Duration::from_secs(1);

/// Attempts to announce this node to a peer.
const ANNOUNCEMENTS_MAX: u32 = 10;
/// Pause after an attempt to announce this node.
const ANNOUNCE_AGAIN: Duration = Duration::from_secs(1);

/// Keeps a connection to a peer until the peer is retired.
pub(crate) async fn dial(shared: Arc<TransportState>, peer: Arc<Peer>) {
    let mut back_off = BackOff::new(shared.limits.back_off_min, shared.limits.back_off_max);
    let mut told = false;
    while !peer.is_retired() {
        if let Some(left) = peer.cut_off_for() {
            let _ = timeout(left, peer.retry.notified()).await;
            continue;
        }
        let reached = tokio::select! {
            reached = reach(&shared, &peer) => reached,
            // News of the peer: an address that refused before may answer now, while another one is silent.
            () = peer.retry.notified() => continue,
        };
        match reached {
            Ok(met) => {
                told = false;
                if service::serve(&shared, met).await >= GOOD {
                    back_off.reset();
                    continue;
                }
            }
            Err(refusal) => {
                shared.not_reached(&peer, &refusal, !told);
                told = true;
            }
        }
        // Whichever comes first: the pause is over, or there is news of the peer.
        let _ = timeout(back_off.pause(), peer.retry.notified()).await;
    }
}

/// Announces this node to a peer that has to dial it, until the peer is connected: connects to it, which it refuses. It then dials at once, and
/// gives up a connection that does not answer.
pub(crate) async fn announce(shared: Arc<TransportState>, peer: Arc<Peer>) {
    for _ in 0..ANNOUNCEMENTS_MAX {
        if peer.is_retired() || peer.link().is_some() {
            return;
        }
        // A peer of an older version, or one that is away, finds this node again by itself.
        let _ = reach(&shared, &peer).await;
        sleep(ANNOUNCE_AGAIN).await;
    }
}

/// Tries each address. Begins with the next one after a failure, or if an address does not answer for a while: a process that is stopped, or a
/// machine that is gone, says nothing. The first one with which TLS is agreed is used. If all fail, returns the failure of the first.
async fn reach(shared: &TransportState, peer: &Arc<Peer>) -> Result<Met, Refusal> {
    let NetLimits {
        handshake_timeout: limit,
        next_address_after,
        ..
    } = shared.limits;
    let addresses = peer.addresses();
    let attempt = async |place: usize, address: &String| {
        let reached = timeout(limit, try_address(shared, peer, address)).await;
        let too_slow = Err(Refusal::HandshakeTimeout(limit));
        (place, reached.unwrap_or(too_slow))
    };
    let mut left = addresses.iter().enumerate();
    let mut attempts = FuturesUnordered::new();
    let mut first: Option<(usize, Refusal)> = None;
    loop {
        let next = left.next();
        let is_last = next.is_none();
        if let Some((place, address)) = next {
            attempts.push(attempt(place, address));
        }
        let answer = match is_last {
            true => Ok(attempts.next().await),
            false => timeout(next_address_after, attempts.next()).await,
        };
        let (place, reached) = match answer {
            // No answer yet.
            Err(_) => continue,
            Ok(None) => break,
            Ok(Some(answer)) => answer,
        };
        let met = match reached {
            Ok(reached) => timeout(limit, handshake::greet(shared, peer, reached))
                .await
                .unwrap_or(Err(Refusal::HandshakeTimeout(limit))),
            Err(refusal) => Err(refusal),
        };
        match met {
            Ok(met) => return Ok(met),
            Err(refusal) if first.as_ref().is_none_or(|(earlier, _)| place < *earlier) => {
                first = Some((place, refusal));
            }
            Err(_) => {}
        }
    }
    Err(match first {
        Some((_, refusal)) => refusal,
        None => Refusal::HandshakeFailed("the peer has no address".to_owned()),
    })
}

async fn try_address(shared: &TransportState, peer: &Peer, to: &str) -> Result<Reached, Refusal> {
    let unreachable = |source| Refusal::Unreachable {
        address: to.to_owned(),
        source,
    };
    let socket = TcpStream::connect(to).await.map_err(unreachable)?;
    let address = socket.peer_addr().map_err(unreachable)?;
    handshake::agree(shared, peer, socket, address).await
}

/// The back-off between attempts: it doubles, with a random reduction of up to half, so that nodes do not retry in step.
struct BackOff {
    min: Duration,
    max: Duration,
    next: Duration,
    random: RandomState,
    count: u64,
}

impl BackOff {
    fn new(min: Duration, max: Duration) -> Self {
        Self {
            min,
            max,
            next: min,
            random: RandomState::new(),
            count: 0,
        }
    }

    fn reset(&mut self) {
        self.next = self.min;
    }

    fn pause(&mut self) -> Duration {
        self.count += 1;
        let full = self.next;
        // If the pause is clipped, it is still above the longest one.
        self.next = full.saturating_mul(2).min(self.max);
        // A remainder fits.
        let part = (self.random.hash_one(self.count) % 1_024) as u32;
        full / 2 + full / 2 * part / 1_024
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_bound_and_start_anew() {
        let ms = Duration::from_millis;
        let mut back_off = BackOff::new(ms(50), ms(300));
        for full in [50, 100, 200, 300, 300] {
            let pause = back_off.pause();
            assert!(
                pause >= ms(full) / 2 && pause <= ms(full),
                "{pause:?} of {full} ms"
            );
        }
        back_off.reset();
        assert!(back_off.pause() <= ms(50));
    }
}
