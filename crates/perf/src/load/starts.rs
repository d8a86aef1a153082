//! Work that is a start of a flow, each time another one if need be; over streams, or by requests of their own.

use api::{Outcome, StartFlow};
use client::{Client, ClientError, Endpoint, Stream};

use super::driver::{Fault, Work};

/// Where the starts go, by turns.
pub enum Ways {
    /// Long requests that carry many starts.
    Streams(Vec<Stream>),
    /// A request each, over keep-alive connections.
    Requests(Vec<Client>),
}

impl Ways {
    /// Opens so many connections (at least one) for requests, and asks each for the node's health, so that the load finds
    /// them open.
    pub async fn requests(endpoint: &Endpoint, connections: usize) -> Result<Self, ClientError> {
        let mut clients = Vec::new();
        for _ in 0..connections.max(1) {
            let client = Client::new(endpoint.clone())?;
            client.health().await?;
            clients.push(client);
        }
        Ok(Self::Requests(clients))
    }

    fn len(&self) -> usize {
        match self {
            Ways::Streams(streams) => streams.len(),
            Ways::Requests(clients) => clients.len(),
        }
    }
}

/// Starts what `make` says for each number, on the way that it says. A unit is complete when its flow has ended, and
/// well if `expected` is no code; with a code, the flow must end with that.
pub struct Starts<F> {
    ways: Ways,
    make: F,
    expected: Option<&'static str>,
}

impl<F> Starts<F>
where
    F: Fn(u64) -> (usize, StartFlow) + Send + Sync + 'static,
{
    /// Flows that end well.
    pub fn new(ways: Ways, make: F) -> Self {
        Self {
            ways,
            make,
            expected: None,
        }
    }

    /// Flows that end with this code.
    #[must_use]
    pub fn ending_with(mut self, code: &'static str) -> Self {
        self.expected = Some(code);
        self
    }

    async fn start(&self, number: u64) -> Result<Outcome, ClientError> {
        let (way, start) = (self.make)(number);
        let way = way % self.ways.len().max(1);
        match &self.ways {
            Ways::Streams(streams) => streams[way].start(&start).await,
            Ways::Requests(clients) => clients[way].start(&start).await,
        }
    }
}

impl<F> Work for Starts<F>
where
    F: Fn(u64) -> (usize, StartFlow) + Send + Sync + 'static,
{
    type Done = ();

    async fn run(&self, number: u64) -> Result<(), Fault> {
        let outcome = self.start(number).await?;
        match (outcome.error, self.expected) {
            (None, None) => Ok(()),
            (Some(error), Some(code)) if error.code == code => Ok(()),
            (Some(error), _) => Err(Fault {
                code: error.code,
                message: error.message,
            }),
            (None, Some(code)) => Err(Fault {
                code: "load.unexpected_end".to_owned(),
                message: format!(
                    "flow {} is {}, and not refused with {code}",
                    outcome.flow_id,
                    outcome.status.as_str()
                ),
            }),
        }
    }
}
