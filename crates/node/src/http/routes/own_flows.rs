//! Pages of the flows that a caller may see. The node lists the flows of all users, so the place where one of its pages ends may be the id of
//! another user's flow. The pages of this module end at flows of the caller.

use api::FlowList;
use flow::FlowId;

use crate::http::pending::Pending;
use crate::http::refusal::Refusal;

/// Flows that are read at once. Most of them may be other users' flows.
const READ_AT_ONCE: usize = 1_000;

/// Returns the page of at most `limit` flows after an id that the caller may see. `read` returns a page of the flows of all users.
pub(super) async fn own_flows<'a>(
    read: impl Fn(Option<FlowId>, usize) -> Pending<'a, FlowList>,
    sees: impl Fn(&FlowId) -> bool,
    mut after: Option<FlowId>,
    limit: usize,
) -> Result<FlowList, Refusal> {
    let mut own = FlowList::default();
    loop {
        let page = read(after, limit.max(READ_AT_ONCE)).await?;
        let seen = page.flows.into_iter();
        own.flows
            .extend(seen.filter(|flow| flow.flow_id.parse().is_ok_and(|id| sees(&id))));
        let next = page.next.and_then(|next| next.parse().ok());
        // Pages go upwards. Without this check, a page that ended where it began would be read for ever.
        after = next.filter(|next| after.is_none_or(|after| *next > after));
        if after.is_none() || own.flows.len() > limit {
            break;
        }
    }
    if own.flows.len() > limit {
        own.flows.truncate(limit);
        own.next = own.flows.last().map(|flow| flow.flow_id.clone());
    }
    Ok(own)
}

#[cfg(test)]
mod tests {
    use api::FlowSummary;
    use serde_json::json;

    use super::*;

    fn id(number: u8) -> FlowId {
        FlowId([number; 16])
    }

    fn summary(number: u8) -> FlowSummary {
        let summary = json!({
            "flow_id": id(number).to_string(), "status": "running", "step": "", "started_here": true,
        });
        serde_json::from_value(summary).expect("the required members")
    }

    /// Reads pages of 3 of the flows 0 to 19.
    fn read(after: Option<FlowId>, _: usize) -> Pending<'static, FlowList> {
        let first = after.map_or(0, |after| after.0[0] + 1);
        let flows: Vec<FlowSummary> = (first..20).take(3).map(summary).collect();
        let last = first + 2;
        let next = (last < 19).then(|| id(last).to_string());
        Box::pin(async { Ok(FlowList { flows, next }) })
    }

    #[tokio::test]
    async fn pages_end_at_own_flows() {
        type Row = (&'static [u8], Option<u8>, usize, &'static [u8], Option<u8>);
        let table: &[Row] = &[
            (&[], None, 2, &[], None),
            (&[4], None, 2, &[4], None),
            (&[4, 9], None, 2, &[4, 9], None),
            (&[4, 9, 17], None, 2, &[4, 9], Some(9)),
            (&[4, 9, 17], Some(9), 2, &[17], None),
            (&[4, 5, 6, 7], None, 1, &[4], Some(4)),
            (&[4, 5, 6, 7], Some(4), 2, &[5, 6], Some(6)),
            (&[19], Some(18), 1, &[19], None),
        ];
        for (own, after, limit, expected, next) in table {
            let sees = |flow: &FlowId| own.contains(&flow.0[0]);
            let page = own_flows(read, sees, after.map(id), *limit).await;
            let page = page.expect("a page");
            let ids: Vec<String> = page.flows.into_iter().map(|flow| flow.flow_id).collect();
            let expected: Vec<String> = expected.iter().map(|at| id(*at).to_string()).collect();
            let next = next.map(|at| id(at).to_string());
            assert_eq!(
                (ids, page.next),
                (expected, next),
                "{own:?} after {after:?}"
            );
        }
    }
}
