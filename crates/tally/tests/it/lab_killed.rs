//! A laboratory that is killed leaves no processes behind.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

use crate::stage::agent::children_of;
use crate::stage::{binary, until};

/// A load that lasts until the laboratory is killed.
const LOAD: &str = "[network]\nbanks = 1\ndatabase = \"postgres\"\n[work]\nkind = \"empty\"\n[load]\nrate = 10\n[run]\nseconds = 3600\n";

#[test]
fn nodes_and_database_servers_end_with_a_killed_laboratory() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // The database server may run as another user. Its data is removed with the folder.
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("set");
    fs::write(folder.path().join("load.toml"), LOAD).expect("written");
    let lab = Command::new(binary())
        .args(["lab", "run", "load.toml", "--out", "out"])
        .current_dir(folder.path())
        .env("TMPDIR", folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(fs::File::create(folder.path().join("log")).expect("made"))
        .spawn()
        .expect("tally runs");
    let mut lab = Killed(lab);
    until("the network is ready", || {
        let ended = lab.0.try_wait().expect("a child");
        let log = fs::read_to_string(folder.path().join("log")).unwrap_or_default();
        assert!(ended.is_none(), "the laboratory ended by itself: {log}");
        // Earlier, a process that was started may not be known to the keeper yet.
        log.contains("✓ Network")
    });
    let processes = children_of(lab.0.id());
    // The database server, the notary and the bank.
    assert_eq!(running(&processes), 3);
    drop(lab);
    until("its processes end", || running(&processes) == 0);
}

/// A process that is killed with SIGKILL when the value is dropped, also if the test fails.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // Both fail only for a process that has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns how many of the processes are nodes or database servers that run.
fn running(processes: &[u32]) -> usize {
    let runs = |pid: &&u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let Some((name, rest)) = stat.rsplit_once(')') else {
            return false;
        };
        let is_one = ["(tally", "(postgres"].iter().any(|one| name.contains(one));
        // A zombie has ended.
        is_one && !rest.trim_start().starts_with('Z')
    };
    processes.iter().filter(runs).count()
}
