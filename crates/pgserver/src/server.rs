//! One running server.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::error::ServerError;
use crate::keeper::KeptChild;
use crate::ports::free_ports;
use crate::programs::Programs;
use crate::signal::send;

/// The user of the databases.
pub const USER: &str = "ledger";
/// The user's password, for connections by TCP.
pub const PASSWORD: &str = "of-a-private-server";
/// Time for the server to accept connections, a recovery included.
const START: Duration = Duration::from_secs(60);
/// Pause between two looks at a process.
const LOOK: Duration = Duration::from_millis(20);
/// Bytes of the log in an error.
const LOG_SHOWN: usize = 800;

/// Options of a private server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerOptions {
    /// The parent of the server's folder. If there is none, the system's folder of temporary files. The user that runs the server must be able
    /// to reach it.
    pub within: Option<PathBuf>,
    /// Lines for `postgresql.conf`.
    pub settings: Vec<String>,
    /// A certificate and its key as PEM. The server then offers TLS.
    pub tls: Option<(String, String)>,
}

/// A private server. Dropping it stops the server and deletes its data.
#[derive(Debug)]
pub struct PgServer {
    programs: Programs,
    folder: TempDir,
    port: u16,
    process: Option<KeptChild>,
}

impl PgServer {
    /// Makes a server with the empty database [`USER`], owned by the user of the same name, and starts it.
    ///
    /// # Errors
    /// PostgreSQL is not installed, or does not start.
    pub fn start(options: &ServerOptions) -> Result<Self, ServerError> {
        let programs = Programs::find()?;
        let within = options.within.clone().unwrap_or_else(std::env::temp_dir);
        let folder = tempfile::Builder::new()
            .prefix("tally-pg-")
            .tempdir_in(&within);
        let folder = folder.map_err(|source| ServerError::File {
            path: within,
            source,
        })?;
        programs.give(folder.path())?;
        let port = free_ports(1).map_err(ServerError::NoPorts)?[0];
        let mut server = Self {
            programs,
            folder,
            port,
            process: None,
        };
        server.initialise(options)?;
        server.run()?;
        let owner = format!("create role {USER} login password '{PASSWORD}'");
        server.execute("postgres", "postgres", &owner)?;
        let database = format!("create database {USER} owner {USER}");
        server.execute("postgres", "postgres", &database)?;
        Ok(server)
    }

    /// Returns the URL of the database, for a connection by TCP.
    #[must_use]
    pub fn url(&self) -> String {
        format!(
            "postgres://{USER}:{PASSWORD}@127.0.0.1:{}/{USER}",
            self.port
        )
    }

    /// Returns the port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the folder of the server's data, for looks at its size.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Returns the process id of the server, or `None` if it is stopped.
    #[must_use]
    pub fn process(&self) -> Option<u32> {
        self.process.as_ref().map(|process| process.id())
    }

    /// Runs statements as the owner of the databases. Returns the rows, one line each, fields separated by `|`.
    ///
    /// # Errors
    /// A statement failed, or the server does not answer.
    pub fn query(&self, sql: &str) -> Result<String, ServerError> {
        self.execute(USER, USER, sql)
    }

    /// Runs statements in the database as the administrator. See [`PgServer::query`].
    ///
    /// # Errors
    /// A statement failed, or the server does not answer.
    pub fn administer(&self, sql: &str) -> Result<String, ServerError> {
        self.execute("postgres", USER, sql)
    }

    /// Stops the server as a crash would: it recovers at its next start.
    ///
    /// # Errors
    /// The process cannot be signalled.
    pub fn crash(&mut self) -> Result<(), ServerError> {
        self.end(Signal::QUIT)
    }

    /// Stops the server, after it has ended all connections.
    ///
    /// # Errors
    /// The process cannot be signalled.
    pub fn stop(&mut self) -> Result<(), ServerError> {
        self.end(Signal::INT)
    }

