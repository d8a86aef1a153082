//! The surroundings of a measurement: whether the machine is virtual, the disk under a folder, and how busy the machine
//! is with other programs.

use std::path::Path;
use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity};

/// Kernel ticks a second in `/proc/stat`: `USER_HZ`, 100 on Linux.
const TICKS_PER_S: f64 = 100.0;
/// File systems that keep their files in memory, so that nothing on them is durable.
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];

/// Returns whether the machine is virtual, with its maker's name for it; empty if the system does not say.
pub(super) fn virtual_machine() -> String {
    let product: Vec<String> = ["sys_vendor", "product_name"]
        .into_iter()
        .map(|file| text(&format!("/sys/class/dmi/id/{file}")).trim().to_owned())
        .filter(|name| !name.is_empty())
        .collect();
    in_words(&text("/proc/cpuinfo"), &product.join(" "))
}

/// Returns whether a machine is virtual, by its `/proc/cpuinfo`; `None` if that does not say.
fn is_virtual(cpuinfo: &str) -> Option<bool> {
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"))?;
    Some(flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

fn in_words(cpuinfo: &str, product: &str) -> String {
    match (is_virtual(cpuinfo), product) {
        (None, _) => String::new(),
        (Some(false), _) => "no".to_owned(),
        (Some(true), "") => "yes".to_owned(),
        (Some(true), product) => format!("yes ({product})"),
    }
}

/// Returns the file system and the device under a folder; empty if the system does not say.
pub(super) fn disk(folder: &Path) -> String {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let Some(mount) = mount_of(&text("/proc/self/mountinfo"), &folder) else {
        return String::new();
    };
    // A partition has no queue of its own; its disk has.
    let device = format!("/sys/dev/block/{}", mount.device);
    let rotates = ["queue", "../queue"]
        .into_iter()
        .map(|queue| text(&format!("{device}/{queue}/rotational")))
        .find(|text| !text.is_empty());
    let is_virtual = is_virtual(&text("/proc/cpuinfo"));
    mount.in_words(kind(rotates.as_deref().map(str::trim), is_virtual))
}

/// Returns the kind of a disk by the kernel's flag. A virtual machine has a virtual disk, whose flag does not tell what is below it.
fn kind(rotates: Option<&str>, is_virtual: Option<bool>) -> &'static str {
    match (rotates, is_virtual) {
        (Some("0"), Some(false)) => ", not rotating",
        (Some("1"), Some(false)) => ", rotating",
        _ => "",
    }
}

/// A line of `/proc/self/mountinfo`.
#[derive(Debug, PartialEq)]
struct Mount {
    /// Major and minor number of the device.
    device: String,
    /// The file system.
    kind: String,
    /// The mounted device.
    source: String,
}

impl Mount {
    /// Returns the file system with the name of its device and the device's kind. A source that is no device is left out: it may name a
    /// machine.
    fn in_words(&self, kind: &str) -> String {
        let file_system = &self.kind;
        if IN_MEMORY.contains(&file_system.as_str()) {
            return format!("{file_system} in memory: commits are not durable");
        }
        match self.source.strip_prefix("/dev/") {
            Some(device) if !device.contains('/') => format!("{file_system} on {device}{kind}"),
            // The name of a mapped device often has that of its machine.
            Some(_) => format!("{file_system} on a mapped device{kind}"),
            None => format!("{file_system}{kind}"),
        }
    }
}

/// Returns the mount with the longest path that holds the folder; of equal paths the last, which covers the others.
fn mount_of(mountinfo: &str, folder: &Path) -> Option<Mount> {
    let mounts = mountinfo.lines().filter_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let left: Vec<&str> = left.split(' ').collect();
        let mut right = right.split(' ');
        let (path, device) = (*left.get(4)?, *left.get(2)?);
        let (kind, source) = (right.next()?, right.next()?);
        let mount = Mount {
            device: device.to_owned(),
            kind: kind.to_owned(),
            source: source.to_owned(),
        };
        folder.starts_with(path).then_some((path.len(), mount))
    });
    let longest = mounts.max_by_key(|(length, _)| *length);
    longest.map(|(_, mount)| mount)
}

/// Returns how many of the cores that this program may use other programs keep busy, observed for `time`; `None` if the system does
/// not say. Load on other cores does not disturb a measurement.
pub async fn busy_cores(time: Duration) -> Option<f64> {
    let mine = sched_getaffinity(None).ok()?;
    let is_mine = |core: usize| core < CpuSet::MAX_CPU && mine.is_set(core);
    let before = busy_ticks(&text("/proc/stat"), is_mine)?;
    tokio::time::sleep(time).await;
    let after = busy_ticks(&text("/proc/stat"), is_mine)?;
    let ticks = after.saturating_sub(before) as f64;
    Some(ticks / TICKS_PER_S / time.as_secs_f64())
}

