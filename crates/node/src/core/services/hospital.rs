//! Live flows for the API.

use api::{
    FlowHistory, FlowHistoryQuery, FlowJournal, FlowList, FlowOrder, FlowOrdered, FlowQuery,
};
use flow::FlowId;
use kernel::HistoryPlace;

use crate::core::service::Service;
use crate::http::{FlowAction, HospitalService, Pending, Sees};

impl HospitalService for Service {
    fn flows(
        &self,
        query: FlowQuery,
        after: Option<FlowId>,
        limit: usize,
    ) -> Pending<'_, FlowList> {
        Box::pin(async move {
            let filter = self.filter(query)?;
            let mut flows = self.live(filter, after, limit + 1).await?;
            let more = flows.len() > limit;
            flows.truncate(limit);
            let last = flows.last().filter(|_| more);
            let next = last.map(|flow| flow.flow_id.clone());
            Ok(FlowList { flows, next })
        })
    }

    fn history(
        &self,
        query: FlowHistoryQuery,
        sees: Sees,
        after: Option<HistoryPlace>,
        limit: usize,
    ) -> Pending<'_, FlowHistory> {
        Box::pin(self.history_page(query, sees, after, limit))
    }

    fn order(
        &self,
        action: FlowAction,
        flow: Option<FlowId>,
        order: FlowOrder,
    ) -> Pending<'_, FlowOrdered> {
        Box::pin(self.ordered(action, flow, order))
    }

    fn journal(&self, flow: FlowId, after: Option<u32>, limit: usize) -> Pending<'_, FlowJournal> {
        Box::pin(self.journal_of(flow, after, limit))
    }
}
