//! Work that is a flow started by a separate request, over many keep-alive connections.

use api::{StartFlow, Wait};
use client::{Client, ClientError, Endpoint};
use primitives::Hash;

use super::driver::{Fault, Work};
use super::flows::delivered;

/// Starts one flow repeatedly, using its connections in turn. A unit is complete when the flow is *delivered*.
pub struct SingleStarts {
    clients: Vec<Client>,
    start: StartFlow,
}

impl SingleStarts {
    /// Opens `connections` (at least one) and queries the node's health on each, so that the load finds them open.
    pub async fn connect(
        endpoint: &Endpoint,
        connections: usize,
        start: StartFlow,
    ) -> Result<Self, ClientError> {
        let mut clients = Vec::new();
        for _ in 0..connections.max(1) {
            let client = Client::new(endpoint.clone())?;
            client.health().await?;
            clients.push(client);
        }
        Ok(Self {
            clients,
            start: start.wait(Wait::Delivered),
        })
    }
}

impl Work for SingleStarts {
    /// The transactions it recorded.
    type Done = Vec<Hash>;

    async fn run(&self, number: u64) -> Result<Vec<Hash>, Fault> {
        let turn = (number % self.clients.len() as u64) as usize;
        delivered(self.clients[turn].start(&self.start).await?)
    }
}
