//! Many starts in one request.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::flows::{Outcome, RawJson, StartFlow};
use crate::problem::Problem;

/// Maximum number of starts in one batch (`api.bad_batch`).
pub const BATCH_STARTS_MAX: usize = 256;

/// The body of `POST /v1/flows/batch`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartBatch {
    /// 1 to 256 starts, each as in `POST /v1/flows`. They are started in this order and run concurrently.
    #[schemars(length(min = 1, max = 256), with = "Vec<StartFlow>")]
    pub starts: Vec<RawJson>,
}

impl StartBatch {
    /// Creates a batch of these starts.
    pub fn new(starts: &[StartFlow]) -> Result<Self, serde_json::Error> {
        let starts = starts.iter().map(serde_json::value::to_raw_value);
        Ok(Self {
            starts: starts.collect::<Result<_, _>>()?,
        })
    }
}

/// The answer of `POST /v1/flows/batch`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct BatchAnswers {
    /// One answer for each start, in the order of the starts.
    pub answers: Vec<BatchAnswer>,
}

/// The answer for one start of a batch, the same as for a single start.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct BatchAnswer {
    /// The HTTP status that a single start would have had: 200, 202, or a problem's.
    pub status: u16,
    /// The outcome of the flow; absent if it failed or was not started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// The failure of the flow, or the reason why no flow was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}