    /// Stops all processes of the server, or lets them go on.
    ///
    /// # Errors
    /// A process can't be signalled.
    pub fn suspend(&self, is_suspended: bool) -> Result<(), ServerError> {
        let signal = match is_suspended {
            true => Signal::STOP,
            false => Signal::CONT,
        };
        // The first process comes first: once it stands still, it starts no others.
        if let Some(pid) = self.process() {
            send(pid, signal)?;
        }
        for pid in self.children() {
            send(pid, signal)?;
        }
        Ok(())
    }

    /// Bounds the size that the files of a running server may grow to, as a full disk would. The server ends when it cannot write its log; it
    /// has no bound after its next start.
    ///
    /// # Errors
    /// The program `prlimit` can't be started.
    pub fn bound_files(&self, bytes: u64) -> Result<(), ServerError> {
        for pid in self.process().into_iter().chain(self.children()) {
            let mut command = self.programs.other("prlimit");
            command
                .args(["--pid", &pid.to_string()])
                .arg(format!("--fsize={bytes}"));
            match output(&mut command) {
                // The process has ended.
                Err(ServerError::Failed { .. }) => {}
                done => drop(done?),
            }
        }
        Ok(())
    }

    /// Starts the server that was stopped or crashed, and waits until it accepts connections.
    ///
    /// # Errors
    /// It does not start.
    pub fn run(&mut self) -> Result<(), ServerError> {
        assert!(self.process.is_none(), "the server was stopped before");
        let log = self.log();
        let mut appended = std::fs::File::options();
        let file = appended.create(true).append(true).open(&log);
        let file = file.map_err(|source| ServerError::File { path: log, source })?;
        let mut command = self.programs.command("postgres");
        command
            .arg("-D")
            .arg(self.data())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(file);
        self.process = Some(spawn(&mut command)?);
        self.wait_until_ready()
    }

    /// Stops the server, copies its data to the folder `to`, which must not exist, and starts it again.
    ///
    /// # Errors
    /// It does not stop or start, or the data cannot be copied.
    pub fn save(&mut self, to: &Path) -> Result<(), ServerError> {
        self.stop()?;
        copy(&self.data(), to)?;
        self.run()
    }

    /// Stops the server, replaces its data by a copy that [`PgServer::save`] made, and starts it again.
    ///
    /// # Errors
    /// It does not stop or start, or the data cannot be copied.
    pub fn restore(&mut self, from: &Path) -> Result<(), ServerError> {
        self.stop()?;
        let data = self.data();
        std::fs::remove_dir_all(&data).map_err(|source| ServerError::File {
            path: data.clone(),
            source,
        })?;
        copy(from, &data)?;
        self.run()
    }

    /// Leaves the server running, and its data in its folder. Returns the folder.
    pub fn leave_running(mut self) -> PathBuf {
        let _ = self.process.take();
        self.folder.disable_cleanup(true);
        self.folder.path().to_path_buf()
    }

    fn initialise(&self, options: &ServerOptions) -> Result<(), ServerError> {
        let data = self.data();
        let mut initdb = self.programs.command("initdb");
        initdb
            .args(["--auth-local=trust", "--auth-host=scram-sha-256"])
            .args(["--encoding=UTF8", "--locale=C", "--username=postgres"])
            .args(["--no-sync", "--no-instructions", "-D"])
            .arg(&data);
        output(&mut initdb)?;
        let mut settings = format!(
            "listen_addresses = '127.0.0.1'\nport = {}\nunix_socket_directories = '{}'\nlogging_collector = off\n",
            self.port,
            self.folder.path().display(),
        );
        if let Some((certificate, key)) = &options.tls {
            for (name, text) in [("server.crt", certificate), ("server.key", key)] {
                self.write(&data.join(name), text)?;
            }
            settings.push_str("ssl = on\n");
        }
        for line in &options.settings {
            settings.push_str(line);
            settings.push('\n');
        }
        let path = data.join("postgresql.conf");
        let defaults = std::fs::read_to_string(&path).map_err(|source| ServerError::File {
            path: path.clone(),
            source,
        })?;
        self.write(&path, &format!("{defaults}\n{settings}"))
    }

