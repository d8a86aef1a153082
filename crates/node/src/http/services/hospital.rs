//! The service of live and ended flows: lists, journals and orders of operators.

use api::{
    FlowHistory, FlowHistoryQuery, FlowJournal, FlowList, FlowOrder, FlowOrdered, FlowQuery,
};
use flow::FlowId;
use kernel::HistoryPlace;

use crate::http::flow_action::FlowAction;
use crate::http::pending::Pending;

/// Whether the caller may see a flow.
pub type Sees = Box<dyn Fn(&FlowId) -> bool + Send>;

/// The port to live and ended flows, for operators. No method blocks. An answered change is durable.
pub trait HospitalService: Send + Sync + 'static {
    /// Returns the live flows that match a query, after an id.
    fn flows(&self, query: FlowQuery, after: Option<FlowId>, limit: usize)
    -> Pending<'_, FlowList>;

    /// Returns a page of ended flows that match a query, among those that the caller may see.
    fn history(
        &self,
        query: FlowHistoryQuery,
        sees: Sees,
        after: Option<HistoryPlace>,
        limit: usize,
    ) -> Pending<'_, FlowHistory>;

    /// Carries out an order: for this flow, or for all flows that match the order's query.
    fn order(
        &self,
        action: FlowAction,
        flow: Option<FlowId>,
        order: FlowOrder,
    ) -> Pending<'_, FlowOrdered>;

    /// Returns a page of a live flow's journal. Refuses an unknown flow.
    fn journal(&self, flow: FlowId, after: Option<u32>, limit: usize) -> Pending<'_, FlowJournal>;
}
