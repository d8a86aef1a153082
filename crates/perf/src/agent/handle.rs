//! A handle through which several parts of a run share the team.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;

use super::team::{Task, Team, TeamOutcome};
use crate::load::engine::{LoadEnvironment, Real, Settings};
use crate::plan::Load;
use crate::workload::Site;

/// Interval between two signs of life while the agents are idle.
const ALIVE_EVERY: Duration = Duration::from_secs(5);

/// A handle to a [`Team`]. Clones share it. While one exists, agents keep waiting, however long a preparation takes.
#[derive(Clone)]
pub struct Agents {
    team: Arc<Mutex<Team>>,
}

impl Agents {
    /// Creates a handle. Must be called on the run's runtime.
    pub fn new(team: Team) -> Self {
        let team = Arc::new(Mutex::new(team));
        let watched = Arc::downgrade(&team);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(ALIVE_EVERY).await;
                let Some(team) = watched.upgrade() else {
                    return;
                };
                // A busy team sends its own signs of life.
                if let Ok(team) = team.try_lock() {
                    team.alive().await;
                }
            }
        });
        Self { team }
    }

    /// Runs [`Team::stretch`].
    pub async fn stretch(
        &self,
        clock: &Real,
        task: &Task,
        load: &Load,
        settings: &Settings,
        around: &LoadEnvironment,
        site: &Arc<Site>,
    ) -> TeamOutcome {
        let mut team = self.team.lock().await;
        team.stretch(clock, task, load, settings, around, site)
            .await
    }
}
