//! Readings of a network: disks and memory.

use super::network::Network;
use super::network_error::NetworkError;
use crate::measure::{DiskUse, ProcessReading};

impl Network {
    /// Returns the bytes on disk, over all members.
    pub fn disk_use(&self) -> Result<DiskUse, NetworkError> {
        let mut sum = match self.nodes_database() {
            Some(database) => database.disk_use()?,
            None => DiskUse::default(),
        };
        if let Some(database) = self.notarys_database() {
            sum.add(database.disk_use()?);
        }
        for who in self.everybody() {
            sum.add(self.host(who).size(&self.data(who))?);
        }
        Ok(sum)
    }

    /// Returns the peak resident memory of the largest process on this machine, in megabytes (10^6); 0 if none runs.
    pub fn rss_mb_max(&self) -> f64 {
        let here = self.everybody().into_iter();
        let here = here.filter(|who| self.host(*who).is_here());
        let running = here.filter_map(|who| self.pid(who));
        let peaks = running.filter_map(|pid| ProcessReading::of(pid).ok());
        let largest = peaks.map(|reading| reading.rss_peak_bytes).max();
        largest.unwrap_or(0) as f64 / 1e6
    }
}
