//! The installed programs of PostgreSQL, and the user that runs them.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::ServerError;

/// Where Debian puts the programs of each version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// The user that runs the programs of a server, which refuse to run as root.
#[derive(Clone, Debug)]
pub(crate) struct User {
    /// User and group, if this process is root.
    owner: Option<(u32, u32)>,
}

impl User {
    /// Finds the user of this name if this process is root. Any other user runs the programs itself.
    pub(crate) fn named(name: &'static str) -> Result<Self, ServerError> {
        let owner = match rustix::process::geteuid().is_root() {
            true => Some(ids_of(name).ok_or(ServerError::NoUser(name))?),
            false => None,
        };
        Ok(Self { owner })
    }

    /// Returns a command of the program, as the user that may run it.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        if let Some((user, group)) = self.owner {
            command.uid(user).gid(group);
        }
        // Messages in English on every machine.
        command.env("LC_ALL", "C").current_dir("/");
        command
    }

    /// Gives a file or folder to the user that runs the programs.
    pub(crate) fn give(&self, path: &Path) -> Result<(), ServerError> {
        let Some((user, group)) = self.owner else {
            return Ok(());
        };
        std::os::unix::fs::chown(path, Some(user), Some(group)).map_err(|source| {
            ServerError::File {
                path: path.to_path_buf(),
                source,
            }
        })
    }
}

/// The programs of one version.
#[derive(Clone, Debug)]
pub(crate) struct Programs {
    folder: PathBuf,
    user: User,
}

impl Programs {
    /// Finds the programs of the newest version.
    pub(crate) fn find() -> Result<Self, ServerError> {
        let versions = std::fs::read_dir(DEBIAN).into_iter().flatten().flatten();
        let mut found: Vec<(u32, PathBuf)> = versions
            .filter_map(|entry| {
                let version = entry.file_name().to_str()?.parse().ok()?;
                Some((version, entry.path().join("bin")))
            })
            .filter(|(_, folder)| folder.join("initdb").exists())
            .collect();
        found.sort();
        let in_path = || {
            let path = std::env::var_os("PATH")?;
            std::env::split_paths(&path).find(|folder| {
                ["initdb", "postgres", "psql"]
                    .iter()
                    .all(|program| folder.join(program).exists())
            })
        };
        let folder = found.pop().map(|(_, folder)| folder).or_else(in_path);
        let folder = folder.ok_or(ServerError::NotInstalled)?;
        let user = User::named("postgres")?;
        Ok(Self { folder, user })
    }

    /// Returns a command of the program, as the user that may run it.
    pub(crate) fn command(&self, program: &str) -> Command {
        self.user.command(&self.folder.join(program))
    }

    /// Returns a command of a program of the system, as the same user.
    pub(crate) fn other(&self, program: &str) -> Command {
        self.user.command(Path::new(program))
    }

    /// Gives a file or folder to the user that runs the programs.
    pub(crate) fn give(&self, path: &Path) -> Result<(), ServerError> {
        self.user.give(path)
    }
}

/// Returns user and group of a user of this machine.
fn ids_of(name: &str) -> Option<(u32, u32)> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let line = users
        .lines()
        .find(|line| line.split(':').next() == Some(name))?;
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}
