//! Runs benchmarks one after another and merges their result lines into one. They are those of the `tally` binary, and those that
//! need the crates of a node for their hostile members.

use std::process::Stdio;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

use crate::cargo::cargo;
use crate::metadata;

/// Benchmarks that are a target of the crate `node`; all others are commands of `tally bench`.
const OF_NODE: [&str; 1] = ["siege"];

/// Returns cargo's arguments for a benchmark.
fn words(name: &str) -> Vec<&str> {
    let (chore, package) = match OF_NODE.contains(&name) {
        true => ("bench", "node"),
        false => ("run", "tally"),
    };
    let mut words = vec![chore, "--profile", "release", "--locked", "--quiet"];
    words.extend(["--package", package]);
    match chore {
        "bench" => words.extend(["--bench", name]),
        _ => words.extend(["--", "bench", name]),
    }
    words
}

/// Runs the chore for `names`, benchmarks known to `tally bench` or listed in [`OF_NODE`].
pub fn run(names: &[String]) -> Result<()> {
    if names.is_empty() {
        bail!("name at least one benchmark");
    }
    let mut merged = Map::new();
    for name in names {
        let output = cargo()
            .args(words(name))
            .current_dir(metadata::root())
            .stderr(Stdio::inherit())
            .output()
            .context("cargo run does not start")?;
        if !output.status.success() {
            bail!("the benchmark {name} failed ({})", output.status);
        }
        let text = String::from_utf8(output.stdout).context("the output is not UTF-8")?;
        // Without a line, `merge` refuses the empty one.
        let line = text.lines().last().unwrap_or_default();
        merge(&mut merged, line)
            .with_context(|| format!("the last line of the benchmark {name}"))?;
    }
    println!("{}", Value::Object(merged));
    Ok(())
}

/// Adds the fields of one result line. A field of an earlier benchmark keeps its first value.
fn merge(into: &mut Map<String, Value>, line: &str) -> Result<()> {
    let Value::Object(fields) = serde_json::from_str(line)? else {
        bail!("not a JSON object: {line}");
    };
    for (name, value) in fields {
        into.entry(name).or_insert(value);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_siege_is_a_target_of_the_node() {
        assert!(words("siege").ends_with(&["node", "--bench", "siege"]));
        assert!(words("load").ends_with(&["tally", "--", "bench", "load"]));
    }

    #[test]
    fn merging() {
        let mut merged = Map::new();
        assert!(merge(&mut merged, r#"{"a":1,"machine":{"cores":2}}"#).is_ok());
        assert!(merge(&mut merged, r#"{"b":2,"machine":{"cores":4}}"#).is_ok());
        assert_eq!(
            Value::Object(merged).to_string(),
            r#"{"a":1,"b":2,"machine":{"cores":2}}"#
        );
        assert!(merge(&mut Map::new(), "[1]").is_err());
        assert!(merge(&mut Map::new(), "").is_err());
    }
}
