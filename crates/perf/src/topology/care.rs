//! Care for a network between stretches of load: settings, restarts, wiping, and copies of what was prepared.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::config_file::Settings;
use super::copy::{copy_folder, remove_folder};
use super::network::{ANCHOR_FILE, Network, NetworkError, READY_MAX, STOP_MAX, Who, system};

/// A node's anchor in a snapshot.
fn anchor_in(snapshot: &Path, who: Who) -> PathBuf {
    snapshot.join(format!("{who}.anchor"))
}

/// What one node runs with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeCare {
    /// Settings over those that bootstrap wrote.
    pub settings: Settings,
    /// Processor cores that it may use, the first so many of ours; all of them if `None`.
    pub cores: Option<u32>,
}

impl Network {
    /// Makes every node run with what `care` says. Those that run with something else are restarted in good order, the
    /// others go on; returns whether any was.
    pub fn configure(&mut self, care: impl Fn(Who) -> NodeCare) -> Result<bool, NetworkError> {
        let mut changed = Vec::new();
        for who in self.everybody() {
            let NodeCare { settings, cores } = care(who);
            let member = self.member_mut(who);
            let laid = member.config.lay(&settings)?;
            let bound = member.process.set_cores(cores);
            if (laid || bound) && member.process.pid().is_some() {
                changed.push(who);
            }
        }
        self.stop_those(&changed)?;
        self.start_those(&changed)?;
        Ok(!changed.is_empty())
    }

    /// Restarts every node in good order.
    pub fn restart_all(&mut self) -> Result<(), NetworkError> {
        self.stop_all()?;
        self.start_all()
    }

    /// Asks every node that runs to finish and end, all at once.
    pub fn stop_all(&mut self) -> Result<(), NetworkError> {
        let running: Vec<Who> = self.everybody();
        let running: Vec<Who> = running
            .into_iter()
            .filter(|who| self.pid(*who).is_some())
            .collect();
        self.stop_those(&running)
    }

    /// Starts every node without data, as bootstrap left it.
    pub fn wipe(&mut self) -> Result<(), NetworkError> {
        self.stop_all()?;
        for who in self.everybody() {
            self.forget_data(who)?;
        }
        self.start_all()
    }

    /// Removes the data of one that does not run, and lets its next start make an empty store.
    pub fn forget_data(&mut self, who: Who) -> Result<(), NetworkError> {
        let data = self.data(who);
        remove_folder(&data).map_err(|source| system(&data.display().to_string(), source))?;
        let anchor = self.folder(who).join(ANCHOR_FILE);
        std::fs::write(&anchor, &self.member_mut(who).fresh_anchor)
            .map_err(|source| system(&anchor.display().to_string(), source))
    }

    /// Copies every node's data into `into`, which must not exist; the network rests meanwhile and runs again after it.
    pub fn snapshot(&mut self, into: &Path) -> Result<(), NetworkError> {
        self.stop_all()?;
        std::fs::create_dir_all(into)
            .map_err(|source| system(&into.display().to_string(), source))?;
        for who in self.everybody() {
            let (from, to) = (self.data(who), into.join(who.to_string()));
            copy_folder(&from, &to)
                .map_err(|source| system(&from.display().to_string(), source))?;
            Self::copy_anchor(&self.folder(who).join(ANCHOR_FILE), &anchor_in(into, who))?;
        }
        self.start_all()
    }

    /// Puts a snapshot of this network in the place of every node's data; the network runs after it.
    pub fn restore(&mut self, snapshot: &Path) -> Result<(), NetworkError> {
        self.stop_all()?;
        for who in self.everybody() {
            let (from, to) = (snapshot.join(who.to_string()), self.data(who));
            remove_folder(&to)
                .and_then(|()| copy_folder(&from, &to))
                .map_err(|source| system(&from.display().to_string(), source))?;
            Self::copy_anchor(
                &anchor_in(snapshot, who),
                &self.folder(who).join(ANCHOR_FILE),
            )?;
        }
        self.start_all()
    }

    /// Copies the file that names a node's store: a store and its anchor belong together.
    fn copy_anchor(from: &Path, to: &Path) -> Result<(), NetworkError> {
        std::fs::copy(from, to).map_err(|source| system(&from.display().to_string(), source))?;
        Ok(())
    }

    fn stop_those(&mut self, those: &[Who]) -> Result<(), NetworkError> {
        // All are asked first, so that they finish side by side.
        for who in those {
            self.member_mut(*who).process.ask_to_stop();
        }
        for who in those {
            self.member_mut(*who).process.stop(STOP_MAX)?;
        }
        Ok(())
    }

    fn start_those(&mut self, those: &[Who]) -> Result<(), NetworkError> {
        for who in those {
            self.member_mut(*who).process.start()?;
        }
        let deadline = Instant::now() + READY_MAX;
        for who in those {
            let left = deadline.saturating_duration_since(Instant::now());
            self.member_mut(*who).process.wait_ready(left)?;
        }
        Ok(())
    }
}
