//! Connections that this node makes: to every peer with a greater id, retried until it stops.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::handshake::{self, Met};
use crate::peer::Peer;
use crate::refusal::Refusal;
use crate::service;
use crate::shared::TransportState;

/// If a connection lasted this long, the next attempt follows at once.
const GOOD: Duration = Duration::from_secs(1);

/// Keeps a connection to a peer until the peer is retired.
pub(crate) async fn dial(shared: Arc<TransportState>, peer: Arc<Peer>) {
    let mut back_off = BackOff::new(shared.limits.back_off_min, shared.limits.back_off_max);
    let mut told = false;
    while !peer.is_retired() {
        if let Some(left) = peer.cut_off_for() {
            let _ = timeout(left, peer.retry.notified()).await;
            continue;
        }
        match reach(&shared, &peer).await {
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

/// Tries each address in turn. If all fail, returns the failure of the first.
async fn reach(shared: &TransportState, peer: &Arc<Peer>) -> Result<Met, Refusal> {
    let limit = shared.limits.handshake_timeout;
    let mut first = None;
    for address in peer.addresses() {
        let attempt = timeout(limit, try_address(shared, peer, &address)).await;
        match attempt.unwrap_or(Err(Refusal::HandshakeTimeout(limit))) {
            Ok(met) => return Ok(met),
            Err(refusal) => first = first.or(Some(refusal)),
        }
    }
    Err(first.unwrap_or_else(|| Refusal::HandshakeFailed("the peer has no address".to_owned())))
}

async fn try_address(shared: &TransportState, peer: &Arc<Peer>, to: &str) -> Result<Met, Refusal> {
    let unreachable = |source| Refusal::Unreachable {
        address: to.to_owned(),
        source,
    };
    let socket = TcpStream::connect(to).await.map_err(unreachable)?;
    let address = socket.peer_addr().map_err(unreachable)?;
    handshake::connect(shared, peer, socket, address).await
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