    /// Writes a file that only the user of the server may read.
    fn write(&self, path: &Path, text: &str) -> Result<(), ServerError> {
        use std::os::unix::fs::PermissionsExt;
        let failed = |source| ServerError::File {
            path: path.to_path_buf(),
            source,
        };
        std::fs::write(path, text).map_err(failed)?;
        let private = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(path, private).map_err(failed)?;
        self.programs.give(path)
    }

    fn wait_until_ready(&mut self) -> Result<(), ServerError> {
        let deadline = Instant::now() + START;
        loop {
            if self.execute("postgres", "postgres", "select 1").is_ok() {
                return Ok(());
            }
            let ended = self.process.as_mut().is_some_and(|process| {
                // An error means that there is no such child any more.
                process.try_wait().map_or(true, |status| status.is_some())
            });
            if ended || Instant::now() >= deadline {
                return Err(ServerError::Late {
                    seconds: START.as_secs(),
                    log: self.log_end(),
                });
            }
            std::thread::sleep(LOOK);
        }
    }

    fn execute(&self, user: &str, database: &str, sql: &str) -> Result<String, ServerError> {
        let mut psql = self.programs.command("psql");
        psql.arg("-h")
            .arg(self.folder.path())
            .args(["-p", &self.port.to_string(), "-U", user, "-d", database])
            .args(["-v", "ON_ERROR_STOP=1", "-X", "-q", "-A", "-t", "-c", sql]);
        output(&mut psql)
    }

    fn end(&mut self, signal: Signal) -> Result<(), ServerError> {
        // A process that stands still would never end.
        self.suspend(false)?;
        let Some(mut process) = self.process.take() else {
            return Ok(());
        };
        send(process.id(), signal)?;
        process.wait().map_err(|source| ServerError::Program {
            program: "postgres".into(),
            source,
        })?;
        Ok(())
    }

    /// Returns the processes that the first one has started. A server that has ended has none.
    fn children(&self) -> Vec<u32> {
        let Some(pid) = self.process() else {
            return Vec::new();
        };
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        let children = children.unwrap_or_default();
        children
            .split_whitespace()
            .filter_map(|pid| pid.parse().ok())
            .collect()
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn log_end(&self) -> String {
        let log = std::fs::read(self.log()).unwrap_or_default();
        let from = log.len().saturating_sub(LOG_SHOWN);
        String::from_utf8_lossy(&log[from..]).into_owned()
    }
}

impl Drop for PgServer {
    fn drop(&mut self) {
        // Its data is deleted, so there is nothing to save.
        let _ = self.crash();
    }
}

/// Copies a folder with its owners and modes.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), ServerError> {
    let mut copy = Command::new("cp");
    copy.arg("-a").arg("--").arg(from).arg(to);
    output(&mut copy).map(drop)
}

pub(crate) fn spawn(command: &mut Command) -> Result<KeptChild, ServerError> {
    let spawned = command.spawn();
    spawned
        .map(KeptChild::new)
        .map_err(|source| ServerError::Program {
            program: command.get_program().into(),
            source,
        })
}

pub(crate) fn output(command: &mut Command) -> Result<String, ServerError> {
    command.stdin(Stdio::null());
    let output = command.output().map_err(|source| ServerError::Program {
        program: command.get_program().into(),
        source,
    })?;
    if output.status.success() {
        let text = String::from_utf8_lossy(&output.stdout);
        return Ok(text.trim_end().to_owned());
    }
    let mut said = output.stdout;
    said.extend(output.stderr);
    Err(ServerError::Failed {
        program: command.get_program().to_string_lossy().into_owned(),
        output: String::from_utf8_lossy(&said).trim_end().to_owned(),
    })
}
