//! Entering the batches of one worker, with repetitions after an existing key, a deadlock or a lost connection. The same for every database.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ledger::{StateRef, TxId};
use notary::{
    Entry, RequestRecord, UniquenessAnswer, UniquenessCheck, UniquenessOutcome, UniquenessRecord,
};
use primitives::storage::StoreFailure;
use primitives::{Coded, Encode};

use crate::error::RecordError;
use crate::figures::{Counters, RecordFigures, add};
use crate::maria::Maria;
use crate::postgres::Postgres;
use crate::session::{Rows, Session, Trouble, VERSION};
use crate::settings::{Engine, Settings};

/// Repetitions of one batch because other transactions are in the way.
const RETRIES_MAX: u32 = 50;
/// Longest pause before the first repetition. It doubles up to [`PAUSE_MAX`].
const PAUSE_FIRST: Duration = Duration::from_millis(2);
/// Longest pause before a repetition.
const PAUSE_MAX: Duration = Duration::from_millis(100);

/// A record in a database that several workers share.
pub struct SharedRecord {
    session: Box<dyn Session>,
    is_connected: bool,
    give_up: Duration,
    counters: Arc<Counters>,
    /// The code of the last failure, so that it is reported once.
    reported: Option<&'static str>,
}

/// Reads the figures of a record that is in use elsewhere.
#[derive(Clone)]
pub struct RecordMeter(Arc<Counters>);

impl RecordMeter {
    /// Returns the figures.
    #[must_use]
    pub fn figures(&self) -> RecordFigures {
        self.0.figures()
    }
}

/// Connects to a shared record, and makes its tables if they are missing. Waits for a server for as long as a batch would.
///
/// # Errors
/// No server can be used, or the tables belong to another notary or a later version.
pub fn open(settings: &Settings) -> Result<SharedRecord, RecordError> {
    crate::settings::check_url(&settings.url, settings.ca.is_some())
        .map_err(|error| RecordError::Settings(format!("notary_database.url: {error}")))?;
    let session: Box<dyn Session> = match Engine::of(&settings.url) {
        Some(Engine::Postgres) => Box::new(Postgres::new(settings)?),
        _ => Box::new(Maria::new(settings)?),
    };
    let mut record = SharedRecord {
        session,
        is_connected: false,
        give_up: settings.give_up,
        counters: Arc::default(),
        reported: None,
    };
    let until = Instant::now() + settings.give_up;
    let service = settings.service.to_bytes();
    let (version, owner, is_moved) = record.repeat(until, |session| session.prepare(&service))?;
    if version > VERSION {
        return Err(RecordError::TooNew {
            found: version,
            known: VERSION,
        });
    }
    if owner != service {
        let text = format!("not that of {}", settings.service.name);
        return Err(RecordError::ForeignRecord(text));
    }
    if settings.is_successor && !is_moved {
        return Err(RecordError::NotMoved);
    }
    Ok(record)
}

impl UniquenessRecord for SharedRecord {
    fn settle(&mut self, check: &UniquenessCheck) -> Result<UniquenessOutcome, StoreFailure> {
        let until = Instant::now() + self.give_up;
        match self.enter(check, until) {
            Ok(answer) => {
                self.reported = None;
                add(&self.counters.batches, 1);
                Ok(UniquenessOutcome::Found(answer))
            }
            Err(error) => {
                // A transaction that failed in the middle would keep its locks.
                self.is_connected = false;
                add(&self.counters.unavailable, 1);
                self.report(&error);
                Ok(UniquenessOutcome::Unavailable)
            }
        }
    }
}

impl SharedRecord {
    /// Lets workers use the record after the data of the notary before them is in it.
    ///
    /// # Errors
    /// The database can't be reached in time.
    pub fn finish_move(&mut self) -> Result<(), RecordError> {
        let until = self.until();
        self.repeat(until, |session| session.finish_move())
    }

    /// Returns a reader of the figures.
    #[must_use]
    pub fn meter(&self) -> RecordMeter {
        RecordMeter(Arc::clone(&self.counters))
    }

    /// Returns the time limit for a question.
    fn until(&self) -> Instant {
        Instant::now() + self.give_up
    }

    /// Returns which of these transactions are accepted, and the consumers of these states.
    ///
    /// # Errors
    /// The database can't be reached in time.
    pub fn look_up(
        &mut self,
        ids: &[TxId],
        states: &[StateRef],
    ) -> Result<UniquenessAnswer, RecordError> {
        let until = self.until();
        self.repeat(until, |session| session.look_up(ids, states))
    }

