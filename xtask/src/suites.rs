//! Runs the tests of the whole workspace in the profile of tests, and reports the time of each suite.
//!
//! One program holds all outside tests of a crate (`tests/it`). Tests that start processes, use sockets or measure need the
//! machine for their module: for the crates in [`BY_MODULE`] each module of the program is a suite with a process of its own.
//!
//! Suites run in three lanes at the same time, one suite after another in each ([`Lane`]). Within a suite cargo's usual number of
//! tests run at a time. The lanes keep the cores busy, which suites that wait for other processes do not.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};

use crate::cargo::{PROFILE, cargo};
use crate::metadata;
use crate::programs::{self, Program};

/// Crates whose modules of outside tests are suites of their own.
const BY_MODULE: &[&str] = &["diskimage", "net", "node", "perf", "sim", "store", "tally"];
/// Crates whose tests compute. Deadlines of other processes and nodes do not depend on them.
const COMPUTING: &[&str] = &[
    "chain",
    "diskimage",
    "finance",
    "flow",
    "kernel",
    "ledger",
    "notary",
    "primitives",
    "sim",
    "store",
    "vault",
];
/// Suites of these crates that compare times. They run with the tests of processes, at normal priority.
const TIMED: &[&str] = &["store keys", "store schedule"];
/// Suites that wait for most of their time: for timers, for other processes, or for the disk of a database server.
const WAITING: &[&str] = &[
    "notarydb",
    "pgstore",
    "tally chain_partition",
    "tally crash",
    "tally database_server",
    "tally empty_bank",
    "tally hospital",
    "tally older_bank",
    "tally older_notary",
    "tally older_notary_and_bank",
    "tally replicated_notary",
    "tally silent_counterparty",
];
/// Arguments of cargo that select programs, after which documentation tests are not meant.
const TARGETS: &[&str] = &[
    "--lib",
    "--bin",
    "--bins",
    "--test",
    "--tests",
    "--all-targets",
];

/// Suites that run one after another, at the same time as those of the other lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lane {
    /// Real processes, connections and measurements. Their lines are printed at once.
    Processes,
    /// The suites in [`WAITING`].
    Waiting,
    /// The crates in [`COMPUTING`] without the suites in [`TIMED`]. They have a low priority, so that the tests in the other lanes
    /// meet their deadlines.
    Computing,
}

impl Lane {
    fn of(program: &Program, suite: &str) -> Self {
        if WAITING.contains(&suite) {
            Self::Waiting
        } else if COMPUTING.contains(&program.package.as_str()) && !TIMED.contains(&suite) {
            Self::Computing
        } else {
            Self::Processes
        }
    }

    /// Returns the command that runs a program in this lane.
    fn command(self, program: &Program) -> Command {
        match self {
            Self::Computing => program.command_at_low_priority(),
            Self::Processes | Self::Waiting => program.command(),
        }
    }
}

/// The result of a test program, of one of its modules, or of the documentation tests.
#[derive(Debug, Default, PartialEq, Eq)]
struct Suite {
    name: String,
    passed: u64,
    failed: u64,
    ignored: u64,
    took: Duration,
}

/// A suite to run: its program, its name and its tests.
type Planned = (Program, String, Vec<String>);

/// Runs the chore. Its arguments are those of `cargo test`; options after `--` have the form `--option=value`.
pub fn run(arguments: &[String]) -> Result<()> {
    let end = arguments.iter().position(|word| word == "--");
    // Without a separator there are no filters.
    let (selection, filters) = arguments.split_at(end.unwrap_or(arguments.len()));
    let filters = filters.get(1..).unwrap_or_default();
    let mut selection = selection.to_vec();
    if !selection
        .iter()
        .any(|word| is_option(word, &["-p", "--package"]))
    {
        selection.insert(0, "--workspace".to_owned());
    }
    selection.push("--no-fail-fast".to_owned());

    let mut plan = Vec::new();
    for program in programs::build(&selection)? {
        for (name, tests) in parts(&program, program.tests(filters)?) {
            plan.push((program.clone(), name, tests));
        }
    }
    let mut suites = run_suites(plan, filters)?;
    if !selection.iter().any(|word| is_option(word, TARGETS)) {
        suites.push(run_documentation(&selection, filters)?);
    }
    print(&suites);
    if suites.iter().any(|suite| suite.failed > 0) {
        bail!("tests failed");
    }
    Ok(())
}

/// Returns whether a word of the command line is one of the options, alone or with a value.
fn is_option(word: &str, options: &[&str]) -> bool {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    options.contains(&name)
}

