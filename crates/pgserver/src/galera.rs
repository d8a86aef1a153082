//! A private MariaDB Galera cluster.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::error::ServerError;
use crate::keeper::KeptChild;
use crate::ports::free_ports;
use crate::programs::User;
use crate::server::{PASSWORD, USER, copy, output, spawn};
use crate::signal::send;

/// Where Debian puts the library of the cluster.
const PROVIDERS: [&str; 2] = [
    "/usr/lib/galera/libgalera_smm.so",
    "/usr/lib64/galera-4/libgalera_smm.so",
];
/// The server's program: Debian has it in a folder that is not on every user's path.
const SERVER: &str = "/usr/sbin/mariadbd";
/// Time for a server to join the cluster, a recovery and the transfer of the state included.
const JOIN: Duration = Duration::from_secs(90);
/// Time for a server to end.
const END: Duration = Duration::from_secs(30);
/// Tells whether a server is a member of the majority.
const READY: &str = "select variable_value from information_schema.global_status where variable_name = 'wsrep_ready'";
const MEMBERS: &str = "select variable_value from information_schema.global_status where variable_name = 'wsrep_cluster_size'";
/// Pause between two looks at a process.
const LOOK: Duration = Duration::from_millis(20);
/// Bytes of the log in an error.
const LOG_SHOWN: usize = 800;

/// Options of a private cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterOptions {
    /// The parent of the cluster's folder. If there is none, the system's folder of temporary files. The user that runs the servers must be
    /// able to reach it.
    pub within: Option<PathBuf>,
    /// The number of servers. 1 makes a server without a cluster.
    pub servers: usize,
    /// Arguments of each server, such as `--innodb-buffer-pool-size=1G`.
    pub arguments: Vec<String>,
}

impl Default for ClusterOptions {
    fn default() -> Self {
        Self {
            within: None,
            servers: 3,
            arguments: Vec::new(),
        }
    }
}

/// One server of a cluster.
#[derive(Debug)]
struct Member {
    port: u16,
    /// The port for the other servers.
    group: u16,
    /// The ports on which it gets missing transactions, or all data.
    transfer: [u16; 2],
    process: Option<KeptChild>,
}

/// A private cluster: durable, on free ports of the loopback address, with the empty database [`USER`] of the user with the same name. Dropping
/// it stops the servers and deletes their data.
///
/// The servers never run as root: the programs that move data between them refuse that. Root runs them as the user `mysql` of Debian's package.
#[derive(Debug)]
pub struct GaleraCluster {
    user: User,
    provider: PathBuf,
    folder: TempDir,
    members: Vec<Member>,
    arguments: Vec<String>,
}

impl GaleraCluster {
    /// Makes a cluster and starts its servers.
    ///
    /// # Errors
    /// MariaDB or Galera is not installed, or a server does not start.
    pub fn start(options: &ClusterOptions) -> Result<Self, ServerError> {
        let provider = PROVIDERS
            .iter()
            .map(PathBuf::from)
            .find(|path| path.exists());
        let provider = provider.filter(|_| Path::new(SERVER).exists());
        let provider = provider.ok_or(ServerError::GaleraNotInstalled)?;
        let user = User::named("mysql")?;
        let within = options.within.clone().unwrap_or_else(std::env::temp_dir);
        let folder = tempfile::Builder::new()
            .prefix("tally-galera-")
            .tempdir_in(&within);
        let folder = folder.map_err(|source| ServerError::File {
            path: within,
            source,
        })?;
        user.give(folder.path())?;
        let servers = options.servers.max(1);
        let ports = free_ports(4 * servers).map_err(ServerError::NoPorts)?;
        let member = |ports: &[u16]| Member {
            port: ports[0],
            group: ports[1],
            transfer: [ports[2], ports[3]],
            process: None,
        };
        let mut cluster = Self {
            user,
            provider,
            folder,
            members: ports.chunks_exact(4).map(member).collect(),
            arguments: options.arguments.clone(),
        };
        cluster.initialise()?;
        cluster.bring_up(0, true)?;
        for member in 1..cluster.members.len() {
            cluster.bring_up(member, false)?;
        }
        Ok(cluster)
    }

