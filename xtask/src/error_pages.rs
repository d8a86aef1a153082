//! Pages of error codes: one page for each area, with a heading for each code.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::errors::Entry;
use crate::{codes, links};

/// The folder of the pages under `docs`. It contains no other files.
pub const FOLDER: &str = "errors";

/// A page of error codes.
struct Area {
    /// The page's name without its ending.
    page: &'static str,
    title: &'static str,
    /// The domains of its codes: the parts before the dot.
    domains: &'static [&'static str],
}

const AREAS: &[Area] = &[
    Area {
        page: "ledger",
        title: "transactions, contracts and formats",
        domains: &[
            "codec", "contract", "key", "merkle", "name", "tear_off", "tx",
        ],
    },
    Area {
        page: "assets",
        title: "cash, papers, obligations, stock and trades",
        domains: &[
            "bid",
            "cash",
            "document",
            "lock",
            "mandate",
            "obligation",
            "paper",
            "stock",
            "swap",
            "trade",
        ],
    },
    Area {
        page: "flows",
        title: "flows and notaries",
        domains: &["flow", "notary", "record"],
    },
    Area {
        page: "network",
        title: "networks and connections",
        domains: &["gossip", "net", "network"],
    },
    Area {
        page: "node",
        title: "nodes, their folders and stores",
        domains: &[
            "bootstrap",
            "config",
            "database",
            "file",
            "files",
            "http",
            "node",
            "store",
            "users",
            "vault",
            "view",
        ],
    },
    Area {
        page: "api",
        title: "the API, its clients and the command line",
        domains: &["api", "client", "tally"],
    },
    Area {
        page: "chain",
        title: "the chain",
        domains: &[
            "chain",
            "chain_api",
            "chain_block",
            "chain_forge",
            "chain_genesis",
            "chain_history",
            "chain_message",
            "chain_node",
            "chain_order",
            "chain_peer",
            "chain_pool",
            "chain_rates",
            "chain_tx",
        ],
    },
    Area {
        page: "laboratory",
        title: "the laboratory",
        domains: &["lab"],
    },
];

/// Returns the page and the heading of a code, relative to the folder, such as `ledger.md#txtoo_large`.
pub fn target(code: &str) -> Result<String> {
    let page = area(code)?.page;
    Ok(format!("{page}.md#{}", links::anchor(code)))
}

fn area(code: &str) -> Result<&'static Area> {
    let domain = domain(code);
    let mut areas = AREAS.iter();
    areas
        .find(|area| area.domains.contains(&domain))
        .with_context(|| {
            format!("{code}: no area has the domain {domain:?}; add it to error_pages::AREAS")
        })
}

fn domain(code: &str) -> &str {
    code.split_once('.').map_or(code, |(domain, _)| domain)
}

/// Returns the page of each area and their index: path under `docs` to text.
pub fn pages(entries: &[Entry], generated: &str) -> Result<BTreeMap<PathBuf, String>> {
    let mut sorted: Vec<&Entry> = entries.iter().collect();
    sorted.sort_by_key(|entry| entry.code);
    let mut anchors = BTreeSet::new();
    for entry in &sorted {
        check(entry)?;
        if !anchors.insert(target(entry.code)?) {
            bail!(
                "{}: this code, or one with the same anchor, is listed twice",
                entry.code
            );
        }
    }
    let mut pages = BTreeMap::new();
    for area in AREAS {
        let own = sorted
            .iter()
            .filter(|entry| area.domains.contains(&domain(entry.code)));
        pages.insert(file(area.page), page(area, own, generated));
    }
    pages.insert(file("README"), index(&sorted, generated));
    Ok(pages)
}

fn file(name: &str) -> PathBuf {
    Path::new(FOLDER).join(format!("{name}.md"))
}

