//! A node of a site, and how its flows are started.

use std::sync::atomic::{AtomicUsize, Ordering};

use client::{Client, Stream};

/// A node of a site.
pub struct SiteNode {
    name: String,
    client: Client,
    streams: Vec<Stream>,
    turn: AtomicUsize,
}

impl SiteNode {
    /// A node by its legal name; starts go over one stream of this client.
    pub fn new(name: impl Into<String>, client: Client) -> Self {
        let streams = vec![client.stream()];
        Self {
            name: name.into(),
            client,
            streams,
            turn: AtomicUsize::new(0),
        }
    }

    /// Another stream for starts, of a client with a connection of its own; starts take turns.
    #[must_use]
    pub fn with_stream(mut self, stream: Stream) -> Self {
        self.streams.push(stream);
        self
    }

    /// Its legal name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The stream whose turn it is.
    pub(super) fn stream(&self) -> &Stream {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        &self.streams[turn % self.streams.len()]
    }
}
