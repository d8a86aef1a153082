//! A reader of a guide: a folder that looks like a clone of the repository, a shell, and the nodes that were started.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use super::page::Step;
use super::quote::{self, Ids};

/// The longest time that a command may take.
const COMMAND_S_MAX: &str = "120";
/// The longest time until a query shows the quoted output.
const QUERY_MAX: Duration = Duration::from_secs(30);
/// Pause between two runs of a query.
const QUERY_EVERY: Duration = Duration::from_millis(100);
/// Commands that run until they are stopped.
const SERVERS: &[&str] = &["node run", "chain run"];
/// Commands without an effect. The state that they show may arrive a moment after the command before them has ended.
const QUERIES: &[&str] = &[
    "vault balances",
    "vault states",
    "vault query",
    "ledger list",
    "tx show",
    "flow list",
    "flow stuck",
    "flow scheduled",
    "attachment list",
    "attachment show",
    "node info",
    "chain status",
    "chain balance",
    "chain blocks",
    "chain peers",
    "chain equivocations",
];
/// The folder of programs in a clone.
const PROGRAMS: &str = "target/release";
/// A part of the line that says that a node is ready.
const READY: &str = "\"ready\":";
/// The begin of the line that says why a command failed.
const ERROR: &str = "error: ";

/// Runs the commands of guides. Dropping it ends its nodes and removes its folder.
pub struct Reader {
    // Nodes come first: they are dropped, and so ended, before their folder goes.
    nodes: Vec<Node>,
    folder: tempfile::TempDir,
    ids: Ids,
}

/// A node in the background. Dropping it ends its process.
struct Node {
    process: Child,
    output: BufReader<ChildStdout>,
    log: PathBuf,
    is_ready: bool,
}

impl Drop for Node {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Reader {
    /// Makes a folder with a copy of the repository's examples, and these programs in the place where cargo builds them. No
    /// symbolic links: `tally` prints the name of its own file.
    pub fn new(programs: &[(&str, &Path)]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let clone = folder.path().join("clone");
        fs::create_dir_all(clone.join(PROGRAMS)).expect("a new folder");
        for (name, file) in programs {
            let place = clone.join(PROGRAMS).join(name);
            // Another file system needs a copy.
            let linked = fs::hard_link(file, &place).or_else(|_| fs::copy(file, &place).map(drop));
            linked.expect("the program is there");
        }
        let copied = Command::new("cp")
            .arg("-r")
            .args([&super::repository().join("examples"), &clone])
            .status();
        assert!(copied.expect("coreutils are installed").success());
        let state = format!("cd '{}'\n", clone.display());
        fs::write(folder.path().join("state"), state).expect("written");
        Self {
            nodes: Vec::new(),
            folder,
            ids: Ids::default(),
        }
    }

    /// Forgets the ids of the guide before: each guide has its own.
    pub fn begin_page(&mut self) {
        self.ids = Ids::default();
    }

    /// Runs the commands of a step. Fails if one fails, or if their output is not the quoted one.
    pub fn run(&mut self, step: &Step) -> Result<(), String> {
        let commands = step.each().into_iter();
        let commands = commands.map(|command| self.ids.fill(&command));
        let commands = commands.collect::<Result<Vec<String>, String>>();
        let commands = commands.map_err(|id| format!("no output before shows the id {id}"))?;
        let quote = step.output.as_ref().map(|block| block.text.as_str());
        let may_fail = quote.is_some_and(|text| text.lines().any(|line| line.starts_with(ERROR)));
        let only_queries = commands.iter().all(|command| names(command, QUERIES));
        let end = Instant::now() + QUERY_MAX;
        loop {
            let printed = self.output(&commands, may_fail)?;
            let Some(quote) = quote else { return Ok(()) };
            let Err(difference) = quote::compare(quote, &printed, &mut self.ids) else {
                return Ok(());
            };
            if !only_queries || Instant::now() > end {
                return Err(format!("{difference}\nThe commands printed:\n{printed}"));
            }
            std::thread::sleep(QUERY_EVERY);
        }
    }

    /// Runs commands and returns their output. Nodes are started together, because one may wait for another.
    fn output(&mut self, commands: &[String], may_fail: bool) -> Result<String, String> {
        let mut printed = String::new();
        for command in commands {
            let background = command.strip_suffix('&').map(str::trim_end);
            if background.is_some() || names(command, SERVERS) {
                let node = self.start(background.unwrap_or(command));
                self.nodes.push(node);
                continue;
            }
            printed.push_str(&self.ready()?);
            let (succeeded, output) = self.run_one(command);
            if !succeeded && !may_fail {
                return Err(format!("'{command}' failed:\n{output}"));
            }
            printed.push_str(&output);
        }
        printed.push_str(&self.ready()?);
        Ok(printed)
    }

    /// Runs a command to its end. Returns whether it succeeded, and all of its output.
    fn run_one(&self, command: &str) -> (bool, String) {
        let path = self.folder.path().join("output");
        let output = File::create(&path).expect("a new file");
        let errors = output.try_clone().expect("an open file");
        // The folder and the variables of the shell hold for the next command.
        let script = format!(
            ". \"$READER/state\"\n{command}\ncode=$?\n\
             {{ export -p; printf 'cd %q\\n' \"$PWD\"; }} >\"$READER/state\"\nexit $code\n"
        );
        let status = self
            .shell("timeout", &[COMMAND_S_MAX, "bash", "-c", &script])
            .stdout(output)
            .stderr(errors)
            .status()
            .expect("coreutils and bash are installed");
        let output = fs::read_to_string(&path).expect("text");
        (status.success(), output)
    }

    /// Starts a node.
    fn start(&self, command: &str) -> Node {
        let log = self.folder.path().join(format!("log-{}", self.nodes.len()));
        let script = format!(". \"$READER/state\"\nexec {command}\n");
        let mut process = self
            .shell("bash", &["-c", &script])
            .stdout(Stdio::piped())
            .stderr(File::create(&log).expect("a new file"))
            .spawn()
            .expect("bash is installed");
        let output = process.stdout.take().expect("piped");
        Node {
            process,
            output: BufReader::new(output),
            log,
            is_ready: false,
        }
    }

    /// Waits until all nodes are ready. Returns the output of those that were not ready before.
    fn ready(&mut self) -> Result<String, String> {
        self.nodes.iter_mut().map(Node::ready).collect()
    }

    /// Returns a command without the settings of the caller's own shell.
    fn shell(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .env("READER", self.folder.path())
            .env_remove("BASH_ENV")
            .env_remove("TALLY_NODE")
            .env_remove("TALLY_LOG");
        command
    }
}

impl Node {
    /// Waits until the node is ready. Returns its output up to then, or nothing if it was ready before.
    fn ready(&mut self) -> Result<String, String> {
        let mut printed = String::new();
        if self.is_ready {
            return Ok(printed);
        }
        while !printed.lines().any(|line| line.contains(READY)) {
            let read = self.output.read_line(&mut printed).expect("text");
            if read == 0 {
                let log = fs::read_to_string(&self.log).unwrap_or_default();
                return Err(format!("a node ended before it was ready:\n{printed}{log}"));
            }
        }
        self.is_ready = true;
        Ok(printed)
    }
}

/// Returns whether a command is one of these, whatever the name of its program.
fn names(command: &str, those: &[&str]) -> bool {
    let words = command.split_once(' ').map_or("", |(_, words)| words);
    those.iter().any(|one| {
        let rest = words.strip_prefix(one);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    })
}
