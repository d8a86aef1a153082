//! Work that starts flows, a different one for each number if needed, over streams or by single requests.

use api::{Outcome, StartFlow};
use client::{Client, ClientError, Endpoint, Stream};

use super::driver::{Fault, Work};

/// The connections for the starts, used in turn.
pub enum Ways {
    /// Long requests that carry many starts.
    Streams(Vec<Stream>),
    /// A request each, over keep-alive connections.
    Requests(Vec<Client>),
}

impl Ways {
    /// Opens this many connections (at least one) for requests, and queries the node's health on each, so that the load
    /// finds them open.
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

/// Starts the flow that `make` returns for each number, on the connection that it names. A unit ends with its flow. It
/// succeeds if the flow ends as expected: well if `expected` is `None`, otherwise with that code.
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
        match (self.start(number).await, self.expected) {
            (Ok(_), None) => Ok(()),
            (Err(error), Some(code)) if error.failed_flow().is_some() && error.code() == code => {
                Ok(())
            }
            (Err(error), _) => Err(error.into()),
            (Ok(outcome), Some(code)) => Err(Fault {
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
