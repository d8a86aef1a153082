//! The team as several parts of a run share it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;

use super::team::{Task, Team, Together};
use crate::load::engine::{Around, Real, Settings};
use crate::plan::Load;
use crate::workload::Site;

/// Between two signs of life while nothing is asked of the agents.
const ALIVE_EVERY: Duration = Duration::from_secs(5);

/// A handle to a [`Team`]; clones are the same team. While one lives, agents are kept waiting, however long a preparation
/// takes.
#[derive(Clone)]
pub struct Agents {
    team: Arc<Mutex<Team>>,
}

impl Agents {
    /// Must be called on the runtime that the run is on.
    pub fn new(team: Team) -> Self {
        let team = Arc::new(Mutex::new(team));
        let watched = Arc::downgrade(&team);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(ALIVE_EVERY).await;
                let Some(team) = watched.upgrade() else {
                    return;
                };
                // A team that is at work gives its own signs of life.
                if let Ok(team) = team.try_lock() {
                    team.alive().await;
                }
            }
        });
        Self { team }
    }

    /// See [`Team::stretch`].
    pub async fn stretch(
        &self,
        clock: &Real,
        task: &Task,
        load: &Load,
        settings: &Settings,
        around: &Around,
        site: &Arc<Site>,
    ) -> Together {
        let mut team = self.team.lock().await;
        team.stretch(clock, task, load, settings, around, site)
            .await
    }
}
