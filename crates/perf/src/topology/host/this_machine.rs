//! This machine as a host.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use pgserver::free_ports;
use rustix::process::Signal;

use super::error::HostError;
use super::local_process::LocalProcess;
use super::machine::{Host, HostProcess, Looking, Seen, Wanted};
use super::program::{Program, signal};
use crate::measure::{DiskUse, ProcessKey};
use crate::topology::affinity;
use crate::topology::copy::{copy_folder, remove_folder};

/// Rounds of looking for ports that are free at an address as well.
const ROUNDS_MAX: usize = 64;
/// Bytes of a log's end that are read.
const TAIL_BYTES: u64 = 8_000;

/// This machine. Its nodes listen on one address.
#[derive(Clone, Debug)]
pub struct ThisMachine {
    address: IpAddr,
}

impl ThisMachine {
    /// Creates a host whose nodes listen on this address.
    pub fn at(address: IpAddr) -> Self {
        Self { address }
    }

    /// Takes a reading at once.
    pub(crate) fn look_now(&self, wanted: Wanted) -> Seen {
        let process = wanted
            .process
            .and_then(|process| match wanted.with_children {
                true => process.look_with_children(),
                false => process.look(),
            });
        let bytes = |folder: Option<PathBuf>| Some(DiskUse::of(&folder?).ok()?.live_bytes);
        Seen {
            process,
            folder_bytes: bytes(wanted.folder),
            log_bytes: bytes(wanted.log),
        }
    }

    /// Runs a program to its end, as [`Host::run`] does. `started` is called with its process's id.
    pub(crate) fn run_noting(
        &self,
        program: &Program,
        started: impl FnOnce(u32),
    ) -> Result<Vec<u8>, HostError> {
        let failed = |source| HostError::system(program.binary.display(), source);
        let child = Command::new(&program.binary)
            .args(&program.arguments)
            .envs(program.environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        started(child.id());
        let output = child.wait_with_output().map_err(failed)?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(HostError::Failed {
                host: String::new(),
                message: String::from_utf8_lossy(&output.stderr).into_owned(),
            }),
        }
    }
}

/// Returns this machine as the host of nodes that listen on loopback.
pub fn this_machine() -> Arc<dyn Host> {
    Arc::new(ThisMachine::at(Ipv4Addr::LOCALHOST.into()))
}

impl Host for ThisMachine {
    fn name(&self) -> &str {
        "here"
    }

    fn is_here(&self) -> bool {
        true
    }

    fn address(&self) -> IpAddr {
        self.address
    }

    fn cores(&self) -> u32 {
        affinity::cores()
    }

    fn free_ports(&self, count: usize) -> Result<Vec<u16>, HostError> {
        let failed = |source| HostError::system("free ports", source);
        let mut found = Vec::with_capacity(count);
        for _ in 0..ROUNDS_MAX {
            // These are free on loopback; the address may be another one.
            let more = free_ports(count - found.len()).map_err(failed)?;
            let free = |port: &u16| TcpListener::bind((self.address, *port)).is_ok();
            found.extend(more.into_iter().filter(free));
            if found.len() == count {
                return Ok(found);
            }
        }
        let message = format!("{count} ports are not free on {}", self.address);
        Err(failed(io::Error::new(io::ErrorKind::AddrInUse, message)))
    }

    fn root(&self, root: &Path) -> PathBuf {
        root.to_owned()
    }

    fn write(&self, file: &Path, bytes: &[u8]) -> Result<(), HostError> {
        write_whole(file, bytes).map_err(|source| HostError::system(file.display(), source))
    }

    fn copy(&self, from: &Path, to: &Path) -> Result<(), HostError> {
        let above = to.parent().map_or(Ok(()), fs::create_dir_all);
        let copied = above.and_then(|()| match from.is_dir() {
            true => copy_folder(from, to),
            false => fs::copy(from, to).map(drop),
        });
        copied.map_err(|source| HostError::system(from.display(), source))
    }

    fn remove(&self, path: &Path) -> Result<(), HostError> {
        let removed = match path.is_dir() {
            true => remove_folder(path),
            false => match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            },
        };
        removed.map_err(|source| HostError::system(path.display(), source))
    }

    fn size(&self, folder: &Path) -> Result<DiskUse, HostError> {
        DiskUse::of(folder).map_err(|source| HostError::system(folder.display(), source))
    }

    fn free_bytes(&self, folder: &Path) -> Result<u64, HostError> {
        let free = rustix::fs::statvfs(folder).map_err(|source| {
            HostError::system(
                format!("the free space of {}", folder.display()),
                source.into(),
            )
        })?;
        // Clipped: more is as good as any number.
        Ok(free.f_bavail.saturating_mul(free.f_frsize))
    }

    fn tail(&self, log: &Path) -> String {
        tail(log)
    }

    fn start(
        &self,
        program: &Program,
        cores: Option<u32>,
    ) -> Result<Box<dyn HostProcess>, HostError> {
        let started = LocalProcess::start(program, cores);
        let started = started
            .map_err(|source| HostError::system(format!("starting {}", program.name), source))?;
        Ok(Box::new(started))
    }

    fn run(&self, program: &Program) -> Result<Vec<u8>, HostError> {
        self.run_noting(program, |_| ())
    }

    fn signal(&self, pid: u32, wanted: Signal) {
        signal(pid, wanted);
    }

    fn process(&self, pid: u32) -> Option<ProcessKey> {
        ProcessKey::of(pid)
    }

    fn look(&self, wanted: Wanted) -> Looking {
        Box::pin(std::future::ready(self.look_now(wanted)))
    }

    fn lost(&self) -> Option<HostError> {
        None
    }
}

/// Writes a file atomically, so that a node never reads half a file.
fn write_whole(file: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new = file.with_file_name(name);
    remove_stale(&new)?;
    let mut to = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&new)?;
    io::Write::write_all(&mut to, bytes)?;
    drop(to);
    if let Ok(before) = fs::metadata(file) {
        // A file that others may read stays readable for them.
        fs::set_permissions(
            &new,
            fs::Permissions::from_mode(before.permissions().mode()),
        )?;
    }
    fs::rename(&new, file)
}

/// Removes what a write that was interrupted has left.
fn remove_stale(new: &Path) -> io::Result<()> {
    match fs::remove_file(new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Reads the last bytes of a file, however long it is.
fn end_of(file: &Path) -> io::Result<Vec<u8>> {
    let mut file = fs::File::open(file)?;
    let length = file.metadata()?.len();
    // A shorter file is read whole.
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    // It may grow meanwhile.
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the last lines of a log; empty if it cannot be read.
pub fn tail(log: &Path) -> String {
    let text = end_of(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    // A list that is shorter is shown whole.
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(15)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;
    use std::io::Write;

    #[test]
    fn only_the_end_of_a_log_is_read() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let log = folder.path().join("log");
        assert_eq!(tail(&log), "", "there is none");
        for (lines, first) in [(3, "line 0"), (20, "line 5")] {
            let text: Vec<String> = (0..lines).map(|number| format!("line {number}")).collect();
            std::fs::write(&log, text.join("\n")).expect("written");
            assert!(tail(&log).starts_with(first), "{lines}: {}", tail(&log));
        }
        // A file of 64 GiB, with text at its end.
        let file = OpenOptions::new().write(true).open(&log).expect("there");
        file.set_len(1 << 36).expect("a hole");
        drop(file);
        let mut file = OpenOptions::new().append(true).open(&log).expect("there");
        write!(file, "\nthe end").expect("written");
        assert!(tail(&log).ends_with("\nthe end"));
    }
}