    /// Returns the URL of the database on all servers, without the password.
    #[must_use]
    pub fn url(&self) -> String {
        let hosts = self
            .members
            .iter()
            .map(|one| format!("127.0.0.1:{}", one.port));
        let hosts: Vec<String> = hosts.collect();
        format!("mysql://{USER}@{}/{USER}", hosts.join(","))
    }

    /// Returns the number of servers.
    #[must_use]
    pub fn servers(&self) -> usize {
        self.members.len()
    }

    /// Returns the process id of a server, or `None` if it is stopped.
    #[must_use]
    pub fn process(&self, server: usize) -> Option<u32> {
        self.members[server]
            .process
            .as_ref()
            .map(|process| process.id())
    }

    /// Runs statements on a server as the administrator. Returns the rows, one line each, fields separated by tabs.
    ///
    /// # Errors
    /// A statement failed, or the server does not answer.
    pub fn query(&self, server: usize, sql: &str) -> Result<String, ServerError> {
        let mut client = self.user.command(Path::new("mariadb"));
        client
            .arg("--no-defaults")
            .arg("--socket")
            .arg(self.socket(server))
            .args(["--user=root", "--batch", "--skip-column-names", USER])
            .args(["--connect-timeout=5", "--execute", sql]);
        output(&mut client)
    }

    /// Ends a server as a crash would.
    ///
    /// # Errors
    /// The process can't be signalled.
    pub fn crash(&mut self, server: usize) -> Result<(), ServerError> {
        self.end(server, Signal::KILL)
    }

    /// Stops all threads of a server, or lets them go on.
    ///
    /// # Errors
    /// The process can't be signalled.
    pub fn suspend(&self, server: usize, is_suspended: bool) -> Result<(), ServerError> {
        let signal = match is_suspended {
            true => Signal::STOP,
            false => Signal::CONT,
        };
        match &self.members[server].process {
            Some(process) => send(process.id(), signal),
            None => Ok(()),
        }
    }

    /// Starts a server that was stopped or crashed, and waits until it has joined the others.
    ///
    /// It first waits until the others have left it out. While they still count the process before it as a member, a new one with its
    /// address can keep them from agreeing on their members.
    ///
    /// # Errors
    /// It does not start, or there is no majority to join.
    pub fn run(&mut self, server: usize) -> Result<(), ServerError> {
        let others = |at: &usize| *at != server && self.members[*at].process.is_some();
        let others: Vec<usize> = (0..self.members.len()).filter(others).collect();
        if let Some(first) = others.first() {
            self.wait_until(*first, MEMBERS, &others.len().to_string())?;
        }
        self.bring_up(server, false)
    }

    /// Ends all servers as a power cut would, and starts them again: first the one with the latest commit. Calls `begins` just before that
    /// one starts, which is a majority of its own from then on.
    ///
    /// # Errors
    /// A server does not start.
    pub fn restart_all(&mut self, begins: impl FnOnce()) -> Result<(), ServerError> {
        for server in 0..self.members.len() {
            self.crash(server)?;
        }
        let mut places = Vec::new();
        for server in 0..self.members.len() {
            places.push((self.recovered_position(server)?, server));
        }
        places.sort_by_key(|(position, _)| std::cmp::Reverse(position.1));
        begins();
        for (at, (_, server)) in places.iter().enumerate() {
            self.bring_up(*server, at == 0)?;
        }
        Ok(())
    }

    /// Stops all servers, copies their data to the folder `to`, which must not exist, and starts them again. All have the same data.
    ///
    /// # Errors
    /// A server does not stop or start, or the data cannot be copied.
    pub fn save(&mut self, to: &Path) -> Result<(), ServerError> {
        self.stop_all()?;
        copy(&self.folder_of(0), to)?;
        self.run_all()
    }