fn page<'a>(area: &Area, entries: impl Iterator<Item = &'a &'a Entry>, generated: &str) -> String {
    let mut text = format!(
        "# Errors of {}\n{generated}\nEach code has its cause and the advised action. [All areas](README.md)\n",
        area.title
    );
    let mut last = "";
    for entry in entries {
        let own = domain(entry.code);
        if own != last {
            last = own;
            text.push_str(&format!("\n## {own}\n"));
        }
        text.push_str(&format!(
            "\n### {}\n{}\n\n**Action:** {}\n\nRaised by `{}`.\n",
            entry.code,
            sentence(entry.cause),
            sentence(entry.action),
            entry.from
        ));
    }
    text
}

fn index(entries: &[&Entry], generated: &str) -> String {
    let mut text = format!(
        "# Error codes\n{generated}\nA code is `domain.name`, and never changes its meaning. The page of its domain has the cause of each code and the \
         advised action.\n\n| domain | codes | page |\n|---|---|---|\n"
    );
    let mut domains: Vec<(&str, &Area)> = AREAS
        .iter()
        .flat_map(|area| area.domains.iter().map(move |domain| (*domain, area)))
        .collect();
    domains.sort_by_key(|(domain, _)| *domain);
    for (name, area) in domains {
        let codes = entries
            .iter()
            .filter(|entry| domain(entry.code) == name)
            .count();
        text.push_str(&format!(
            "| `{name}` | {codes} | [{}]({}.md#{name}) |\n",
            area.title, area.page
        ));
    }
    text
}

/// Turns a clause or a sentence of a catalogue into a sentence.
fn sentence(text: &str) -> String {
    let mut shown: String = text.trim().to_owned();
    if let Some(first) = shown.get(0..1) {
        let upper = first.to_uppercase();
        shown.replace_range(0..1, &upper);
    }
    if !shown.ends_with(['.', '!', '?']) {
        shown.push('.');
    }
    shown
}

/// Checks that a code is `domain.snake_case`, and that its texts are single lines and not empty.
fn check(entry: &Entry) -> Result<()> {
    if !codes::is_code(entry.code) {
        bail!(
            "{:?} of {} is no domain.snake_case code",
            entry.code,
            entry.from
        );
    }
    for text in [entry.cause, entry.action] {
        if text.trim().is_empty() || text.contains('\n') {
            bail!("{}: cause and action are one line of text each", entry.code);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(code: &'static str, cause: &'static str) -> Entry {
        Entry {
            from: "x",
            code,
            cause,
            action: "Do this.",
        }
    }

    #[test]
    fn codes_are_headings_on_the_page_of_their_area() {
        let pages = pages(&[entry("vault.b", "B."), entry("tx.a", "a")], "").expect("good codes");
        assert_eq!(pages.len(), AREAS.len() + 1);
        let page = &pages[Path::new("errors/ledger.md")];
        assert!(
            page.ends_with("\n## tx\n\n### tx.a\nA.\n\n**Action:** Do this.\n\nRaised by `x`.\n"),
            "{page}"
        );
        assert!(pages[Path::new("errors/node.md")].contains("\n### vault.b\nB.\n"));
        let index = &pages[Path::new("errors/README.md")];
        assert!(
            index.contains("| `tx` | 1 | [transactions, contracts and formats](ledger.md#tx) |")
        );
    }

    #[test]
    fn every_code_is_a_heading_where_links_lead() {
        let entries = crate::errors::all();
        let pages = pages(&entries, "").expect("good codes");
        let anchors: BTreeSet<String> = pages
            .iter()
            .flat_map(|(path, text)| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let headings = links::headings(text).into_iter();
                headings.map(move |heading| format!("{name}#{}", heading.anchor))
            })
            .collect();
        for entry in entries {
            let target = target(entry.code).expect("an area");
            assert!(anchors.contains(&target), "{target}");
        }
    }

    #[test]
    fn bad_entries_are_refused() {
        let refused = |entries: &[Entry]| pages(entries, "").is_err();
        assert!(refused(&[entry("nodomain", "A.")]));
        assert!(refused(&[entry("tx.B", "A.")]));
        assert!(refused(&[entry("tx.b", "")]));
        assert!(refused(&[entry("tx.b", "A."), entry("tx.b", "A.")]));
        assert!(refused(&[entry("unheard.b", "A.")]));
    }
}