    /// Returns at most `limit` consumed states after one of them, in their order.
    ///
    /// # Errors
    /// The database can't be reached in time, or a row is damaged.
    pub fn states_after(
        &mut self,
        after: Option<&StateRef>,
        limit: usize,
    ) -> Result<Vec<(StateRef, TxId)>, RecordError> {
        let until = self.until();
        self.repeat(until, |session| session.states_after(after, limit))
    }

    /// Returns at most `limit` accepted transactions after one of them, in the order of their ids, with the first request for each.
    ///
    /// # Errors
    /// The database can't be reached in time, or a row is damaged.
    pub fn transactions_after(
        &mut self,
        after: Option<&TxId>,
        limit: usize,
    ) -> Result<Vec<(TxId, RequestRecord)>, RecordError> {
        let until = self.until();
        self.repeat(until, |session| session.transactions_after(after, limit))
    }

    /// Returns the state of the database and its cluster: names with values.
    ///
    /// # Errors
    /// The database can't be reached in time.
    pub fn standing(&mut self) -> Result<Vec<(String, String)>, RecordError> {
        let until = self.until();
        self.repeat(until, |session| session.standing())
    }

    /// Enters states that a notary has consumed before, in the order of their keys. Those that are there already stay as they are, so it can
    /// be repeated.
    ///
    /// # Errors
    /// The database can't be reached in time, or it has another consumer of a state.
    pub fn import_states(&mut self, states: &[(StateRef, TxId)]) -> Result<(), RecordError> {
        let until = self.until();
        let refs: Vec<StateRef> = states.iter().map(|(state, _)| *state).collect();
        self.repeat(until, |session| {
            let found = session.look_up(&[], &refs)?.consumers;
            let mut rows = Rows::default();
            for (state, consumer) in states {
                match found.get(state) {
                    None => rows.states.push((state, consumer)),
                    Some(known) if known == consumer => {}
                    Some(known) => {
                        let text =
                            format!("state {state} is consumed by {known}, not by {consumer}");
                        return Err(Trouble::Refused(RecordError::Contradiction(text)));
                    }
                }
            }
            session.enter(&rows)
        })
    }

    /// Enters transactions that a notary has accepted before, in the order of their ids. Those that are there already stay as they are.
    ///
    /// # Errors
    /// The database can't be reached in time.
    pub fn import_transactions(
        &mut self,
        transactions: &[(TxId, RequestRecord)],
    ) -> Result<(), RecordError> {
        let until = self.until();
        let ids: Vec<TxId> = transactions.iter().map(|(id, _)| *id).collect();
        self.repeat(until, |session| {
            let found = session.look_up(&ids, &[])?.accepted;
            let new = transactions.iter().filter(|(id, _)| !found.contains(id));
            session.enter(&Rows {
                states: Vec::new(),
                transactions: new.map(|(id, record)| (id, record)).collect(),
            })
        })
    }

    fn report(&mut self, error: &RecordError) {
        if self.reported.replace(error.code()) != Some(error.code()) {
            tracing::error!(code = error.code(), hint = error.hint(), "{error}");
        }
    }

    /// Enters the free entries. Returns the rows that existed before. Sends nothing to be entered after `until`.
    fn enter(
        &mut self,
        check: &UniquenessCheck,
        until: Instant,
    ) -> Result<UniquenessAnswer, RecordError> {
        let mut answer = UniquenessAnswer::default();
        let reads = check
            .entries
            .iter()
            .any(|entry| !entry.references.is_empty());
        let mut pending: Vec<&Entry> = check.entries.iter().collect();
        // Tables are written in the order of their keys: two workers then seldom wait for each other.
        pending.sort_unstable_by_key(|entry| entry.id);
        if reads || !check.look_ups.is_empty() {
            answer = self.look_up_entries(&pending, &check.look_ups, until)?;
            pending.retain(|entry| entry.is_free(&answer));
        }
        let mut retries = 0;
        while !pending.is_empty() {
            let mut must_read = false;
            let rows = Rows::of(&pending);
            let entered = self.once(
                // The windows were judged for an entry until then. The connection before it may have taken long.
                |session| match Instant::now() < until {
                    true => session.enter(&rows),
                    false => Err(Trouble::Refused(too_late())),
                },
                until,
            )?;
            match entered {
                Ok(()) => {
                    let states = pending.iter().map(|entry| entry.inputs.len() as u64);
                    add(&self.counters.states, states.sum());
                    break;
                }
                Err(Trouble::Duplicate) => {
                    add(&self.counters.duplicates, 1);
                    must_read = true;
                }
                Err(Trouble::Undone(reason)) => {
                    add(&self.counters.retries, 1);
                    tracing::debug!("a batch is entered again: {reason}");
                }
                Err(Trouble::RowHeld(reason)) => {
                    add(&self.counters.retries, 1);
                    self.report(&RecordError::RowHeld(reason));
                    // The statement may have consumed the states for another worker.
                    must_read = true;
                }
                Err(Trouble::Lost(error)) => {
                    add(&self.counters.lost, 1);
                    self.report(&error);
                    must_read = true;
                }
                Err(Trouble::Refused(error)) => return Err(error),
            }
            let before = pending.len();
            if must_read {
                // Also tells the outcome after a lost connection. If the server still works on the lost batch, its rows and these
                // exclude each other, because they have the same keys.
                let found = self.look_up_entries(&pending, &[], until)?;
                answer.accepted.extend(found.accepted);
                answer.consumers.extend(found.consumers);
                pending.retain(|entry| entry.is_free(&answer));
            }
            if pending.len() == before {
                retries += 1;
                if retries > RETRIES_MAX || Instant::now() >= until {
                    return Err(RecordError::Server(
                        "other transactions are in the way of a batch".into(),
                    ));
                }
                pause(retries);
            }
        }
        Ok(answer)
    }

