//! Mistakes of operators and refusals of the server: each has a code.

use std::time::Duration;

use pgserver::{PgServer, ServerOptions};
use pgstore::Settings;
use primitives::Coded;

use crate::rig::{DEADLINE, Rig, server, settings};

/// Opening fails with the code.
fn check(settings: &Settings, expected: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = Rig::open(settings, folder.path()).map(drop);
    let refused = refused.expect_err(expected);
    assert_eq!(refused.code(), expected, "{refused}");
    assert!(!refused.hint().is_empty());
    assert!(
        !refused.to_string().contains(pgserver::PASSWORD),
        "{refused}"
    );
}

#[test]
fn mistakes_of_an_operator_have_codes() {
    let mut server = server();
    let good = settings(&server);
    let with_url = |url: String| Settings {
        url,
        ..good.clone()
    };
    let url = server.url();
    check(
        &with_url(url.replace(pgserver::PASSWORD, "wrong")),
        "database.log_in",
    );
    check(
        &with_url(url.replace("ledger:", "nobody:")),
        "database.log_in",
    );
    check(
        &with_url(format!("{}none", url.trim_end_matches("ledger"))),
        "database.missing",
    );
    check(
        &with_url("postgres://ledger@192.0.2.1/ledger".into()),
        "database.plain",
    );
    check(&with_url("no url".into()), "database.settings");
    check(
        &with_url("postgres://ledger@127.0.0.1:1/ledger".into()),
        "database.unreachable",
    );
    let mut bad = good.clone();
    bad.schema = "Bank".into();
    check(&bad, "database.settings");
    bad = good.clone();
    bad.password_file = Some("/no/such/file".into());
    check(&bad, "database.settings");

    server.administer("revoke all on database ledger from public; alter database ledger owner to postgres; grant connect on database ledger to ledger")
        .expect("revoked");
    check(&good, "database.privilege");
    server
        .administer("grant create on database ledger to ledger")
        .expect("granted");
    let folder = tempfile::tempdir().expect("a folder");
    drop(Rig::open(&good, folder.path()).expect("opens"));
    server
        .query("update bank_a.lease set version = 99")
        .expect("changed");
    check(&good, "database.newer_schema");
    server
        .query("update bank_a.lease set version = 2")
        .expect("changed");

    server
        .administer("alter system set fsync = off")
        .expect("changed");
    server.stop().expect("signalled");
    server.run().expect("runs");
    check(&good, "database.not_durable");
}

#[test]
fn password_may_be_in_a_file() {
    let server = server();
    let mut settings = settings(&server);
    settings.url = settings
        .url
        .replace(&format!(":{}", pgserver::PASSWORD), "");
    check(&settings, "database.log_in");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("password");
    std::fs::write(&file, format!("{}\n", pgserver::PASSWORD)).expect("written");
    settings.password_file = Some(file);
    Rig::open(&settings, folder.path())
        .expect("opens")
        .commit(1, 1, 10);
}

#[test]
fn a_privilege_that_is_revoked_while_running_fails_the_commit() {
    let server = server();
    let settings = settings(&server);
    let folder = tempfile::tempdir().expect("a folder");
    let rig = Rig::open(&settings, folder.path()).expect("opens");
    rig.commit(1, 1, 10);
    server
        .query("revoke insert on bank_a.commits from ledger")
        .expect("revoked");
    let (_, outcome) = rig
        .submit(1, 11, 11)
        .recv_timeout(DEADLINE)
        .expect("an answer");
    assert_eq!(outcome.expect_err("refused").code, "database.privilege");
}

#[test]
fn a_full_disk_of_the_server_is_reported_and_outlived() {
    // The server's table space is a small file system in memory.
    let Some(space) = SmallDisk::mount() else {
        eprintln!("skipped: this process may not mount a file system");
        return;
    };
    let server = PgServer::start(&ServerOptions {
        within: Some(space.path.clone()),
        settings: vec![
            "min_wal_size = 32MB".into(),
            "max_wal_size = 48MB".into(),
            "max_connections = 20".into(),
        ],
        tls: None,
    })
    .expect("starts");
    let mut settings = settings(&server);
    settings.give_up = Duration::from_secs(3_600);
    let folder = tempfile::tempdir().expect("a folder");
    let rig = Rig::open(&settings, folder.path()).expect("opens");
    rig.commit(1, 1, 50);
    let ballast = space.fill();
    // The disk is full now, so at some batch the server refuses.
    let answers = rig.submit(1, 51, 400);
    let mut confirmed = 50;
    while let Ok((number, outcome)) = answers.recv_timeout(Duration::from_secs(2)) {
        outcome.expect("confirmed, or waiting");
        confirmed = number;
    }
    assert!(confirmed < 400, "the disk was full");
    std::fs::remove_file(ballast).expect("removed");
    let mut server = server;
    if server.query("select 1").is_err() {
        // A full disk stops a server that cannot write its log.
        server.crash().expect("ended");
        server.run().expect("runs again");
    }
    while confirmed < 400 {
        let (number, outcome) = answers.recv_timeout(DEADLINE).expect("an answer");
        outcome.expect("confirmed");
        confirmed = number;
    }
    crate::workload::assert_equals(&rig.cache, &crate::workload::model(1, 400), "at the end");
}

/// A small file system, unmounted when it is dropped.
struct SmallDisk {
    path: std::path::PathBuf,
    _folder: tempfile::TempDir,
}

impl SmallDisk {
    const BYTES: u64 = 120 << 20;

    fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().ok()?;
        let path = folder.path().join("disk");
        std::fs::create_dir(&path).ok()?;
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(folder.path(), open).ok()?;
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o"])
            .arg(format!("size={},mode=755", Self::BYTES))
            .arg("tmpfs")
            .arg(&path)
            .output()
            .ok()?;
        mounted.status.success().then_some(Self {
            path,
            _folder: folder,
        })
    }

    /// Fills the disk. Returns the file to remove.
    fn fill(&self) -> std::path::PathBuf {
        use std::io::Write;
        let path = self.path.join("ballast");
        let mut file = std::fs::File::create(&path).expect("made");
        let piece = vec![1; 64 << 10];
        while file.write_all(&piece).is_ok() {}
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount")
            .arg(&self.path)
            .output();
    }
}
