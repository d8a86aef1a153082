//! Tests with a staged database.

use std::sync::atomic::{AtomicU32, Ordering};

use ledger::{LegalName, NotaryRequest, Party};
use primitives::{Domain, Hash, KeyPair, Scheme, SignatureContext, Timestamp};

use super::*;

/// Servers that fail at one insert, and do everything else. The one of the first connection is `server 1`.
struct Staged {
    fails: Option<Trouble>,
    connections: u32,
    /// Inserts that were sent.
    inserts: Arc<AtomicU32>,
}

impl Staged {
    fn failing(fails: Option<Trouble>) -> Self {
        Self {
            fails,
            connections: 0,
            inserts: Arc::default(),
        }
    }

    /// Returns a record on these servers, without a connection.
    fn into_record(self, give_up: Duration) -> SharedRecord {
        SharedRecord {
            session: Box::new(self),
            is_connected: false,
            give_up,
            counters: Arc::default(),
            reported: None,
        }
    }
}

impl Session for Staged {
    fn connect(&mut self) -> Result<(), RecordError> {
        self.connections += 1;
        Ok(())
    }

    fn prepare(&mut self, _: &[u8]) -> Result<(u64, Vec<u8>, bool), Trouble> {
        unreachable!("the record is open")
    }

    fn finish_move(&mut self) -> Result<(), Trouble> {
        unreachable!("nothing is moved")
    }

    fn enter(&mut self, _: &Rows<'_>) -> Result<(), Trouble> {
        self.inserts.fetch_add(1, Ordering::Relaxed);
        self.fails.take().map_or(Ok(()), Err)
    }

    fn look_up(&mut self, _: &[TxId], _: &[StateRef]) -> Result<UniquenessAnswer, Trouble> {
        Ok(UniquenessAnswer::default())
    }

    fn states_after(
        &mut self,
        _: Option<&StateRef>,
        _: usize,
    ) -> Result<Vec<(StateRef, TxId)>, Trouble> {
        unreachable!("nothing is listed")
    }

    fn transactions_after(
        &mut self,
        _: Option<&TxId>,
        _: usize,
    ) -> Result<Vec<(TxId, RequestRecord)>, Trouble> {
        unreachable!("nothing is listed")
    }

    fn standing(&mut self) -> Result<Vec<(String, String)>, Trouble> {
        unreachable!("nobody asks")
    }

    fn server(&self) -> String {
        format!("server {}", self.connections)
    }
}

/// A batch of one transaction.
fn batch() -> UniquenessCheck {
    let key = KeyPair::from_seed(Scheme::Ed25519, [7; 32]);
    let name = LegalName::new("Notary Service", "Zurich", "CH").expect("a legal name");
    let service = Party::new(name, key.public().clone());
    let id = TxId::from_hash(Hash::of(Domain::Derive, &[b"a transaction"]));
    let message = NotaryRequest::message(&id, &service.id());
    let entry = Entry {
        id,
        inputs: vec![StateRef::new(id, 0)],
        references: Vec::new(),
        record: RequestRecord {
            requester: service.id(),
            key: key.public().clone(),
            signature: key.sign(SignatureContext::NotaryRequest, &message),
            at: Timestamp::from_ms(1),
        },
    };
    UniquenessCheck {
        number: 0,
        transactions: vec![id],
        states: entry.inputs.clone(),
        look_ups: Vec::new(),
        entries: vec![entry],
    }
}

#[test]
fn a_batch_moves_to_the_next_server_when_its_server_does_not_serve_it() {
    let lost = || Trouble::Lost(RecordError::Unreachable("x".into()));
    for (fails, server, retries, lost) in [
        (None, "server 1", 0, 0),
        (Some(Trouble::Undone("x".into())), "server 1", 1, 0),
        (Some(Trouble::RowHeld("x".into())), "server 2", 1, 0),
        (Some(lost()), "server 2", 0, 1),
    ] {
        let title = format!("{fails:?}");
        let mut record = Staged::failing(fails).into_record(Duration::from_secs(60));
        let settled = record.settle(&batch());
        assert!(
            matches!(settled, Ok(UniquenessOutcome::Found(_))),
            "{title}: {settled:?}"
        );
        let figures = record.meter().figures();
        assert_eq!(figures.server, server, "{title}");
        assert_eq!((figures.retries, figures.lost), (retries, lost), "{title}");
    }
}

#[test]
fn nothing_is_entered_after_the_time_for_a_batch() {
    let with_reference = |mut check: UniquenessCheck| {
        check.entries[0].references = vec![StateRef::new(check.entries[0].id, 1)];
        check
    };
    let (patient, hasty) = (Duration::from_secs(60), Duration::ZERO);
    // (the question, time for a batch, inserts that are sent). With a reference, the batch is looked up first.
    for (check, give_up, inserts) in [
        (batch(), patient, 1),
        (batch(), hasty, 0),
        (with_reference(batch()), patient, 1),
        (with_reference(batch()), hasty, 0),
    ] {
        let staged = Staged::failing(None);
        let sent = Arc::clone(&staged.inserts);
        let mut record = staged.into_record(give_up);
        let settled = record.settle(&check);
        assert_eq!(sent.load(Ordering::Relaxed), inserts, "{give_up:?}");
        assert_eq!(
            matches!(settled, Ok(UniquenessOutcome::Unavailable)),
            inserts == 0,
            "{give_up:?}: {settled:?}"
        );
    }
}
