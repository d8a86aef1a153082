//! A node of a site, and the means of starting its flows.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use client::{Client, ClientError, Endpoint, Stream};

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
    /// Creates a node with its legal name. Starts go over one stream of this client.
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

    /// Connects to a node by its API. Starts use `streams` streams in turn, each with its own connection.
    pub fn connect(
        name: impl Into<String>,
        endpoint: Endpoint,
        streams: u32,
    ) -> Result<Self, ClientError> {
        let mut node = Self::new(name, Client::new(endpoint.clone())?);
        for _ in 1..streams {
            node.streams.push(Client::new(endpoint.clone())?.stream());
        }
        Ok(node.with_endpoint(endpoint))
    }

    /// Sets its API, for work with its own connections, such as for files.
    #[must_use]
    pub fn with_endpoint(mut self, endpoint: Endpoint) -> Self {
        self.endpoint = Some(endpoint);
        self
    }

    /// Sets the folder of its data, if it runs on this machine.
    #[must_use]
    pub fn with_data(mut self, data: PathBuf) -> Self {
        self.data = Some(data);
        self
    }

    /// Returns its legal name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Returns its API, if it was set.
    pub(super) fn endpoint(&self) -> Option<&Endpoint> {
        self.endpoint.as_ref()
    }

    /// Returns the folder of its data, if it was set.
    pub(super) fn data(&self) -> Option<&Path> {
        self.data.as_deref()
    }

    /// Returns the next stream in turn.
    pub(super) fn stream(&self) -> &Stream {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        &self.streams[turn % self.streams.len()]
    }
}
