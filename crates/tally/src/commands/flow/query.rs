//! The filters of `tally flow list` and of orders for many flows.

use api::{FlowQuery, FlowStatus};

use crate::failure::Failure;

/// Criteria for flows.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Query {
    /// Their status: running, retrying, parked or paused; of ended flows finalised, failed or killed
    #[arg(long, value_name = "STATUS")]
    pub(super) status: Option<String>,
    /// The registered name
    #[arg(long, value_name = "NAME")]
    pub(super) flow: Option<String>,
    /// The code of one of their failures
    #[arg(long, value_name = "CODE")]
    pub(super) code: Option<String>,
    /// The user who started them
    #[arg(long, value_name = "USER")]
    pub(super) user: Option<String>,
    /// The legal name of a counterparty
    #[arg(long, value_name = "NAME")]
    pub(super) peer: Option<String>,
    /// Started at least this long ago
    #[arg(long, value_name = "SECONDS")]
    older_than: Option<u64>,
    /// Waiting without a step for at least this long
    #[arg(long, value_name = "SECONDS")]
    stuck: Option<u64>,
}

impl Query {
    pub fn query(&self) -> Result<FlowQuery, Failure> {
        let live = [
            FlowStatus::Running,
            FlowStatus::Retrying,
            FlowStatus::Parked,
            FlowStatus::Paused,
        ];
        let status =
            match &self.status {
                None => None,
                Some(text) => Some(live.into_iter().find(|s| s.as_str() == text).ok_or_else(
                    || {
                        Failure::usage(
                            "tally.no_flows",
                            format!("'{text}' is not a status of a live flow"),
                            "Use running, retrying, parked or paused. For flows that have ended, add --failed or --ended to 'tally flow list'.",
                        )
                    },
                )?),
            };
        Ok(FlowQuery {
            status,
            flow: self.flow.clone(),
            code: self.code.clone(),
            user: self.user.clone(),
            peer: self.peer.clone(),
            older_than_ms: self.older_than.map(ms),
            stuck_ms: self.stuck.map(ms),
        })
    }
}

/// Returns seconds in milliseconds. No flow is as old as a clipped time.
pub(super) fn ms(seconds: u64) -> u64 {
    seconds.saturating_mul(1_000)
}
