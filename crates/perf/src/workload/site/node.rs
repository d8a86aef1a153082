//! A node of a site, and the means of starting its flows.

use std::path::{Path, PathBuf};

use api::{Outcome, StartFlow};
use client::{Client, ClientError, Endpoint};

use super::streams::Streams;

/// A node of a site.
pub struct SiteNode {
    name: String,
    client: Client,
    streams: Streams,
    endpoint: Option<Endpoint>,
    data: Option<PathBuf>,
}

impl SiteNode {
    /// Creates a node with its legal name. Starts go over one stream of this client.
    pub fn new(name: impl Into<String>, client: Client) -> Self {
        let streams = Streams::new(client.stream());
        Self {
            name: name.into(),
            client,
            streams,
            endpoint: None,
            data: None,
        }
    }

    /// Connects to a node by its API. Starts use up to `streams` streams, each with its own connection.
    pub fn connect(
        name: impl Into<String>,
        endpoint: Endpoint,
        streams: u32,
    ) -> Result<Self, ClientError> {
        let mut node = Self::new(name, Client::new(endpoint.clone())?);
        for _ in 1..streams {
            node.streams.add(Client::new(endpoint.clone())?.stream());
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

    /// Starts a flow over a stream and waits for its answer.
    pub(super) async fn start(&self, start: &StartFlow) -> Result<Outcome, ClientError> {
        self.streams.start(start).await
    }
}
