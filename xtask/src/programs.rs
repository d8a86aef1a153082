//! Builds the test programs of the workspace and lists their tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::cargo::{self, PROFILE, cargo};
use crate::metadata;

/// A built program of tests.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Program {
    /// The crate.
    pub package: String,
    /// Whether the tests are outside the crate, in its folder `tests`. Unit tests come first in the order.
    pub outside: bool,
    /// The name of cargo's target.
    pub target: String,
    /// The crate's folder, the current folder of its tests.
    pub folder: PathBuf,
    /// The file.
    pub executable: PathBuf,
}

impl Program {
    /// Returns a command that runs the program in the environment that cargo gives to tests.
    pub fn command(&self) -> Command {
        self.in_its_environment(Command::new(&self.executable))
    }

    /// Returns the same command, run by `nice`.
    pub fn command_at_low_priority(&self) -> Command {
        let mut command = Command::new("nice");
        command.args(["-n", "10"]).arg(&self.executable);
        self.in_its_environment(command)
    }

    fn in_its_environment(&self, mut command: Command) -> Command {
        cargo::without_this_package(&mut command);
        command
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }

    /// Returns the names of the tests that the arguments select.
    pub fn tests(&self, arguments: &[String]) -> Result<Vec<String>> {
        let output = self
            .command()
            .arg("--list")
            .args(arguments)
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| self.executable.display().to_string())?;
        if !output.status.success() {
            bail!("{} --list: {}", self.executable.display(), output.status);
        }
        let text = String::from_utf8(output.stdout).context("the output is not UTF-8")?;
        let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
        Ok(names.map(str::to_owned).collect())
    }
}

/// Builds the programs that `cargo test` with these arguments would run, and returns them by crate.
pub fn build(arguments: &[String]) -> Result<Vec<Program>> {
    let output = cargo()
        .args(["test", "--profile", PROFILE, "--locked", "--no-run"])
        .arg("--message-format=json-render-diagnostics")
        .args(arguments)
        .current_dir(metadata::root())
        .stderr(Stdio::inherit())
        .output()
        .context("cargo test does not start")?;
    if !output.status.success() {
        bail!("the tests do not build ({})", output.status);
    }
    let text = String::from_utf8(output.stdout).context("the output is not UTF-8")?;
    let mut programs: Vec<Program> = text.lines().filter_map(program).collect();
    programs.sort();
    Ok(programs)
}

/// Returns the test program that a line of cargo's messages names.
fn program(line: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(line).ok()?;
    if message["profile"]["test"] != true {
        return None;
    }
    let executable = message["executable"].as_str()?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    let target = &message["target"];
    Some(Program {
        package: folder.file_name()?.to_str()?.to_owned(),
        outside: target["kind"][0] == "test",
        target: target["name"].as_str()?.to_owned(),
        folder: folder.to_owned(),
        executable: executable.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_only_test_programs() {
        let line = |test: bool, executable: &str| {
            format!(
                r#"{{"profile":{{"test":{test}}},"executable":{executable},"manifest_path":"/r/crates/flow/Cargo.toml",
                "target":{{"kind":["test"],"name":"it"}}}}"#
            )
        };
        let found = program(&line(true, r#""/t/it-1""#)).expect("a program");
        assert_eq!(
            (found.package.as_str(), found.target.as_str(), found.outside),
            ("flow", "it", true)
        );
        assert_eq!(found.executable, Path::new("/t/it-1"));
        for line in [
            line(false, r#""/t/it-1""#),
            line(true, "null"),
            "not JSON".to_owned(),
        ] {
            assert_eq!(program(&line), None, "{line}");
        }
    }
}
