//! `notarise`: the notary alone. Members without a node ask it to notarise transactions that consume new states.
//!
//! After the load each worker asks again about the last transaction that the notary signed for it, and about another one that consumes
//! the same state: the notary has to sign the first and to refuse the second. No node records these transactions, so the audit compares
//! only their number with the notary's.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use ledger::{NotaryError, NotaryResponse, StateRef, WireTransaction, consuming_hash};
use member::{Identity, Member, MemberError};
use primitives::Coded;

use super::boxed::Boxed;
use super::codes::{NO_REQUESTER, WRONG_DECISION};
use super::ended::{Failed, Tried};
use super::registry::Make;
use super::traits::{Prepares, Worker, Workload};
use super::{KnobError, Knobs, Site};

/// The kind, a one-line description, and the constructor.
pub(super) const REGISTERED: (&str, &str, Make) = (
    "notarise",
    "The notary alone: requests straight to it, in the names of members without a node.",
    Notarise::make,
);

/// Maximum number of states in a transaction.
const STATES_MAX: u64 = 1_000;
/// Maximum number of states consumed before the load.
const CONSUMED_MAX: u64 = 1_000_000_000;
/// States in a transaction of the preparation.
const PREPARED_STATES: u64 = 500;
/// Transactions of the preparation that are outstanding.
const PREPARED_OUTSTANDING: usize = 64;
/// Time for the connections to all workers of a notary.
const CONNECT_MAX: Duration = Duration::from_secs(20);
/// Interval between two looks at the connections.
const LOOK: Duration = Duration::from_millis(5);
/// Pause before a request that a busy notary refused is made again in the preparation.
const BUSY_PAUSE: Duration = Duration::from_millis(50);

struct Notarise {
    states: u64,
    consumed: u64,
    /// The members, while any worker uses them.
    crew: Mutex<Weak<Crew>>,
}

/// The members in whose names the load asks.
struct Crew {
    members: Vec<Member>,
    next: AtomicU64,
}

impl Notarise {
    fn make(knobs: &mut Knobs) -> Result<Arc<dyn Workload>, KnobError> {
        Ok(Arc::new(Self {
            states: knobs.number("states", 1, 1..=STATES_MAX)?,
            consumed: knobs.number("consumed", 0, 0..=CONSUMED_MAX)?,
            crew: Mutex::default(),
        }))
    }

    /// Returns the members, connected to the notary.
    async fn crew(&self, site: &Site) -> Result<Arc<Crew>, Failed> {
        let crew = {
            let mut known = self.crew.lock().unwrap_or_else(PoisonError::into_inner);
            match known.upgrade() {
                Some(crew) => crew,
                None => {
                    let crew = Arc::new(Crew::join(site)?);
                    *known = Arc::downgrade(&crew);
                    crew
                }
            }
        };
        crew.connected().await?;
        Ok(crew)
    }
}

impl Workload for Notarise {
    fn kind(&self) -> &str {
        REGISTERED.0
    }

    fn prepare<'a>(
        &'a self,
        site: &'a Arc<Site>,
        _units_expected: u64,
    ) -> Boxed<'a, Result<(), Failed>> {
        Box::pin(async move {
            let crew = self.crew(site).await?;
            let transactions = self.consumed.div_ceil(PREPARED_STATES);
            let progress = site.preparation();
            progress.begin("transactions that consume states", transactions);
            let left = Arc::new(AtomicU64::new(transactions));
            let mut tasks = tokio::task::JoinSet::new();
            for _ in 0..PREPARED_OUTSTANDING {
                let (site, crew, left) = (Arc::clone(site), Arc::clone(&crew), Arc::clone(&left));
                tasks.spawn(async move {
                    let take = |left: u64| left.checked_sub(1);
                    while left
                        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
                        .is_ok()
                    {
                        crew.consume(PREPARED_STATES).await?;
                        site.notarised(PREPARED_STATES);
                        site.preparation().advance();
                    }
                    Ok::<(), Failed>(())
                });
            }
            while let Some(done) = tasks.join_next().await {
                done.map_err(|error| Failed::new(NO_REQUESTER, error.to_string()))??;
            }
            Ok(())
        })
    }

    fn prepares(&self, _: u64) -> Prepares {
        match self.consumed {
            0 => Prepares::Nothing,
            consumed => Prepares::By(format!("{consumed} consumed states")),
        }
    }

    fn worker<'a>(
        &'a self,
        site: &'a Arc<Site>,
        number: u32,
    ) -> Boxed<'a, Result<Box<dyn Worker>, Failed>> {
        Box::pin(async move {
            let crew = self.crew(site).await?;
            Ok(Box::new(Asking {
                member: number as usize % crew.members.len(),
                crew,
                site: Arc::clone(site),
                states: self.states,
                last: Mutex::default(),
            }) as Box<dyn Worker>)
        })
    }

    fn states_per_unit(&self) -> f64 {
        self.states as f64
    }
}

