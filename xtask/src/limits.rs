//! The page of limits: settings from the configuration's list, fixed ones from the sources.
//!
//! A fixed limit is a constant with `MAX` or `PATIENCE` in its name, or a field of a struct `..Options` or `..Limits` with its
//! default. Its comment becomes its description on the page. If the comment names one of our error codes in
//! backquotes, the page lists it as the error for exceeding the limit.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use node::config::{FIELDS, Field, default_text};

use crate::value::{Constants, Value, value};
use crate::{error_pages, metadata, tree};

/// The crates of a node, lowest layer first, with the title of their limits.
const CRATES: &[(&str, &str)] = &[
    ("primitives", "Encodings, keys and signatures"),
    ("ledger", "Transactions and documents of the network"),
    ("vault", "Coin selection"),
    ("notary", "The notary"),
    ("flow", "Flows"),
    ("finance", "Cash, obligations and other contracts"),
    ("kernel", "Between nodes"),
    ("store", "The store"),
    ("vaultview", "The vault's view"),
    ("runtime", "Events and rounds"),
    ("net", "Connections between nodes"),
    ("transfer", "Files between nodes"),
    ("api", "The API's bodies"),
    ("chain", "The chain"),
    ("node", "The node"),
];

/// Fields of options that have a setting. They are in the table of settings.
const SET: &[&str] = &[
    "AnonymousLimits.connections_max",
    "AnonymousLimits.connections_per_address_max",
    "HttpOptions.body_bytes_max",
    "HttpOptions.body_timeout",
    "HttpOptions.bodies_bytes_max",
    "HttpOptions.connections_max",
    "HttpOptions.followers_max",
    "HttpOptions.head_timeout",
    "HttpOptions.page_max",
    "HttpOptions.queries_max",
    "HttpOptions.requests_max",
    "HttpOptions.stream_outstanding_max",
    "HttpOptions.streams_max",
    "HttpOptions.wait_max",
    "HttpOptions.write_patience",
    "FlowLimits.kept_responders_max",
    "FlowLimits.peers_bytes_max",
    "FlowLimits.peers_journal_bytes_max",
    "FlowLimits.responder_idle_ms",
    "FlowLimits.responders_max",
    "HistoryOptions.age_ms_max",
    "HistoryOptions.flows_max",
    "KernelOptions.journals_bytes_max",
    "KernelOptions.kept_flows_max",
    "KernelOptions.live_bytes_max",
    "KernelOptions.live_flows_max",
    "KernelOptions.meet_peers_ms",
    "KernelOptions.fresh_keys_bytes",
    "KernelOptions.outcomes_bytes",
    "KernelOptions.sent_along_bytes",
    "KernelOptions.start_queue_max",
    "KernelOptions.start_wait_ms_max",
    "KernelOptions.transactions_bytes",
    "KernelOptions.known_signatures_bytes",
    "KernelOptions.keys_bytes",
    "KernelOptions.unshared_bytes",
    "NetLimits.queue_bytes_max",
    "NotaryOptions.batch_requests_max",
    "NotaryOptions.batch_states_max",
    "NotaryOptions.queue_requests_max",
    "NotaryOptions.queue_states_max",
    "NotaryOptions.requester_burst_s",
    "NotaryOptions.requester_states_per_s",
    "Options.at_once",
    "Options.at_once_per_peer",
    "Options.cache_bytes",
    "Options.down_bytes_per_s",
    "Options.log_bytes",
    "Options.memory_bytes",
    "Options.memtable_bytes",
    "Options.peer_bytes",
    "Options.up_bytes_per_s",
    "SelectionOptions.coins_bytes_max",
    "SelectionOptions.coins_per_pool_max",
    "UploadLimits.idle",
    "ViewOptions.cache_bytes",
    "ViewOptions.reader_cache_bytes",
];

/// Files whose limits are settings or their ranges.
const SETTINGS_FILES: &[&str] = &["config/check.rs", "users/options.rs"];

/// A fixed limit.
#[derive(Debug, PartialEq, Eq)]
struct Limit {
    name: String,
    value: Value,
    meaning: String,
}