    /// Stops all servers, replaces their data by a copy that [`GaleraCluster::save`] made, and starts them again.
    ///
    /// # Errors
    /// A server does not stop or start, or the data cannot be copied.
    pub fn restore(&mut self, from: &Path) -> Result<(), ServerError> {
        self.stop_all()?;
        for server in 0..self.members.len() {
            let path = self.folder_of(server);
            std::fs::remove_dir_all(&path).map_err(|source| ServerError::File {
                path: path.clone(),
                source,
            })?;
            copy(from, &path)?;
        }
        self.run_all()
    }

    /// Stops all servers in good order, so that each has every commit.
    fn stop_all(&mut self) -> Result<(), ServerError> {
        (0..self.members.len()).try_for_each(|server| self.end(server, Signal::TERM))
    }

    /// Starts all servers, which are stopped and have the same data.
    fn run_all(&mut self) -> Result<(), ServerError> {
        (0..self.members.len()).try_for_each(|server| self.bring_up(server, server == 0))
    }

    /// Returns the folder of a server's data.
    #[must_use]
    pub fn data(&self, server: usize) -> PathBuf {
        self.folder_of(server)
    }

    /// Leaves the servers running, and their data in the folder.
    pub fn leave_running(mut self) {
        for member in &mut self.members {
            // The process is no child that anybody waits for any more.
            drop(member.process.take());
        }
        self.folder.disable_cleanup(true);
    }

    /// Bounds the size that files of a running server may grow to, as a full disk would, or lifts the bound. Nothing happens if the server
    /// has ended meanwhile.
    ///
    /// # Errors
    /// The program `prlimit` can't be started.
    pub fn bound_files(&self, server: usize, bytes: Option<u64>) -> Result<(), ServerError> {
        let Some(pid) = self.process(server) else {
            return Ok(());
        };
        let bound = bytes.map_or_else(|| "unlimited".to_owned(), |bytes| bytes.to_string());
        // Only a process of the same user may.
        let mut command = self.user.command(Path::new("prlimit"));
        command
            .args(["--pid", &pid.to_string()])
            // The soft limit alone, so that it can be lifted again.
            .arg(format!("--fsize={bound}:"));
        match output(&mut command) {
            // The server has ended.
            Err(ServerError::Failed { .. }) if bytes.is_none() => Ok(()),
            done => done.map(drop),
        }
    }

    /// Waits until a running server is a member of the majority and takes statements.
    ///
    /// # Errors
    /// It does not come back.
    pub fn joined(&mut self, server: usize) -> Result<(), ServerError> {
        self.wait_until(server, READY, "ON")
    }

    fn folder_of(&self, server: usize) -> PathBuf {
        self.folder.path().join(format!("data-{server}"))
    }

    fn socket(&self, server: usize) -> PathBuf {
        self.folder.path().join(format!("socket-{server}"))
    }

    /// Returns a server's folder of temporary files. A server deletes all temporary tables in it at its start, also those of another server.
    fn temporary(&self, server: usize) -> PathBuf {
        self.folder.path().join(format!("temporary-{server}"))
    }

    fn log(&self, server: usize) -> PathBuf {
        self.folder.path().join(format!("log-{server}.err"))
    }

    /// Makes the data of the first server, and copies it for the others, which then need no transfer.
    fn initialise(&mut self) -> Result<(), ServerError> {
        for server in 0..self.members.len() {
            let path = self.temporary(server);
            std::fs::create_dir(&path).map_err(|source| ServerError::File {
                path: path.clone(),
                source,
            })?;
            self.user.give(&path)?;
        }
        let mut install = self.user.command(Path::new("mariadb-install-db"));
        install
            // The program starts a server by itself, which takes the folder from here.
            .env("TMPDIR", self.temporary(0))
            .args(["--no-defaults", "--auth-root-authentication-method=normal"])
            .args(["--skip-test-db", "--skip-log-bin"])
            .arg(format!("--datadir={}", self.folder_of(0).display()));
        output(&mut install)?;
        self.launch(0, &["--wsrep-on=OFF".to_owned()])?;
        self.wait_until(0, "select 1", "1")?;
        // The client names the database, which is not there yet.
        let statements = format!(
            "create database {USER}; create user {USER}@'%' identified by '{PASSWORD}'; grant all on {USER}.* to {USER}@'%'"
        );
        let mut client = self.user.command(Path::new("mariadb"));
        client
            .arg("--no-defaults")
            .arg("--socket")
            .arg(self.socket(0))
            .args(["--user=root", "--execute", &statements]);
        output(&mut client)?;
        self.end(0, Signal::TERM)?;
        for server in 1..self.members.len() {
            let mut copy = self.user.command(Path::new("cp"));
            copy.arg("-a").arg("--").arg(self.folder_of(0));
            copy.arg(self.folder_of(server));
            output(&mut copy)?;
        }
        Ok(())
    }