/// Divides the tests of a program into suites: name to tests.
fn parts(program: &Program, tests: Vec<String>) -> BTreeMap<String, Vec<String>> {
    let Program {
        package, target, ..
    } = program;
    let mut parts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for test in tests {
        let name = match test.split_once("::") {
            _ if !program.outside => format!("{package} (unit)"),
            Some((module, _)) if target == "it" && BY_MODULE.contains(&package.as_str()) => {
                format!("{package} {module}")
            }
            _ if target == "it" => package.clone(),
            _ => format!("{package} {target}"),
        };
        parts.entry(name).or_default().push(test);
    }
    parts
}

/// Runs suites in their lanes. Returns the results in the order of the plan.
fn run_suites(plan: Vec<Planned>, filters: &[String]) -> Result<Vec<Suite>> {
    let order: Vec<String> = plan.iter().map(|(_, name, _)| name.clone()).collect();
    let of = |lane| {
        let planned = plan.iter();
        let planned = planned.filter(move |(program, name, _)| Lane::of(program, name) == lane);
        planned.collect::<Vec<_>>()
    };
    let mut suites = std::thread::scope(|scope| {
        let beside = [Lane::Waiting, Lane::Computing].map(|lane| {
            let plan = of(lane);
            scope.spawn(move || run_lane(lane, &plan, filters, &mut Kept::default()))
        });
        let plan = of(Lane::Processes);
        let mut suites = run_lane(Lane::Processes, &plan, filters, &mut Shown)?;
        for lane in beside {
            let lane = lane
                .join()
                .map_err(|_| anyhow!("a lane of suites panicked"))?;
            suites.extend(lane?);
        }
        anyhow::Ok(suites)
    })?;
    suites.sort_by_key(|suite| order.iter().position(|name| *name == suite.name));
    Ok(suites)
}

/// Runs suites one after another.
fn run_lane(
    lane: Lane,
    plan: &[&Planned],
    filters: &[String],
    output: &mut dyn Lines,
) -> Result<Vec<Suite>> {
    let mut suites = Vec::new();
    for (program, name, tests) in plan {
        let command = lane.command(program);
        suites.push(run_suite(command, name.clone(), tests, filters, output)?);
        output.end();
    }
    Ok(suites)
}

/// Takes the lines of a suite's output.
trait Lines {
    fn line(&mut self, line: &str);
    /// The suite has ended.
    fn end(&mut self);
}

/// Prints each line at once.
struct Shown;

impl Lines for Shown {
    fn line(&mut self, line: &str) {
        println!("{line}");
    }

    fn end(&mut self) {}
}

/// Prints the lines of a suite together at its end, so that they do not mix with those of another suite.
#[derive(Default)]
struct Kept(String);

impl Lines for Kept {
    fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    fn end(&mut self) {
        print!("{}", std::mem::take(&mut self.0));
    }
}

/// Runs some tests of a program in one process, and forwards the output. The command runs the program without arguments.
fn run_suite(
    mut command: Command,
    name: String,
    tests: &[String],
    filters: &[String],
    output: &mut dyn Lines,
) -> Result<Suite> {
    output.line(&format!("\n     Running {name}"));
    let options = filters.iter().filter(|word| word.starts_with('-'));
    let started = Instant::now();
    let mut child = command
        .args(options.filter(|word| *word != "--exact"))
        .arg("--exact")
        .args(tests)
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("{name} does not start"))?;
    let stdout = child.stdout.take().context("no stdout")?;
    let mut suite = None;
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        output.line(&line);
        suite = result_line(&line).or(suite);
    }
    let status = child.wait()?;
    // A suite that ended before its result has run nothing.
    let mut suite = suite.unwrap_or_default();
    if !status.success() && suite.failed == 0 {
        output.line(&format!("{name} ended before its result ({status})"));
        suite.failed = 1;
    }
    suite.name = name;
    suite.took = started.elapsed();
    Ok(suite)
}

/// Runs the documentation tests of all crates as one suite, and forwards the output.
fn run_documentation(selection: &[String], filters: &[String]) -> Result<Suite> {
    let started = Instant::now();
    let mut child = cargo()
        .args(["test", "--profile", PROFILE, "--locked", "--doc"])
        .args(selection)
        .arg("--")
        .args(filters)
        .current_dir(metadata::root())
        .stdout(Stdio::piped())
        .spawn()
        .context("cargo test does not start")?;
    let stdout = child.stdout.take().context("no stdout")?;
    let mut suite = Suite::default();
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        println!("{line}");
        if let Some(part) = result_line(&line) {
            suite.passed += part.passed;
            suite.failed += part.failed;
            suite.ignored += part.ignored;
        }
    }
    let status = child.wait()?;
    if !status.success() && suite.failed == 0 {
        println!("the documentation tests ended before their result ({status})");
        suite.failed = 1;
    }
    suite.name = "documentation".to_owned();
    suite.took = started.elapsed();
    Ok(suite)
}

