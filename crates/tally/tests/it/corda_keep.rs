//! `connectors/corda/keep`: no program of the Corda connector outlives the connector.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use perf::topology::{Signal, signal};
use tempfile::TempDir;

/// A running keeper, and the folder of its programs. In it is a pipe to which a program writes its id.
struct Keeper {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    folder: TempDir,
}

impl Keeper {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let made = Command::new("mkfifo")
            .arg(folder.path().join("pid"))
            .status();
        assert!(made.expect("mkfifo runs").success());
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../connectors/corda/keep");
        let mut process = Command::new(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it runs");
        let output = process.stdout.take().expect("a pipe");
        Self {
            input: process.stdin.take(),
            output: BufReader::new(output),
            process,
            folder,
        }
    }

    /// Has it run a shell script.
    fn run(&mut self, script: &str) {
        let folder = self.folder.path().display();
        let input = self.input.as_mut().expect("it is open");
        writeln!(input, "{folder}\tsh\t-c\t{script}").expect("it reads");
    }

    /// Has it run a program that does not end by itself. Returns its id in `/proc`.
    fn run_long(&mut self) -> String {
        self.run("echo $$ >pid; exec sleep 600");
        let pid = fs::read_to_string(self.folder.path().join("pid")).expect("a pipe");
        format!("/proc/{}", pid.trim())
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it writes");
        line
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.input.take());
        // Ignore the result: it has ended, or ends now.
        let _ = self.process.wait();
    }
}

#[test]
fn a_program_that_ends_is_reported_and_its_output_is_in_its_folder() {
    let mut keeper = Keeper::start();
    keeper.run("echo what it says; echo and why >&2; exit 3");
    assert_eq!(keeper.line(), "ended 3\n");
    let said = fs::read_to_string(keeper.folder.path().join("console.log"));
    assert_eq!(said.expect("a log"), "what it says\nand why\n");
}

#[test]
fn the_next_program_replaces_the_one_that_runs() {
    let mut keeper = Keeper::start();
    let first = keeper.run_long();
    let second = keeper.run_long();
    assert!(keeper.line().starts_with("ended "));
    assert!(!Path::new(&first).exists() && Path::new(&second).exists());
}

#[test]
fn a_program_ends_with_its_keeper() {
    let close: fn(&mut Keeper) = |keeper| drop(keeper.input.take());
    let terminate: fn(&mut Keeper) = |keeper| signal(keeper.process.id(), Signal::TERM);
    for (how, end) in [("the input ends", close), ("SIGTERM", terminate)] {
        let mut keeper = Keeper::start();
        let program = keeper.run_long();
        end(&mut keeper);
        // The pipe is closed once nothing that the keeper has started has it.
        let mut rest = String::new();
        keeper.output.read_to_string(&mut rest).expect("it writes");
        assert!(rest.starts_with("ended "), "{how}: {rest}");
        assert!(!Path::new(&program).exists(), "{how}");
    }
}