    fn look_up_entries(
        &mut self,
        entries: &[&Entry],
        more: &[TxId],
        until: Instant,
    ) -> Result<UniquenessAnswer, RecordError> {
        let mut ids: Vec<TxId> = entries.iter().map(|entry| entry.id).collect();
        ids.extend(more);
        ids.sort_unstable();
        let states = entries
            .iter()
            .flat_map(|entry| entry.inputs.iter().chain(&entry.references));
        let mut states: Vec<StateRef> = states.copied().collect();
        states.sort_unstable();
        states.dedup();
        self.repeat(until, |session| session.look_up(&ids, &states))
    }

    /// Carries out something that changes nothing, or nothing more if it is repeated, until it succeeds.
    fn repeat<T>(
        &mut self,
        until: Instant,
        mut work: impl FnMut(&mut dyn Session) -> Result<T, Trouble>,
    ) -> Result<T, RecordError> {
        let mut retries = 0;
        loop {
            let error = match self.once(&mut work, until)? {
                Ok(done) => return Ok(done),
                Err(Trouble::Refused(error)) => return Err(error),
                Err(Trouble::Lost(error)) => error,
                Err(Trouble::RowHeld(reason)) => RecordError::RowHeld(reason),
                Err(Trouble::Undone(reason)) => RecordError::Server(reason),
                Err(Trouble::Duplicate) => RecordError::Server("a key is there already".into()),
            };
            retries += 1;
            if Instant::now() >= until {
                return Err(error);
            }
            pause(retries);
        }
    }

    /// Carries out one round trip on a connection, which is made first if there is none. A lost connection is closed. So is one to a server
    /// on which another statement keeps a row: the next connection is to the next server.
    fn once<T>(
        &mut self,
        mut work: impl FnMut(&mut dyn Session) -> Result<T, Trouble>,
        until: Instant,
    ) -> Result<Result<T, Trouble>, RecordError> {
        let mut attempts = 0;
        while !self.is_connected {
            match self.session.connect() {
                Ok(()) => {
                    self.is_connected = true;
                    self.counters.connected(self.session.server());
                }
                Err(error) if error.may_pass() && Instant::now() < until => {
                    attempts += 1;
                    pause(attempts);
                }
                Err(error) => return Err(error),
            }
        }
        let began = Instant::now();
        let done = work(&mut *self.session);
        self.counters.round_trip(began.elapsed());
        if let Err(Trouble::Lost(_) | Trouble::RowHeld(_)) = &done {
            self.is_connected = false;
            self.counters.connected(String::new());
        }
        Ok(done)
    }
}

fn too_late() -> RecordError {
    RecordError::Unreachable("a batch could not be entered in time".into())
}

/// Waits for a random time, which is longer after more attempts.
fn pause(attempts: u32) {
    let longest = PAUSE_FIRST
        .saturating_mul(1 << attempts.min(10))
        .min(PAUSE_MAX);
    let mut random = [0; 2];
    // Without a random number everybody waits for the longest time.
    let share = match getrandom::fill(&mut random) {
        Ok(()) => u32::from(u16::from_le_bytes(random)) + 1,
        Err(_) => 1 << 16,
    };
    std::thread::sleep(longest * share / (1 << 16));
}

#[cfg(test)]
mod tests;
