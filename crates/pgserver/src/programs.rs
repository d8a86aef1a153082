//! The installed programs of PostgreSQL, and the user that runs them.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::ServerError;

/// Where Debian puts the programs of each version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// The programs of one version.
#[derive(Clone, Debug)]
pub(crate) struct Programs {
    folder: PathBuf,
    /// User and group, if this process is root.
    owner: Option<(u32, u32)>,
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
        let owner = match rustix::process::geteuid().is_root() {
            true => Some(postgres_user().ok_or(ServerError::NoUser)?),
            false => None,
        };
        Ok(Self { folder, owner })
    }

    /// Returns a command of the program, as the user that may run it.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.folder.join(program));
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

fn postgres_user() -> Option<(u32, u32)> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let line = users.lines().find(|line| line.starts_with("postgres:"))?;
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}
