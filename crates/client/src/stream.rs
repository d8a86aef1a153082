//! Starts of many flows over one long request.

use std::sync::{Arc, Mutex, PoisonError};

use api::{Outcome, StartFlow};
use tokio::sync::Semaphore;

use crate::channel::{Channel, write_start};
use crate::connection::Connection;
use crate::error::ClientError;

/// Starts many flows over one request. Cheap to clone; clones share one stream, which ends when the last one is dropped.
///
/// When the connection is lost, the starts outstanding fail with `client.connection_lost` and the next start opens a new stream.
#[derive(Clone)]
pub struct Stream {
    shared: Arc<StreamState>,
}

struct StreamState {
    connection: Arc<Connection>,
    places: Semaphore,
    current: Mutex<Option<Arc<Channel>>>,
    /// Held while opening, so that many starters open one stream.
    opening: tokio::sync::Mutex<()>,
}

impl Stream {
    pub(crate) fn new(connection: Arc<Connection>) -> Self {
        let places = Semaphore::new(
            connection
                .limits
                .outstanding_max
                .min(Semaphore::MAX_PERMITS),
        );
        Self {
            shared: Arc::new(StreamState {
                connection,
                places,
                current: Mutex::new(None),
                opening: tokio::sync::Mutex::new(()),
            }),
        }
    }

    /// Opens the stream now rather than at the first start.
    pub async fn open(&self) -> Result<(), ClientError> {
        self.shared.channel().await.map(|_| ())
    }

    /// Starts a flow and waits as `start.wait` says (`timeout_ms` has no effect here: drop the future instead).
    ///
    /// A flow that fails is an error that [names it](ClientError::failed_flow). After another error nothing is known to have been
    /// started.
    pub async fn start(&self, start: &StartFlow) -> Result<Outcome, ClientError> {
        let shared = &*self.shared;
        let _place = match shared.places.try_acquire() {
            Ok(place) => place,
            Err(_) => shared
                .places
                .acquire()
                .await
                .map_err(|_| shared.connection.lost_because("the stream is closed"))?,
        };
        // Opening is rare and its future is large. It is kept out of this future, because a busy client has thousands of them.
        let channel = match shared.live() {
            Some(channel) => channel,
            None => Box::pin(shared.channel()).await?,
        };
        let (number, answer) = channel.start(|number, to| write_start(start, number, to))?;
        let waiting = Forget {
            channel: &channel,
            number,
        };
        let answer = answer.await;
        std::mem::forget(waiting);
        answer.unwrap_or_else(|_| Err(shared.connection.lost_because("the stream is closed")))
    }
}

impl StreamState {
    async fn channel(&self) -> Result<Arc<Channel>, ClientError> {
        if let Some(channel) = self.live() {
            return Ok(channel);
        }
        let _only_one = self.opening.lock().await;
        if let Some(channel) = self.live() {
            return Ok(channel);
        }
        let channel = Channel::open(Arc::clone(&self.connection)).await?;
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&channel));
        Ok(channel)
    }

    fn live(&self) -> Option<Arc<Channel>> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current
            .as_ref()
            .filter(|channel| !channel.has_ended())
            .map(Arc::clone)
    }
}

impl Drop for StreamState {
    fn drop(&mut self) {
        if let Some(channel) = &*self.current.lock().unwrap_or_else(PoisonError::into_inner) {
            channel.close();
        }
    }
}

/// Removes the entry of a caller that is dropped before its answer comes.
struct Forget<'a> {
    channel: &'a Channel,
    number: u64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.channel.forget(self.number);
    }
}
