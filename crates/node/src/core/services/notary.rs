//! Records of notarisation for the API.

use api::{ConsumedPage, EquivocationPage, RequestPage};
use ledger::{StateRef, TxId};

use crate::core::service::Service;
use crate::http::{NotaryService, Pending};

impl NotaryService for Service {
    fn consumed(&self, after: Option<StateRef>, limit: usize) -> Pending<'_, ConsumedPage> {
        Box::pin(self.read_consumed(after, limit))
    }

    fn notary_requests(&self, after: Option<TxId>, limit: usize) -> Pending<'_, RequestPage> {
        Box::pin(self.read_notary_requests(after, limit))
    }

    fn equivocations(&self, after: Option<TxId>, limit: usize) -> Pending<'_, EquivocationPage> {
        Box::pin(self.read_equivocations(after, limit))
    }
}
