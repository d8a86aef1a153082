//! Tests with a staged database.

use ledger::{LegalName, NotaryRequest, Party};
use primitives::{Domain, Hash, KeyPair, Scheme, SignatureContext, Timestamp};

use super::*;

/// Servers that fail at one insert, and do everything else. The one of the first connection is `server 1`.
struct Staged {
    fails: Option<Trouble>,
    connections: u32,
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
        let mut record = SharedRecord {
            session: Box::new(Staged {
                fails,
                connections: 0,
            }),
            is_connected: false,
            give_up: Duration::from_secs(60),
            counters: Arc::default(),
            reported: None,
        };
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