/// Returns the ticks that the cores `which` selects were neither idle nor waiting for a disk; `None` if one is malformed, or none is there.
fn busy_ticks(stat: &str, which: impl Fn(usize) -> bool) -> Option<u64> {
    let cores = stat.lines().filter_map(|line| {
        let (number, ticks) = line.strip_prefix("cpu")?.split_once(' ')?;
        // The first line, without a number, is the sum of all.
        let number: usize = number.parse().ok()?;
        which(number).then_some(ticks)
    });
    let busy: Option<Vec<u64>> = cores.map(busy_of_core).collect();
    let busy = busy.filter(|cores| !cores.is_empty())?;
    busy.into_iter().try_fold(0u64, u64::checked_add)
}

/// Returns the busy ticks of one core.
fn busy_of_core(ticks: &str) -> Option<u64> {
    let ticks: Vec<u64> = ticks
        .split_whitespace()
        .filter_map(|field| field.parse().ok())
        .collect();
    // user, nice, system, idle, iowait, irq, softirq, steal. Guest time is part of user time.
    let [user, nice, system, _, _, irq, softirq, steal, ..] = ticks.as_slice() else {
        return None;
    };
    [user, nice, system, irq, softirq, steal]
        .into_iter()
        .try_fold(0u64, |sum, ticks| sum.checked_add(*ticks))
}

/// Reads a file of the system. It is empty if the system has no such file, and its facts are then left out.
fn text(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_is_told_by_its_processor_flags() {
        for (cpuinfo, product, expected) in [
            ("", "Some Cloud", ""),
            ("flags\t\t: fpu sse2", "Board", "no"),
            ("flags\t\t: fpu hypervisor sse2", "", "yes"),
            (
                "flags\t\t: fpu hypervisor",
                "Some Cloud",
                "yes (Some Cloud)",
            ),
        ] {
            assert_eq!(in_words(cpuinfo, product), expected, "{cpuinfo}");
        }
    }

    #[test]
    fn a_folder_is_on_the_innermost_mount() {
        let text = "22 1 254:0 / / rw - ext4 /dev/vda rw\n\
                    23 22 0:5 / /tmp rw shared:1 - tmpfs tmpfs rw\n\
                    24 23 8:1 / /tmp/data rw - xfs /dev/sda1 rw\nbroken line\n";
        for (folder, expected) in [
            ("/", Some(("254:0", "ext4"))),
            ("/tmp/x", Some(("0:5", "tmpfs"))),
            ("/tmpx", Some(("254:0", "ext4"))),
            ("/tmp/data/lab", Some(("8:1", "xfs"))),
            ("relative", None),
        ] {
            let found = mount_of(text, Path::new(folder));
            let found = found
                .as_ref()
                .map(|one| (one.device.as_str(), one.kind.as_str()));
            assert_eq!(found, expected, "{folder}");
        }
    }

    #[test]
    fn the_kind_of_a_virtual_disk_is_not_known() {
        for (rotates, is_virtual, expected) in [
            (Some("0"), Some(false), ", not rotating"),
            (Some("1"), Some(false), ", rotating"),
            (Some("1"), Some(true), ""),
            (Some("1"), None, ""),
            (None, Some(false), ""),
        ] {
            assert_eq!(kind(rotates, is_virtual), expected);
        }
    }

    #[test]
    fn a_mount_in_words_names_no_machine() {
        for (file_system, source, expected) in [
            ("ext4", "/dev/vda", "ext4 on vda, not rotating"),
            (
                "ext4",
                "/dev/mapper/ada--laptop--vg-root",
                "ext4 on a mapped device, not rotating",
            ),
            ("nfs4", "storage.example:/home/ada", "nfs4, not rotating"),
            ("tmpfs", "tmpfs", "tmpfs in memory: commits are not durable"),
        ] {
            let mount = Mount {
                device: "254:0".to_owned(),
                kind: file_system.to_owned(),
                source: source.to_owned(),
            };
            assert_eq!(mount.in_words(", not rotating"), expected);
        }
    }

    #[test]
    fn busy_ticks_are_those_of_our_cores_without_idle_and_waiting() {
        let stat = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 4 800 900 8 16 32 64 0\ncpu1 100 0 0 5 5 0 0 0 0 0\ncpu12 1000 0 0 5 5 0 0 0 0 0\n\
                    intr 5 cpu2 7\n";
        for (stat, cores, expected) in [
            (stat, &[0, 1, 12][..], Some(1_163)),
            (stat, &[0], Some(63)),
            (stat, &[1, 12], Some(1_100)),
            (stat, &[2], None),
            ("cpu0 1 2 4", &[0], None),
            ("", &[0], None),
        ] {
            let found = busy_ticks(stat, |core| cores.contains(&core));
            assert_eq!(found, expected, "{cores:?} {stat}");
        }
    }

    #[tokio::test]
    async fn this_machine_has_a_disk_and_a_load() {
        assert!(!disk(&std::env::temp_dir()).is_empty());
        let busy = busy_cores(Duration::from_millis(50)).await;
        assert!(busy.is_some_and(|cores| cores >= 0.0), "{busy:?}");
    }
}
