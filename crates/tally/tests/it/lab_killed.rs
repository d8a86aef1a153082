//! A laboratory that is killed leaves no processes behind.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

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
    let mut lab = Command::new(binary())
        .args(["lab", "run", "load.toml", "--out", "out"])
        .current_dir(folder.path())
        .env("TMPDIR", folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(fs::File::create(folder.path().join("log")).expect("made"))
        .spawn()
        .expect("tally runs");
    let mut processes = Vec::new();
    until("the network runs", || {
        let ended = lab.try_wait().expect("a child");
        let log = || fs::read_to_string(folder.path().join("log")).unwrap_or_default();
        assert!(ended.is_none(), "the laboratory ended by itself: {}", log());
        processes = children_of(lab.id());
        // The database server, the notary and the bank.
        running(&processes) >= 3
    });
    lab.kill().expect("it runs");
    lab.wait().expect("a child");
    until("its processes end", || running(&processes) == 0);
}

/// Returns how many of the processes are nodes or database servers that run.
fn running(processes: &[u32]) -> usize {
    let runs = |pid: &&u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let Some((name, rest)) = stat.rsplit_once(')') else {
            return false;
        };
        let is_one = ["(tally", "(postgres"].iter().any(|one| name.contains(one));
        // A zombie has ended, and nobody has asked for its status yet.
        is_one && !rest.trim_start().starts_with('Z')
    };
    processes.iter().filter(runs).count()
}
