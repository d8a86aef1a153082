//! Pings that find out whether a client is still there.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use h2::{Ping, PingPong};
use tokio::time::{Instant, Sleep, sleep};

/// The time between an answered ping and the next one.
const PING_EVERY: Duration = Duration::from_secs(20);
/// The time for a client to answer a ping. Then its connection is closed.
const PING_PATIENCE: Duration = Duration::from_secs(20);

/// The pings of one connection.
pub(super) struct KeepAlive {
    pings: Option<PingPong>,
    /// The timer of the next ping, or of the deadline for the answer to the last one.
    pause: Pin<Box<Sleep>>,
    is_pinged: bool,
}

impl KeepAlive {
    /// Uses the pings of a connection. Without them it does nothing.
    pub(super) fn new(pings: Option<PingPong>) -> Self {
        Self {
            pings,
            pause: Box::pin(sleep(PING_EVERY)),
            is_pinged: false,
        }
    }

    /// Sends pings when they are due. Ready when the client has not answered one in time.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(pings) = &mut self.pings else {
            return Poll::Pending;
        };
        loop {
            if self.is_pinged && pings.poll_pong(cx).is_ready() {
                // An error is one of the connection, which reports it itself.
                self.is_pinged = false;
                self.pause.as_mut().reset(Instant::now() + PING_EVERY);
            }
            if self.pause.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            if self.is_pinged {
                return Poll::Ready(());
            }
            self.is_pinged = pings.send_ping(Ping::opaque()).is_ok();
            let pause = if self.is_pinged {
                PING_PATIENCE
            } else {
                PING_EVERY
            };
            self.pause.as_mut().reset(Instant::now() + pause);
        }
    }
}