    /// Starts a server and waits until it takes statements.
    fn bring_up(&mut self, server: usize, is_first: bool) -> Result<(), ServerError> {
        if self.members.len() == 1 {
            self.launch(server, &["--wsrep-on=OFF".to_owned()])?;
            return self.wait_until(server, "select 1", "1");
        }
        let mut arguments = self.cluster_arguments(server);
        let crashed = self.folder_of(server).join("grastate.dat").exists();
        if crashed {
            let (history, number) = self.recovered_position(server)?;
            if !history.is_empty() {
                arguments.push(format!("--wsrep-start-position={history}:{number}"));
            }
        }
        if is_first {
            self.allow_first(server)?;
            arguments.push("--wsrep-new-cluster".to_owned());
        }
        self.launch(server, &arguments)?;
        self.joined(server)
    }

    fn cluster_arguments(&self, server: usize) -> Vec<String> {
        let one = &self.members[server];
        let group = self
            .members
            .iter()
            .map(|one| format!("127.0.0.1:{}", one.group));
        let group: Vec<String> = group.collect();
        let options = [
            format!("gmcast.listen_addr=tcp://127.0.0.1:{}", one.group),
            format!("ist.recv_addr=127.0.0.1:{}", one.transfer[0]),
            // A server that does not answer is left out soon, so that the others can go on.
            "evs.keepalive_period=PT0.3S".to_owned(),
            "evs.inactive_check_period=PT0.2S".to_owned(),
            "evs.suspect_timeout=PT1S".to_owned(),
            "evs.inactive_timeout=PT3S".to_owned(),
            // An attempt to agree on the members ends soon, and the next one begins.
            "evs.install_timeout=PT1.5S".to_owned(),
            "evs.join_retrans_period=PT0.2S".to_owned(),
            // A server that was left out may come back soon, not after the usual 5 s.
            "gmcast.peer_timeout=PT1S".to_owned(),
            "gmcast.time_wait=PT1S".to_owned(),
            // A server that cannot write stops the others only after this many commits.
            "gcs.fc_limit=512".to_owned(),
            "gcache.size=128M".to_owned(),
        ];
        vec![
            "--wsrep-on=ON".to_owned(),
            format!("--wsrep-provider={}", self.provider.display()),
            "--wsrep-cluster-name=tally".to_owned(),
            format!("--wsrep-cluster-address=gcomm://{}", group.join(",")),
            format!("--wsrep-node-name=server-{server}"),
            format!("--wsrep-node-address=127.0.0.1:{}", one.group),
            format!("--wsrep-provider-options={}", options.join(";")),
            "--wsrep-sst-method=rsync".to_owned(),
            format!("--wsrep-sst-receive-address=127.0.0.1:{}", one.transfer[1]),
            "--binlog-format=ROW".to_owned(),
            "--innodb-autoinc-lock-mode=2".to_owned(),
        ]
    }

    /// Marks a server as the one that may begin a new cluster.
    fn allow_first(&self, server: usize) -> Result<(), ServerError> {
        let path = self.folder_of(server).join("grastate.dat");
        let Ok(text) = std::fs::read_to_string(&path) else {
            return Ok(());
        };
        let text = text.replace("safe_to_bootstrap: 0", "safe_to_bootstrap: 1");
        std::fs::write(&path, text).map_err(|source| ServerError::File { path, source })
    }

