//! A node of a site, and how its flows are started.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use client::{Client, Endpoint, Stream};

/// A node of a site.
pub struct SiteNode {
    name: String,
    client: Client,
    streams: Vec<Stream>,
    turn: AtomicUsize,
    endpoint: Option<Endpoint>,
    data: Option<PathBuf>,
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
            endpoint: None,
            data: None,
        }
    }

    /// Where its API is, for work that has connections of its own, such as for files.
    #[must_use]
    pub fn with_endpoint(mut self, endpoint: Endpoint) -> Self {
        self.endpoint = Some(endpoint);
        self
    }

    /// The folder of its data, if it runs on this machine.
    #[must_use]
    pub fn with_data(mut self, data: PathBuf) -> Self {
        self.data = Some(data);
        self
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

    /// Where its API is, if whoever made this said so.
    pub(super) fn endpoint(&self) -> Option<&Endpoint> {
        self.endpoint.as_ref()
    }

    /// The folder of its data, if it runs on this machine and whoever made this said so.
    pub(super) fn data(&self) -> Option<&Path> {
        self.data.as_deref()
    }

    /// The stream whose turn it is.
    pub(super) fn stream(&self) -> &Stream {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        &self.streams[turn % self.streams.len()]
    }
}
