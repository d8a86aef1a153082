//! The size of a chain's database after the audit: of the running node, exported, after a shutdown and after a restart.

use std::fs;

use crate::measure::DiskUse;
use crate::results::StoreSizes;
use crate::topology::ChainNetwork;

/// An export is left out if less than this many times the size of the database is free on the disk.
const ROOM: u64 = 2;

/// Reads the sizes of a node's database. It is stopped and started in between. Returns also the failure that ended the
/// readings early.
pub(super) fn store_sizes(network: &mut ChainNetwork, at: usize) -> (StoreSizes, Option<String>) {
    let mut sizes = StoreSizes {
        node: network.name(at).to_owned(),
        ..StoreSizes::default()
    };
    let failure = readings(network, at, &mut sizes).err();
    (sizes, failure)
}

fn readings(network: &mut ChainNetwork, at: usize, sizes: &mut StoreSizes) -> Result<(), String> {
    let data = network.data(at);
    let size = || match DiskUse::of(&data) {
        Ok(size) => Ok(size.live_bytes),
        Err(error) => Err(format!("reading the size of {}: {error}", data.display())),
    };
    let running = size()?;
    sizes.running_bytes = Some(running);
    if has_room(network, at, running)? {
        let folder = network.export(at).map_err(|error| error.to_string())?;
        let exported = DiskUse::of(&folder);
        let removed = fs::remove_dir_all(&folder);
        let failed = |error| format!("the export in {}: {error}", folder.display());
        sizes.exported_bytes = Some(exported.map_err(failed)?.live_bytes);
        removed.map_err(failed)?;
    }
    network.stop(at).map_err(|error| error.to_string())?;
    sizes.stopped_bytes = Some(size()?);
    network.start(&[at]).map_err(|error| error.to_string())?;
    sizes.restarted_bytes = Some(size()?);
    Ok(())
}

/// Returns whether the disk has room for an export.
fn has_room(network: &ChainNetwork, at: usize, bytes: u64) -> Result<bool, String> {
    let folder = network.data(at);
    let free = rustix::fs::statvfs(&folder)
        .map_err(|error| format!("reading the free space of {}: {error}", folder.display()))?;
    let free = u128::from(free.f_bavail) * u128::from(free.f_frsize);
    Ok(free >= u128::from(bytes) * u128::from(ROOM))
}
