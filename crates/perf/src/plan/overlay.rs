//! `--set key=value`: a setting on the command line that overrides the file.

use super::error::BAD_OVERRIDE;
use super::limits::OVERRIDES_MAX;
use super::model::Axis;
use super::reader::Reader;
use super::source::{At, Sources};
use super::tree::{self, Node, Table, Tree};

/// Characters that begin a TOML value. Other text that is not valid TOML is taken as a word.
const OPENERS: [char; 4] = ['"', '\'', '[', '{'];

/// A `--set`.
#[derive(Clone, Debug)]
pub(super) struct Override {
    /// The parts of its key.
    path: Vec<String>,
    at: At,
    node: Node,
}

/// Adds every `--set` to the sources, so that error messages can quote it, and parses them.
pub(super) fn read(sources: &mut Sources, given: &[String]) -> Vec<Result<Override, tree::Wrong>> {
    given
        .iter()
        .take(OVERRIDES_MAX + 1)
        .map(|text| {
            let name = format!("--set {}", shortened(text));
            let number = sources.add(&name, text, false);
            let at = At::of(number, &(0..text.len()));
            one(text, number).map_err(|message| (at, message))
        })
        .collect()
}

fn one(text: &str, number: u32) -> Result<Override, String> {
    let form = "it has to be key=value, such as run.seconds=20";
    let (key, value) = text.split_once('=').ok_or(form)?;
    let path = path(key).ok_or(form)?;
    let at = At::of(number, &(0..text.len()));
    let value = value.trim();
    let node = match tree::parse_value(value, number) {
        Ok(node) => node,
        Err((_, message)) if value.starts_with(OPENERS) => return Err(message),
        Err(_) if value.is_empty() => return Err(form.to_owned()),
        Err(_) => Node::made(toml::Value::String(value.to_owned()), at),
    };
    Ok(Override { path, at, node })
}

/// Splits a dotted key, with quoted parts, into its parts.
fn path(key: &str) -> Option<Vec<String>> {
    if key.contains(['\n', '\r', '#']) {
        return None;
    }
    let mut table = tree::parse(&format!("{key} = 0"), 0).ok()?;
    let mut path = Vec::new();
    loop {
        let (key, entry) = table.pop_first()?;
        path.push(key);
        match entry.node.tree {
            Tree::Table(inner) => table = inner,
            _ => return Some(path),
        }
    }
}

/// Shortens a text to the length of a line.
fn shortened(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().take(100).map(plain).collect()
}

/// Applies them to a document in order.
pub(super) fn lay(
    reader: &mut Reader<'_>,
    base: &mut Table,
    overrides: &[Result<Override, tree::Wrong>],
) {
    if overrides.len() > OVERRIDES_MAX {
        let message = format!("more than {OVERRIDES_MAX} --set");
        reader.note(BAD_OVERRIDE, At::NOWHERE, message);
    }
    for given in overrides {
        let laid = given.clone().and_then(|given| {
            if given.path.first().is_some_and(|first| first == "full") {
                let message =
                    "settings of --full are set like others: without `full`, and with --full";
                return Err((given.at, message.to_owned()));
            }
            let mut over = Table::new();
            tree::put(&mut over, &given.path, given.node, given.at)?;
            tree::unquote_settings(&mut over)?;
            tree::lay(base, over)
        });
        if let Err((at, message)) = laid {
            reader.note(BAD_OVERRIDE, at, message);
        }
    }
}

/// Refuses those that a sweep would override.
pub(super) fn check(
    reader: &mut Reader<'_>,
    overrides: &[Result<Override, tree::Wrong>],
    sweep: &[Axis],
) {
    for given in overrides.iter().flatten() {
        let name = given.path.join(".");
        for axis in sweep {
            let varied = axis.cases.iter().flat_map(|case| case.set.keys());
            if let Some(varied) = varied.into_iter().find(|varied| overlap(varied, &name)) {
                let label = &axis.label;
                let message = format!(
                    "the sweep varies `{varied}`; say which of its cases to run with --set sweep.{label}.only=[...], or leave sweeps out with --set sweep=[]"
                );
                reader.note(BAD_OVERRIDE, given.at, message);
            }
        }
    }
}

/// Returns whether one dotted name equals the other, or is within it.
fn overlap(one: &str, other: &str) -> bool {
    let within = |inner: &str, outer: &str| {
        inner
            .strip_prefix(outer)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    within(one, other) || within(other, one)
}