/// Returns the page `docs/reference/limits.md`.
pub fn page(generated: &str, codes: &BTreeSet<&str>) -> Result<String> {
    let mut page = format!(
        "# Limits\n{generated}\nEvery input, collection and queue of a node is bounded. At a limit the node refuses further input, drops the oldest entries, or waits. \
         The first table lists the limits that an operator can set in `node.toml` (see [configuration](config.md) for ranges). The others are fixed. \
         If a request beyond a limit is refused, the row has the code.\n\n\
         ## Settings\n\n| setting | default | unit | meaning | code |\n|---|---|---|---|---|\n"
    );
    for field in FIELDS {
        page.push_str(&setting(field)?);
    }
    let mut set: BTreeSet<&str> = SET.iter().copied().collect();
    for (name, about) in CRATES {
        let limits = of_crate(name)?;
        let _ = write!(
            page,
            "\n## {about}\nIn `{name}`.\n\n| limit | value | unit | meaning | code |\n|---|---|---|---|---|\n"
        );
        for limit in limits {
            if !set.remove(limit.name.as_str()) {
                page.push_str(&row(&limit, codes)?);
            }
        }
    }
    if let Some(name) = set.first() {
        bail!("no options have the field {name}; xtask's list of set ones is stale");
    }
    Ok(page)
}

/// Returns a row of the first table, if the setting is a limit.
fn setting(field: &Field) -> Result<String> {
    let Field {
        name,
        unit,
        meaning,
        code,
    } = field;
    let default = default_text(name).filter(|text| text.parse::<u64>().is_ok());
    match default {
        Some(default) if !name.ends_with("linger_us") => {
            let unit = if unit.is_empty() { "count" } else { unit };
            Ok(format!(
                "| `{name}` | {default} | {unit} | {meaning} | {} |\n",
                link(code)?
            ))
        }
        _ => Ok(String::new()),
    }
}

fn link(code: &str) -> Result<String> {
    if code.is_empty() {
        return Ok(String::new());
    }
    Ok(format!(
        "[{code}](../errors/{})",
        error_pages::target(code)?
    ))
}

fn row(limit: &Limit, codes: &BTreeSet<&str>) -> Result<String> {
    let mut quoted = limit.meaning.split('`').skip(1).step_by(2);
    // A limit without a code has an empty cell.
    let code = quoted.find(|word| codes.contains(word)).unwrap_or_default();
    let meaning = limit.meaning.replace(&format!(" (`{code}`)"), "");
    // Links between items of the sources lead nowhere on the page.
    let meaning = meaning.replace("[`", "`").replace("`]", "`");
    let (value, unit) = match limit.value {
        Value::Millis(millis) => (millis, "milliseconds"),
        Value::Number(number) => (number, unit(&limit.name)),
    };
    Ok(format!(
        "| `{}` | {value} | {unit} | {meaning} | {} |\n",
        limit.name,
        link(code)?
    ))
}

/// Returns the unit that a name implies.
fn unit(name: &str) -> &'static str {
    // The modules before the name say nothing about its unit.
    let own = name.rsplit_once("::").map_or(name, |(_, own)| own);
    let words: Vec<String> = own.split(['_', '.']).map(str::to_ascii_lowercase).collect();
    let told = [
        ("bytes", "bytes"),
        ("kib", "KiB"),
        ("chars", "characters"),
        ("us", "microseconds"),
        ("ms", "milliseconds"),
    ];
    let told = told
        .iter()
        .find(|(word, _)| words.iter().any(|own| own == word));
    told.map_or("count", |(_, unit)| unit)
}

fn of_crate(name: &str) -> Result<Vec<Limit>> {
    let folder = metadata::root().join("crates").join(name).join("src");
    let sources = tree::sources(&folder)?;
    let texts: Vec<&str> = sources.values().map(|text| without_tests(text)).collect();
    let constants: Constants = texts.iter().flat_map(|text| constants(text)).collect();
    let mut limits = Vec::new();
    for (path, text) in sources.keys().zip(texts) {
        let shown = path.strip_prefix(&folder)?;
        if SETTINGS_FILES.iter().any(|file| shown.ends_with(file)) {
            continue;
        }
        let mut known = constants.clone();
        known.extend(self::constants(text));
        let found = of_file(text, &known).with_context(|| path.display().to_string())?;
        let module = module(shown);
        limits.extend(
            found
                .into_iter()
                .map(|limit| match limit.name.contains('.') {
                    true => limit,
                    false => Limit {
                        name: format!("{module}{}", limit.name),
                        ..limit
                    },
                }),
        );
    }
    Ok(limits)
}

/// Returns the module prefix of a file in its crate, such as `checker::bisect::`.
fn module(path: &Path) -> String {
    let parts = path.with_extension("");
    let parts = parts.iter().map(|part| part.to_string_lossy());
    parts
        .filter(|part| part != "mod" && part != "lib")
        .map(|part| format!("{part}::"))
        .collect()
}

/// Returns the text before the tests at its end.
fn without_tests(text: &str) -> &str {
    let end = text.find("\n#[cfg(test)]\nmod ");
    end.map_or(text, |end| &text[..end])
}