impl Crew {
    fn join(site: &Site) -> Result<Self, Failed> {
        let join = |folder: &std::path::PathBuf| {
            let identity = Identity::read(folder)?;
            Member::join(identity)
        };
        let members: Result<Vec<Member>, MemberError> =
            site.requesters().iter().map(join).collect();
        let members = members.map_err(|error| Failed::new(NO_REQUESTER, error.to_string()))?;
        if members.is_empty() {
            let message = "the network has no member without a node";
            return Err(Failed::new(NO_REQUESTER, message));
        }
        Ok(Self {
            members,
            next: AtomicU64::new(0),
        })
    }

    /// Waits until every member is connected to every worker of the notary.
    async fn connected(&self) -> Result<(), Failed> {
        let deadline = Instant::now() + CONNECT_MAX;
        for member in &self.members {
            loop {
                let (up, all) = member.connected();
                if up == all {
                    break;
                }
                if Instant::now() >= deadline {
                    let message =
                        format!("a member is connected to {up} of {all} workers of the notary");
                    return Err(Failed::new(NO_REQUESTER, message));
                }
                tokio::time::sleep(LOOK).await;
            }
        }
        Ok(())
    }

    /// Has new states consumed, in one transaction. Asks again while the notary is busy.
    async fn consume(&self, states: u64) -> Result<(), Failed> {
        // Far fewer members than 2^32.
        let turn = self.next.fetch_add(1, Ordering::Relaxed) as usize;
        let member = &self.members[turn % self.members.len()];
        let states = member.new_states(states as usize).map_err(asked)?;
        let wire = member.transaction(&states, &[]).map_err(asked)?;
        loop {
            match member.notarise(&wire).await.map_err(asked)? {
                NotaryResponse::Signed(_) => return Ok(()),
                NotaryResponse::Refused(error) if error.is_transient() => {
                    tokio::time::sleep(BUSY_PAUSE).await;
                }
                NotaryResponse::Refused(error) => return Err(refused(&error)),
            }
        }
    }
}

/// A worker. It asks in the name of one member.
struct Asking {
    crew: Arc<Crew>,
    site: Arc<Site>,
    member: usize,
    states: u64,
    /// The last transaction that the notary signed, and a state that it consumes.
    last: Mutex<Option<(WireTransaction, StateRef)>>,
}

impl Asking {
    fn member(&self) -> &Member {
        &self.crew.members[self.member]
    }
}

impl Worker for Asking {
    fn invoke(&self, _unit: u64) -> Boxed<'_, Result<Tried, Failed>> {
        Box::pin(async move {
            let member = self.member();
            let states = member.new_states(self.states as usize).map_err(asked)?;
            let wire = member.transaction(&states, &[]).map_err(asked)?;
            match member.notarise(&wire).await.map_err(asked)? {
                NotaryResponse::Signed(_) => {
                    let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
                    *last = Some((wire, states[0]));
                    self.site.notarised(self.states);
                    Ok(Tried::default())
                }
                NotaryResponse::Refused(error) => Err(refused(&error)),
            }
        })
    }

    fn teardown(&self) -> Boxed<'_, Result<(), Failed>> {
        Box::pin(async move {
            let last = {
                let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
                last.take()
            };
            let Some((wire, state)) = last else {
                return Ok(());
            };
            let member = self.member();
            let again = member.notarise(&wire).await.map_err(asked)?;
            let wrong = |message: String| Err(Failed::new(WRONG_DECISION, message));
            if let NotaryResponse::Refused(error) = again {
                return wrong(format!("{} was signed before: {error}", wire.id()));
            }
            let other = member.transaction(&[state], &[]).map_err(asked)?;
            match member.notarise(&other).await.map_err(asked)? {
                NotaryResponse::Refused(NotaryError::Conflict { conflicts })
                    if conflicts.iter().all(|conflict| {
                        conflict.input == state
                            && conflict.consumed_by == consuming_hash(&wire.id())
                    }) =>
                {
                    Ok(())
                }
                NotaryResponse::Refused(error) => {
                    wrong(format!("{state} was consumed by {}: {error}", wire.id()))
                }
                NotaryResponse::Signed(_) => wrong(format!(
                    "{state} was consumed by {}, and then by {}",
                    wire.id(),
                    other.id()
                )),
            }
        })
    }
}

fn asked(error: MemberError) -> Failed {
    Failed::new(NO_REQUESTER, error.to_string())
}

fn refused(error: &NotaryError) -> Failed {
    Failed::new(error.code(), error.to_string())
}
