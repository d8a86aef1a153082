//! The cycles among the files of a crate: files that name each other, directly or through others, outside tests.
//!
//! A name that a facade (`mod.rs` or `lib.rs`) only exports again counts as a name of the file that defines it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::lexer::{Token, tokens};
use crate::source::{is, without_tests};

/// The path of a module below its crate, one name per level. The root of the crate is empty.
type Module = Vec<String>;
/// The modules that each module names.
type Graph = BTreeMap<Module, BTreeSet<Module>>;

/// Returns the modules of a crate that are part of a cycle, in order.
pub fn in_cycles(folder: &Path, texts: &BTreeMap<PathBuf, String>) -> Vec<String> {
    let graph = graph(folder, texts);
    let cyclic = graph
        .keys()
        .filter(|module| leads_to(&graph, module, module));
    cyclic.map(|module| module.join("::")).collect()
}

/// Returns the uses that are part of a cycle: a module and the module that it names.
pub fn uses_in_cycles(folder: &Path, texts: &BTreeMap<PathBuf, String>) -> Vec<(String, String)> {
    let graph = graph(folder, texts);
    let uses = graph.iter().flat_map(|(module, targets)| {
        let back = targets
            .iter()
            .filter(|target| leads_to(&graph, target, module));
        back.map(|target| (module.join("::"), target.join("::")))
    });
    uses.collect()
}

/// Returns whether a module names another one, directly or through others.
fn leads_to(graph: &Graph, from: &Module, to: &Module) -> bool {
    let mut waiting: Vec<&Module> = graph.get(from).into_iter().flatten().collect();
    let mut seen = BTreeSet::new();
    while let Some(next) = waiting.pop() {
        if next == to {
            return true;
        }
        if seen.insert(next) {
            waiting.extend(graph.get(next).into_iter().flatten());
        }
    }
    false
}

/// Returns the modules that each module names. The root of a crate names its modules to export them, so it has no edges.
fn graph(folder: &Path, texts: &BTreeMap<PathBuf, String>) -> Graph {
    let modules: BTreeMap<Module, Vec<Module>> = texts
        .iter()
        .filter_map(|(path, text)| {
            let module = module_of(path.strip_prefix(folder).ok()?)?;
            let tokens = without_tests(&tokens(text));
            let names = names(&tokens, &module);
            Some((module, names))
        })
        .collect();
    let defined = |name: &Module| -> Option<Module> {
        let mut name = name.clone();
        // Bounds the loop: a chain of re-exports has at most as many steps as the crate has modules.
        for _ in 0..modules.len() {
            let known = (0..=name.len())
                .rev()
                .find(|n| modules.contains_key(&name[..*n]));
            let module = name[..known?].to_vec();
            let rest = &name[known?..];
            let exported = rest.first().and_then(|first| {
                let exports = modules.get(&module)?.iter();
                let mut exports = exports.filter(|export| export.starts_with(&module));
                exports.find(|export| export.len() > module.len() && export.last() == Some(first))
            });
            match exported {
                Some(export) if *export != name => name = export.clone(),
                _ => return Some(module),
            }
        }
        None
    };
    let edges = modules.iter().filter(|(module, _)| !module.is_empty());
    edges
        .map(|(module, names)| {
            let targets = names.iter().filter_map(defined);
            let targets = targets.filter(|target| !target.is_empty() && target != module);
            (module.clone(), targets.collect())
        })
        .collect()
}

/// Returns the module in a file, or nothing for a program's own file.
fn module_of(path: &Path) -> Option<Module> {
    let stem = path.with_extension("");
    let parts = stem.iter().map(|part| part.to_string_lossy().into_owned());
    let mut module: Module = parts.collect();
    match module.last().map(String::as_str) {
        Some("mod") => drop(module.pop()),
        Some("lib") if module.len() == 1 => module.clear(),
        Some("main") if module.len() == 1 => return None,
        _ => {}
    }
    Some(module)
}

