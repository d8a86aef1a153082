//! Runs benchmarks of the `tally` binary one after another and merges their result lines into one.

use std::process::Stdio;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

use crate::cargo::cargo;
use crate::metadata;

/// Runs the chore for `names`, benchmarks known to `tally bench`.
pub fn run(names: &[String]) -> Result<()> {
    if names.is_empty() {
        bail!("name at least one benchmark");
    }
    let mut merged = Map::new();
    for name in names {
        let output = cargo()
            .args([
                "run",
                "--release",
                "--locked",
                "--quiet",
                "--package",
                "tally",
                "--",
            ])
            .args(["bench", name])
            .current_dir(metadata::root())
            .stderr(Stdio::inherit())
            .output()
            .context("cargo run does not start")?;
        if !output.status.success() {
            bail!("tally bench {name} failed ({})", output.status);
        }
        let text = String::from_utf8(output.stdout).context("output that is not text")?;
        let line = text.lines().last().unwrap_or_default();
        merge(&mut merged, line).with_context(|| format!("the last line of tally bench {name}"))?;
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
