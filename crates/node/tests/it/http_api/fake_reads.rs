//! The ledger, contracts, notary records and integrity of the fake node: fixed answers.

use std::sync::Arc;

use api::{
    ChainEntry, ChainPage, ConsentList, ConsumedEntry, ConsumedPage, ContractList,
    EquivocationPage, LedgerEntry, LedgerPage, NotaryConsent, NoteView, RecoveryView, RequestPage,
    SchedulePage, TransactionView,
};
use ledger::{StateRef, TxId};
use node::http::{
    ContractService, IntegrityService, LedgerService, NotaryService, Pending, Refusal,
};

/// A node that has recorded little.
pub struct FakeReads;

impl LedgerService for FakeReads {
    fn transaction(&self, id: TxId) -> Pending<'_, TransactionView> {
        Box::pin(async move {
            Err(Refusal::listed(
                &api::codes::UNKNOWN_TRANSACTION,
                format!("transaction {id} is not recorded"),
            ))
        })
    }

    fn ledger(&self, after: Option<u64>, limit: usize) -> Pending<'_, LedgerPage> {
        Box::pin(async move {
            let first = after.map_or(0, |after| after + 1);
            let entry = |seq| LedgerEntry {
                seq,
                id: TxId::from_array([7; 32]).to_string(),
            };
            let entries: Vec<LedgerEntry> = (first..25_000).take(limit).map(entry).collect();
            let next = entries
                .last()
                .map(|entry| entry.seq)
                .filter(|seq| *seq < 24_999);
            Ok(LedgerPage { entries, next })
        })
    }

    fn chain(&self, id: TxId, before: Option<u64>, _: usize) -> Pending<'_, ChainPage> {
        let entry = ChainEntry {
            seq: before.unwrap_or(7),
            id: id.to_string(),
            depends_on: Vec::new(),
        };
        Box::pin(async move {
            Ok(ChainPage {
                entries: vec![entry],
                next: None,
            })
        })
    }

    fn notes(&self, _: TxId) -> Pending<'_, Vec<NoteView>> {
        Box::pin(async move { Ok(Vec::new()) })
    }

    fn add_note(&self, _: TxId, user: &Arc<str>, text: String) -> Pending<'_, NoteView> {
        let note = NoteView {
            id: "00".repeat(12),
            user: user.to_string(),
            at_ms: 1,
            text,
        };
        Box::pin(async move { Ok(note) })
    }

    fn remove_note(&self, _: TxId, note: kernel::NoteId) -> Pending<'_, ()> {
        Box::pin(async move {
            if note == [0; 12] {
                return Ok(());
            }
            let text = "no such note";
            Err(Refusal::listed(&api::codes::UNKNOWN_NOTE, text))
        })
    }

    fn schedule(&self, after: Option<Vec<u8>>, _: usize) -> Pending<'_, SchedulePage> {
        Box::pin(async move {
            Ok(SchedulePage {
                entries: Vec::new(),
                next: after.map(|after| primitives::hex::encode(&after)),
            })
        })
    }
}

impl ContractService for FakeReads {
    fn contracts(&self) -> ContractList {
        ContractList::default()
    }

    fn consents(
        &self,
        change: Option<kernel::ConsentChange>,
        user: &Arc<str>,
    ) -> Pending<'_, ConsentList> {
        let by = change.is_some().then(|| user.to_string());
        let list = ConsentList {
            notary_changes: NotaryConsent {
                accepted: true,
                configured: true,
                at_ms: by.as_ref().map(|_| 1),
                by,
            },
            upgrades: Vec::new(),
        };
        Box::pin(async move { Ok(list) })
    }
}

impl NotaryService for FakeReads {
    fn consumed(&self, after: Option<StateRef>, _: usize) -> Pending<'_, ConsumedPage> {
        Box::pin(async move {
            let Some(after) = after else {
                return Err(Refusal::listed(
                    &api::codes::NOT_A_NOTARY,
                    "this node is not a notary",
                ));
            };
            let entry = ConsumedEntry {
                state_ref: after.to_string(),
                consumed_by: after.tx.to_string(),
            };
            Ok(ConsumedPage {
                entries: vec![entry],
                next: None,
            })
        })
    }

    fn notary_requests(&self, _: Option<TxId>, _: usize) -> Pending<'_, RequestPage> {
        Box::pin(async move { Ok(RequestPage::default()) })
    }

    fn equivocations(&self, _: Option<TxId>, _: usize) -> Pending<'_, EquivocationPage> {
        Box::pin(async move { Ok(EquivocationPage::default()) })
    }
}

impl IntegrityService for FakeReads {
    fn order_recovery(&self, _: kernel::integrity::IntegrityOrder) -> Pending<'_, RecoveryView> {
        Box::pin(async move { Ok(RecoveryView::default()) })
    }
}