/// Returns every path of this crate that a module names, as a path from the root. The path of a visibility (`pub(in PATH)`) limits
/// the use of an item, and is no use itself.
fn names(tokens: &[Token<'_>], module: &Module) -> Vec<Module> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let used = is(tokens, at, "use");
        let start = if used { at + 1 } else { at };
        let word = tokens.get(start).map_or("", |token| token.text);
        let limits = at >= 3 && is(tokens, at - 1, "in") && is(tokens, at - 3, "pub");
        let rooted =
            !limits && matches!(word, "crate" | "super" | "self") && is(tokens, start + 1, ":");
        if used || rooted {
            at = tree(tokens, start, module.clone(), &mut found);
        } else {
            at += 1;
        }
    }
    found
}

/// Reads a path, with its groups if it has any. Returns the index after it.
fn tree(tokens: &[Token<'_>], mut at: usize, mut path: Module, found: &mut Vec<Module>) -> usize {
    while let Some(token) = tokens.get(at) {
        match token.text {
            "crate" => path.clear(),
            "super" => drop(path.pop()),
            "self" | "*" => {}
            "{" => {
                at += 1;
                while !is(tokens, at, "}") && at < tokens.len() {
                    at = tree(tokens, at, path.clone(), found);
                    at += usize::from(is(tokens, at, ","));
                }
                return at + 1;
            }
            name if name.starts_with(|first: char| first.is_alphabetic() || first == '_') => {
                path.push(name.to_owned());
            }
            // Not a path: go on behind it.
            _ => return at + 1,
        }
        at += 1;
        if is(tokens, at, ":") && is(tokens, at + 1, ":") {
            at += 2;
        } else {
            break;
        }
    }
    if is(tokens, at, "as") {
        at += 2;
    }
    found.push(path);
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file's path and its text.
    type Source = (&'static str, &'static str);

    fn cycles(files: &[(&str, &str)]) -> Vec<String> {
        let texts = files.iter();
        let texts = texts.map(|(path, text)| (PathBuf::from("src").join(path), (*text).to_owned()));
        in_cycles(Path::new("src"), &texts.collect())
    }

    #[test]
    fn finds_files_that_name_each_other() {
        let table: &[(&[Source], &[&str])] = &[
            (&[("a.rs", "use crate::b::B;"), ("b.rs", "struct B;")], &[]),
            (
                &[
                    ("a.rs", "use crate::b::B;"),
                    ("b.rs", "fn f() { crate::a::g() }"),
                ],
                &["a", "b"],
            ),
            // Through a third one, in a group.
            (
                &[
                    ("a.rs", "use crate::{b::{B, self}, c};"),
                    ("b.rs", "use crate::c::C;"),
                    ("c.rs", "use super::a::A as Other;"),
                    ("d.rs", "use crate::a;"),
                ],
                &["a", "b", "c"],
            ),
            // A visibility is no use.
            (
                &[
                    ("a/mod.rs", "mod b; use self::b::B;"),
                    ("a/b.rs", "pub(in crate::a) struct B;"),
                ],
                &[],
            ),
            // Tests may name any file.
            (
                &[
                    ("a.rs", "use crate::b::B;"),
                    ("b.rs", "#[cfg(test)] mod tests { use crate::a::A; }"),
                ],
                &[],
            ),
        ];
        for (files, expected) in table {
            assert_eq!(cycles(files), *expected, "{files:?}");
        }
    }

    #[test]
    fn a_name_exported_again_belongs_to_its_file() {
        let files = [
            ("lib.rs", "mod part; mod user; pub use part::table::Row;"),
            (
                "part/mod.rs",
                "mod table; mod events; pub use self::table::Table;",
            ),
            ("part/table.rs", "struct Table; struct Row;"),
            ("part/events.rs", "use super::Table; use crate::user::User;"),
            ("user.rs", "use crate::part::Table; use crate::Row;"),
        ];
        assert_eq!(cycles(&files), [""; 0]);
        let mut back = files;
        back[2] = ("part/table.rs", "use crate::user::User;");
        assert_eq!(cycles(&back), ["part::table", "user"]);
    }
}