/// Parses `const NAME: TYPE = VALUE;` into name and value.
fn constants(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("const ") {
        let Some(end) = text[at..].find(';') else {
            continue;
        };
        let item = &text[at + "const ".len()..at + end];
        let Some((head, value)) = item.split_once('=') else {
            continue;
        };
        let Some((name, _)) = head.split_once(':') else {
            continue;
        };
        found.push((name.trim().to_owned(), value.trim().to_owned()));
    }
    found
}

fn of_file(text: &str, known: &Constants) -> Result<Vec<Limit>> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    let mut fields: Vec<(String, String, String)> = Vec::new();
    let mut owner = String::new();
    for (at, line) in lines.iter().enumerate() {
        let code = line.trim().trim_start_matches("pub ");
        let code = code
            .strip_prefix("pub(")
            .and_then(|rest| rest.split_once(") "))
            .map_or(code, |(_, rest)| rest);
        if let Some(rest) = code.strip_prefix("const ") {
            let name = rest.split(':').next().unwrap_or_default().trim();
            let words: Vec<&str> = name.split('_').collect();
            if !words.contains(&"MAX") && !words.contains(&"PATIENCE") {
                continue;
            }
            // A constant whose value is not known has no text.
            let written = known.get(name).map(String::as_str).unwrap_or_default();
            if written.starts_with("Self(") {
                continue;
            }
            let value = value(written, known);
            let value = value.with_context(|| format!("{name} = {written}: no known value"))?;
            found.push(Limit {
                name: name.to_owned(),
                value,
                meaning: meaning(&lines, at, name)?,
            });
        } else if let Some(rest) = code.strip_prefix("struct ") {
            owner = rest
                .split([' ', '<', '(', ';'])
                .next()
                .unwrap_or_default()
                .to_owned();
        } else if owner.ends_with("Options") || owner.ends_with("Limits") {
            let Some((name, rest)) = code.split_once(": ") else {
                continue;
            };
            let kind = rest.trim_end_matches(',');
            let numeric = ["usize", "u64", "u32", "u16", "Duration"].contains(&kind);
            if numeric && line.trim().starts_with("pub ") {
                let meaning = meaning(&lines, at, name)?;
                fields.push((owner.clone(), name.to_owned(), meaning));
            } else if let Some(at) = fields.iter().position(|(_, field, _)| field == name)
                && let Some(value) = value(kind, known)
            {
                let (owner, field, meaning) = fields.remove(at);
                found.push(Limit {
                    name: format!("{owner}.{field}"),
                    value,
                    meaning,
                });
            }
        }
    }
    Ok(found)
}

/// Returns the comment above a line.
fn meaning(lines: &[&str], at: usize, name: &str) -> Result<String> {
    let above = lines[..at].iter().rev().map(|line| line.trim());
    let mut comment: Vec<&str> = above
        .skip_while(|line| line.starts_with("#["))
        .map_while(|line| line.strip_prefix("///"))
        .map(str::trim)
        .collect();
    comment.reverse();
    if comment.is_empty() {
        bail!("{name} is a limit: add a comment above it that names the bounded quantity");
    }
    Ok(comment.join(" ").replace('|', "\\|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
/// Things in one transaction (`tx.many`).
pub(crate) const THINGS_MAX: usize = 4 * FEW;
/// Not a limit.
const FEW: usize = 5;
/// See the fields.
pub struct XOptions {
    /// Bytes.
    pub room_bytes: usize,
    /// A flag.
    pub on: bool,
}
impl Default for XOptions {
    fn default() -> Self {
        Self {
            room_bytes: 1 << 10,
            on: true,
        }
    }
}
";

    #[test]
    fn constants_and_options_are_limits() {
        let known: Constants = constants(TEXT).into_iter().collect();
        let found = of_file(TEXT, &known).expect("good");
        let rows: Vec<String> = found
            .iter()
            .map(|limit| row(limit, &BTreeSet::from(["tx.many"])).expect("a known domain"))
            .collect();
        assert_eq!(
            rows,
            [
                "| `THINGS_MAX` | 20 | count | Things in one transaction. | [tx.many](../errors/ledger.md#txmany) |\n",
                "| `XOptions.room_bytes` | 1024 | bytes | Bytes. |  |\n"
            ]
        );
    }

    #[test]
    fn a_limit_without_a_comment_is_refused() {
        let text = "\nconst A_MAX: usize = 5;\n";
        let known: Constants = constants(text).into_iter().collect();
        assert!(of_file(text, &known).is_err());
    }
}
