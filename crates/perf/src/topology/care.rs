//! Management of a network between stretches of load: settings, restarts, wiping, and copies of prepared data.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::config_file::Settings;
use super::network::{ANCHOR_FILE, Network, READY_MAX, STOP_MAX};
use super::network_error::{NetworkError, system};
use super::who::Who;

/// The configuration of one node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeCare {
    /// Settings that override those of bootstrap.
    pub settings: Settings,
    /// Number of processor cores that it may use, counted from the first of ours; all if `None`.
    pub cores: Option<u32>,
}

impl Network {
    /// Applies the configuration of `care` to every node. Nodes with a different configuration are restarted in good
    /// order, the others continue. Returns whether any was restarted.
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

    /// Restarts every node after an orderly stop. Returns how long the slowest took to start.
    pub fn restart_all(&mut self) -> Result<Duration, NetworkError> {
        self.stop_all()?;
        self.start_all()
    }

    /// Asks every running node to finish and end, all at once.
    pub fn stop_all(&mut self) -> Result<(), NetworkError> {
        let running: Vec<Who> = self.everybody();
        let running: Vec<Who> = running
            .into_iter()
            .filter(|who| self.pid(*who).is_some())
            .collect();
        self.stop_those(&running)
    }

    /// Starts every node without data, in the state that bootstrap left.
    pub fn wipe(&mut self) -> Result<(), NetworkError> {
        self.stop_all()?;
        for who in self.everybody() {
            self.forget_data(who)?;
        }
        if let Some(database) = self.notary_database() {
            database.clear()?;
        }
        self.start_all().map(drop)
    }

    /// Removes the data of a stopped node, and lets its next start make an empty store.
    pub fn forget_data(&mut self, who: Who) -> Result<(), NetworkError> {
        self.host(who).remove(&self.data(who))?;
        let folder = self.folder(who).to_path_buf();
        if let Some(database) = self.database() {
            database.forget(&folder)?;
        }
        let member = self.member_mut(who);
        Ok(member.folder.write(ANCHOR_FILE, &member.fresh_anchor)?)
    }

    /// Copies every node's data into `into`, which must not exist, each on its own host. On other machines it is a place
    /// within the network's folder. The network is stopped meanwhile and runs again afterwards.
    pub fn snapshot(&mut self, into: &Path) -> Result<(), NetworkError> {
        self.stop_all()?;
        std::fs::create_dir_all(into)
            .map_err(|source| system(&into.display().to_string(), source))?;
        for who in self.everybody() {
            let (data, anchor) = self.in_snapshot(into, who);
            let host = self.host(who);
            host.copy(&self.data(who), &data)?;
            // A store and the file that names it belong together.
            host.copy(&self.anchor(who), &anchor)?;
        }
        if let Some(database) = self.database() {
            database.save(into)?;
        }
        if let Some(database) = self.notary_database() {
            database.save(into)?;
        }
        self.start_all().map(drop)
    }

    /// Replaces every node's data with a snapshot of this network. The network runs afterwards.
    pub fn restore(&mut self, snapshot: &Path) -> Result<(), NetworkError> {
        self.stop_all()?;
        for who in self.everybody() {
            let (data, anchor) = self.in_snapshot(snapshot, who);
            let host = self.host(who);
            host.remove(&self.data(who))?;
            host.copy(&data, &self.data(who))?;
            host.copy(&anchor, &self.anchor(who))?;
        }
        if let Some(database) = self.database() {
            database.restore(snapshot)?;
        }
        if let Some(database) = self.notary_database() {
            database.restore(snapshot)?;
        }
        self.start_all().map(drop)
    }

    /// Returns the paths of a node's data and anchor in a snapshot, on the node's host.
    fn in_snapshot(&self, snapshot: &Path, who: Who) -> (PathBuf, PathBuf) {
        let host = self.host(who);
        let there = match snapshot.strip_prefix(self.root()) {
            Ok(below) => host.root(self.root()).join(below),
            Err(_) => snapshot.to_owned(),
        };
        (
            there.join(who.to_string()),
            there.join(format!("{who}.anchor")),
        )
    }

    fn stop_those(&mut self, those: &[Who]) -> Result<(), NetworkError> {
        // All are asked first, so that they finish concurrently.
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
            self.member_mut(*who).process.wait_ready_until(deadline)?;
        }
        Ok(())
    }
}