fn print(suites: &[Suite]) {
    println!("\nsuite                                     passed failed ignored  seconds");
    for suite in suites {
        if suite.passed + suite.failed + suite.ignored > 0 {
            println!(
                "{:<41} {:>6} {:>6} {:>7} {:>6}.{:02}",
                suite.name,
                suite.passed,
                suite.failed,
                suite.ignored,
                suite.took.as_secs(),
                suite.took.subsec_millis() / 10
            );
        }
    }
    let sum = |count: fn(&Suite) -> u64| suites.iter().map(count).sum::<u64>();
    println!(
        "\n{} passed, {} failed, {} skipped",
        sum(|suite| suite.passed),
        sum(|suite| suite.failed),
        sum(|suite| suite.ignored)
    );
}

/// Parses `test result: ok. 3 passed; 0 failed; 1 ignored; ..`.
fn result_line(line: &str) -> Option<Suite> {
    let rest = line.strip_prefix("test result: ")?;
    let count = |word: &str| {
        let before = rest.split(word).next()?;
        before
            .rsplit([' ', ';', '.'])
            .find(|part| !part.is_empty())?
            .parse()
            .ok()
    };
    Some(Suite {
        passed: count(" passed")?,
        failed: count(" failed")?,
        ignored: count(" ignored")?,
        ..Suite::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(package: &str, outside: bool, target: &str) -> Program {
        Program {
            package: package.to_owned(),
            outside,
            target: target.to_owned(),
            folder: "/r".into(),
            executable: "/t".into(),
        }
    }

    fn names(package: &str, outside: bool, target: &str) -> Vec<(String, usize)> {
        let program = program(package, outside, target);
        let tests = ["demo::a", "demo::b", "swap::c"].map(str::to_owned);
        let parts = parts(&program, tests.to_vec()).into_iter();
        parts.map(|(name, tests)| (name, tests.len())).collect()
    }

    #[test]
    fn modules_of_process_tests_are_suites() {
        let check = |found: Vec<(String, usize)>, expected: &[(&str, usize)]| {
            let found: Vec<_> = found.iter().map(|(name, n)| (name.as_str(), *n)).collect();
            assert_eq!(found, expected);
        };
        check(
            names("tally", true, "it"),
            &[("tally demo", 2), ("tally swap", 1)],
        );
        check(names("ledger", true, "it"), &[("ledger", 3)]);
        check(names("tally", false, "tally"), &[("tally (unit)", 3)]);
        check(names("iou", true, "network"), &[("iou network", 3)]);
    }

    #[test]
    fn every_crate_that_runs_by_module_exists() {
        for name in BY_MODULE {
            let main = metadata::root()
                .join("crates")
                .join(name)
                .join("tests/it/main.rs");
            assert!(main.is_file(), "{name}");
        }
    }

    #[test]
    fn every_computing_crate_exists() {
        for name in COMPUTING {
            let manifest = metadata::root().join("crates").join(name);
            assert!(manifest.join("Cargo.toml").is_file(), "{name}");
        }
    }

    #[test]
    fn each_suite_has_its_lane() {
        let lane = |package: &str, suite: &str| Lane::of(&program(package, true, "it"), suite);
        for (package, suite, expected) in [
            ("tally", "tally demo", Lane::Processes),
            ("tally", "tally crash", Lane::Waiting),
            ("pgstore", "pgstore", Lane::Waiting),
            ("pgstore", "pgstore (unit)", Lane::Processes),
            ("sim", "sim seeds", Lane::Computing),
            ("kernel", "kernel (unit)", Lane::Computing),
            ("store", "store keys", Lane::Processes),
            ("iou", "iou network", Lane::Processes),
        ] {
            assert_eq!(lane(package, suite), expected, "{suite}");
        }
    }

    #[test]
    fn every_waiting_suite_exists() {
        for name in WAITING.iter().chain(TIMED) {
            let crates = metadata::root().join("crates");
            let Some((package, module)) = name.split_once(' ') else {
                assert!(crates.join(name).is_dir(), "{name}");
                continue;
            };
            let modules = crates.join(package).join("tests/it");
            let file = modules.join(module).with_extension("rs");
            assert!(file.is_file() || modules.join(module).is_dir(), "{name}");
        }
    }

    #[test]
    fn options_are_known_with_and_without_a_value() {
        assert!(is_option("--test", TARGETS) && is_option("--test=it", TARGETS));
        assert!(!is_option("--testing", TARGETS) && !is_option("it", TARGETS));
    }

    #[test]
    fn results() {
        let suite = result_line(
            "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.50s",
        );
        assert_eq!(
            suite,
            Some(Suite {
                passed: 12,
                failed: 3,
                ignored: 1,
                ..Suite::default()
            })
        );
        assert_eq!(result_line("test ledger::x ... ok"), None);
    }
}
