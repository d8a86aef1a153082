//! Counts flows without a step for a long time. Sets the gauge, and logs a warning from time to time.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use kernel::FlowFilter;

use super::service::Service;

/// A flow that has waited so long without a step is stuck.
const STUCK_MS: u64 = 60_000;
/// Interval of the count of stuck flows.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// Between two warnings, unless there are more than there were.
const WARN_EVERY: Duration = Duration::from_secs(600);
/// Most that are counted.
const COUNTED_MAX: usize = 1_000;
/// Most that a warning names.
const NAMED_MAX: usize = 5;

/// Looks until the node is gone.
pub(super) async fn watch(service: Weak<Service>) {
    let mut warned: Option<(Instant, usize)> = None;
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let Some(service) = service.upgrade() else {
            return;
        };
        warned = look(&service, warned).await;
    }
}

async fn look(
    service: &Arc<Service>,
    warned: Option<(Instant, usize)>,
) -> Option<(Instant, usize)> {
    let filter = FlowFilter {
        stuck_ms: Some(STUCK_MS),
        ..FlowFilter::default()
    };
    let Ok(stuck) = service.live(filter, None, COUNTED_MAX).await else {
        return warned;
    };
    let metrics = &service.shared.metrics;
    metrics.flows_stuck.set_count(stuck.len() as u64);
    let (last, before) = match warned {
        Some((last, before)) => (Some(last), before),
        None => (None, 0),
    };
    let due = last.is_none_or(|last| last.elapsed() >= WARN_EVERY);
    // Twice as many are news even if the last warning is young.
    if stuck.is_empty() || !(due || stuck.len() > 2 * before) {
        return warned;
    }
    let named = stuck.iter().take(NAMED_MAX).map(|flow| {
        // An unknown name or peer is shown as a mark.
        let name = flow.flow.as_deref().unwrap_or("?");
        let wait = flow.waits.first();
        let what = wait.map_or("nothing", |wait| wait.what.as_str());
        let of = wait.and_then(|wait| wait.peer.as_deref()).unwrap_or("-");
        format!("{name} {} ({what} of {of})", flow.flow_id)
    });
    let named: Vec<String> = named.collect();
    tracing::warn!(
        code = "flow.stuck",
        "{} flows have waited for {} s without a step: {}",
        stuck.len(),
        STUCK_MS / 1_000,
        named.join(", ")
    );
    Some((Instant::now(), stuck.len()))
}
