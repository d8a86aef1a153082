//! Work that is a flow: repeats the same start over a node's stream. A unit is complete when the flow is *delivered*.

use api::{FlowStatus, Outcome, StartFlow, Wait};
use client::{ClientError, Stream};
use primitives::Hash;

use super::driver::{Fault, Work};

/// Starts one flow repeatedly, using its streams in turn.
pub struct FlowWork {
    streams: Vec<Stream>,
    start: StartFlow,
    client_ids: Option<String>,
}

impl FlowWork {
    /// Creates work with the same `start` each time, without a client id.
    pub fn new(stream: Stream, start: StartFlow) -> Self {
        Self {
            streams: vec![stream],
            start: start.wait(Wait::Delivered),
            client_ids: None,
        }
    }

    /// Adds another stream, with its own client.
    #[must_use]
    pub fn with_stream(mut self, stream: Stream) -> Self {
        self.streams.push(stream);
        self
    }

    /// Gives each start the client id `prefix` and its number.
    #[must_use]
    pub fn with_client_ids(mut self, prefix: &str) -> Self {
        self.client_ids = Some(prefix.to_owned());
        self
    }
}

impl Work for FlowWork {
    /// The transactions it recorded.
    type Done = Vec<Hash>;

    async fn run(&self, number: u64) -> Result<Vec<Hash>, Fault> {
        // There is always a stream.
        let turn = (number % self.streams.len() as u64) as usize;
        let stream = &self.streams[turn];
        let outcome = match &self.client_ids {
            None => stream.start(&self.start).await?,
            Some(prefix) => {
                let start = self.start.clone().client_id(format!("{prefix}{number}"));
                stream.start(&start).await?
            }
        };
        delivered(outcome)
    }
}

/// Returns the transactions of a delivered flow. Any other outcome is a fault.
pub(super) fn delivered(outcome: Outcome) -> Result<Vec<Hash>, Fault> {
    if outcome.status != FlowStatus::Delivered {
        return Err(Fault {
            code: format!("load.{}", outcome.status.as_str()),
            message: format!("flow {} is not delivered", outcome.flow_id),
        });
    }
    outcome
        .transactions
        .iter()
        .map(|id| {
            id.parse().map_err(|error| Fault {
                code: "load.bad_id".to_owned(),
                message: format!("{id:?}: {error}"),
            })
        })
        .collect()
}

impl From<ClientError> for Fault {
    fn from(error: ClientError) -> Self {
        Self {
            code: error.code().to_owned(),
            message: error.to_string(),
        }
    }
}