    /// Returns the history and the number of the last commit of a server that is stopped.
    fn recovered_position(&self, server: usize) -> Result<(String, i64), ServerError> {
        let log = self.folder.path().join(format!("recovery-{server}.err"));
        let _ = std::fs::remove_file(&log);
        let mut command = self.user.command(Path::new(SERVER));
        command
            .args(self.arguments_of(server, &log))
            .args(self.cluster_arguments(server))
            .arg("--wsrep-recover");
        output(&mut command)?;
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        let found = text.lines().rev().find_map(|line| {
            let (_, position) = line.split_once("Recovered position:")?;
            let position = position.trim().split(',').next()?;
            let (history, number) = position.rsplit_once(':')?;
            Some((history.to_owned(), number.parse().ok()?))
        });
        Ok(found.unwrap_or_default())
    }

    fn arguments_of(&self, server: usize, log: &Path) -> Vec<String> {
        let one = &self.members[server];
        let mut arguments = vec![
            "--no-defaults".to_owned(),
            format!("--datadir={}", self.folder_of(server).display()),
            format!("--port={}", one.port),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--socket={}", self.socket(server).display()),
            format!("--pid-file={}/pid-{server}", self.folder.path().display()),
            format!("--log-error={}", log.display()),
            format!("--tmpdir={}", self.temporary(server).display()),
            "--skip-name-resolve".to_owned(),
            "--default-storage-engine=InnoDB".to_owned(),
            "--innodb-flush-log-at-trx-commit=1".to_owned(),
            format!("--server-id={}", server + 1),
        ];
        arguments.extend(self.arguments.iter().cloned());
        arguments
    }

    fn launch(&mut self, server: usize, arguments: &[String]) -> Result<(), ServerError> {
        assert!(
            self.members[server].process.is_none(),
            "the server was stopped before"
        );
        let mut command = self.user.command(Path::new(SERVER));
        command
            .args(self.arguments_of(server, &self.log(server)))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        self.members[server].process = Some(spawn(&mut command)?);
        Ok(())
    }

    fn wait_until(&mut self, server: usize, sql: &str, wanted: &str) -> Result<(), ServerError> {
        let deadline = Instant::now() + JOIN;
        loop {
            let mut client = self.user.command(Path::new("mariadb"));
            client
                .arg("--no-defaults")
                .arg("--socket")
                .arg(self.socket(server))
                .args([
                    "--user=root",
                    "--batch",
                    "--skip-column-names",
                    "--execute",
                    sql,
                ]);
            if output(&mut client).is_ok_and(|found| found == wanted) {
                return Ok(());
            }
            let process = self.members[server].process.as_mut();
            let ended = process.is_none_or(|process| {
                // An error means that there is no such child any more.
                process.try_wait().map_or(true, |status| status.is_some())
            });
            if ended || Instant::now() >= deadline {
                let log = std::fs::read(self.log(server)).unwrap_or_default();
                let from = log.len().saturating_sub(LOG_SHOWN);
                return Err(ServerError::LateMember {
                    server,
                    log: String::from_utf8_lossy(&log[from..]).into_owned(),
                });
            }
            std::thread::sleep(LOOK);
        }
    }

    fn end(&mut self, server: usize, signal: Signal) -> Result<(), ServerError> {
        let Some(mut process) = self.members[server].process.take() else {
            return Ok(());
        };
        send(process.id(), signal)?;
        let deadline = Instant::now() + END;
        while process.try_wait().is_ok_and(|status| status.is_none()) {
            if Instant::now() >= deadline {
                send(process.id(), Signal::KILL)?;
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
}

impl Drop for GaleraCluster {
    fn drop(&mut self) {
        for server in 0..self.members.len() {
            // Its data is deleted, so there is nothing to save.
            let _ = self.crash(server);
        }
    }
}
