//! The size of a chain's database after the audit: of the running node, exported, after a shutdown and after a restart.

use std::path::Path;

use crate::results::StoreSizes;
use crate::topology::ChainNetwork;
use crate::topology::host::Host;

/// An export is left out if less than this many times the size of the database is free on the disk.
const ROOM: u64 = 2;

/// Reads the sizes of a node's database. It is stopped and started in between.
pub(super) fn store_sizes(network: &mut ChainNetwork, at: usize) -> StoreSizes {
    let mut sizes = StoreSizes {
        node: network.name(at).to_owned(),
        ..StoreSizes::default()
    };
    if let Err(reason) = readings(&mut OneNode { network, at }, &mut sizes) {
        sizes.missing.push(reason);
    }
    sizes
}

/// A node whose database is measured.
trait SizedNode {
    /// Returns the bytes of its database.
    fn size(&self) -> Result<u64, String>;

    /// Returns the free bytes of the disk with the database.
    fn free(&self) -> Result<u64, String>;

    /// Exports the database of the running node. Returns the bytes of the export, of which nothing is left.
    fn export(&self) -> Result<u64, String>;

    /// Stops it. Fails if it did not end in order.
    fn stop(&mut self) -> Result<(), String>;

    /// Starts it, and waits until it is ready.
    fn start(&mut self) -> Result<(), String>;
}

/// Reads the sizes in the order of time. An error is the reason why the later ones are unknown: each of them would include what the
/// failed step has left behind.
fn readings(node: &mut impl SizedNode, sizes: &mut StoreSizes) -> Result<(), String> {
    let running = node.size()?;
    sizes.running_bytes = Some(running);
    match node.free() {
        Ok(free) if free / ROOM >= running => sizes.exported_bytes = Some(node.export()?),
        Ok(_) => sizes.missing.push(format!(
            "no export: less than {ROOM} times the size of the database is free on the disk"
        )),
        Err(reason) => sizes.missing.push(format!("no export: {reason}")),
    }
    node.stop()?;
    sizes.stopped_bytes = Some(node.size()?);
    node.start()?;
    sizes.restarted_bytes = Some(node.size()?);
    Ok(())
}

/// A node of a network.
struct OneNode<'a> {
    network: &'a mut ChainNetwork,
    at: usize,
}

impl SizedNode for OneNode<'_> {
    fn size(&self) -> Result<u64, String> {
        bytes_of(&*self.network.host(self.at), &self.network.data(self.at))
    }

    fn free(&self) -> Result<u64, String> {
        let free = self.network.host(self.at);
        let free = free.free_bytes(&self.network.data(self.at));
        free.map_err(|error| error.to_string())
    }

    fn export(&self) -> Result<u64, String> {
        let exported = self.network.export(self.at);
        match exported.map_err(|error| format!("the export failed: {error}"))? {
            0 => Err("there are no files in the export".to_owned()),
            bytes => Ok(bytes),
        }
    }

    fn stop(&mut self) -> Result<(), String> {
        let ended = self.network.stop(self.at);
        match ended.map_err(|error| error.to_string())? {
            status if status.success() => Ok(()),
            status => Err(format!("the node did not shut down in order: {status}")),
        }
    }

    fn start(&mut self) -> Result<(), String> {
        let started = self.network.start(&[self.at]);
        started.map_err(|error| error.to_string())
    }
}

/// Returns the bytes of a folder on a host, which is not empty.
fn bytes_of(host: &dyn Host, folder: &Path) -> Result<u64, String> {
    match host.size(folder) {
        Ok(size) if size.live_bytes > 0 => Ok(size.live_bytes),
        Ok(_) => Err(format!("there are no files in {}", folder.display())),
        Err(error) => Err(format!("reading the size of {}: {error}", folder.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::host::this_machine;

    /// A node that fails at one step. Each step changes the size of its database.
    struct Staged {
        bytes: u64,
        free: u64,
        fails_at: &'static str,
    }

    impl Staged {
        fn step(&self, name: &str) -> Result<(), String> {
            match name == self.fails_at {
                true => Err(format!("{name} failed")),
                false => Ok(()),
            }
        }
    }

    impl SizedNode for Staged {
        fn size(&self) -> Result<u64, String> {
            self.step("size").map(|()| self.bytes)
        }

        fn free(&self) -> Result<u64, String> {
            self.step("free").map(|()| self.free)
        }

        fn export(&self) -> Result<u64, String> {
            self.step("export").map(|()| 40)
        }

        fn stop(&mut self) -> Result<(), String> {
            self.bytes = 80;
            self.step("stop")
        }

        fn start(&mut self) -> Result<(), String> {
            self.bytes = 90;
            self.step("start")
        }
    }

    #[test]
    fn a_size_after_a_failed_step_is_unknown_and_has_a_reason() {
        for (fails_at, free, wanted, reason) in [
            ("", 200, [Some(100), Some(40), Some(80), Some(90)], ""),
            ("size", 200, [None; 4], "size failed"),
            ("", 199, [Some(100), None, Some(80), Some(90)], "no export"),
            (
                "free",
                200,
                [Some(100), None, Some(80), Some(90)],
                "no export",
            ),
            (
                "export",
                200,
                [Some(100), None, None, None],
                "export failed",
            ),
            (
                "stop",
                200,
                [Some(100), Some(40), None, None],
                "stop failed",
            ),
            (
                "start",
                200,
                [Some(100), Some(40), Some(80), None],
                "start failed",
            ),
        ] {
            let mut node = Staged {
                bytes: 100,
                free,
                fails_at,
            };
            let mut sizes = StoreSizes::default();
            let failure = readings(&mut node, &mut sizes).err();
            sizes.missing.extend(failure);
            assert_eq!(sizes.all().map(|(_, size)| size), wanted, "{fails_at}");
            let told = sizes.missing.join("\n");
            assert!(told.contains(reason), "{fails_at}: {told}");
            assert_eq!(told.is_empty(), reason.is_empty(), "{fails_at}: {told}");
        }
    }

    #[test]
    fn an_empty_folder_has_no_size() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for missing in [folder.path().to_owned(), folder.path().join("none")] {
            let size = bytes_of(&*this_machine(), &missing);
            assert!(size.is_err(), "{}", missing.display());
        }
    }
}
