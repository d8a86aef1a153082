//! Tables of a chain's blocks: their content, rates by range, blocks by hundreds of transactions, and sizes of the database.

use crate::report::figures::{bytes, figure as number};
use crate::report::html::frame::words;
use crate::report::html::tables::table;
use crate::results::{BlockTotals, ChainResult};

/// Stands for a figure that is not known.
const UNKNOWN: &str = "–";
/// Characters shown of the reason for a missing size.
const REASON_CHARS: usize = 400;

/// Returns the content of all blocks with its average for each block; nothing for results of older programs.
pub fn totals(chain: &ChainResult) -> String {
    let Some(totals) = &chain.totals else {
        return String::new();
    };
    let each = |amount: u64| totals.per_block(amount).map_or(UNKNOWN.to_owned(), number);
    let mut rows = vec![
        ("Transactions", totals.transactions()),
        ("of the parent chain", totals.parent),
        ("of child chains", totals.child),
        ("Child blocks", totals.child_blocks),
    ]
    .into_iter()
    .map(|(name, amount)| (name, number(amount as f64), each(amount)))
    .collect::<Vec<_>>();
    if let Some(payload) = totals.payload_bytes {
        let each = totals.per_block(payload).map_or(UNKNOWN.to_owned(), bytes);
        rows.push(("Payload", bytes(payload as f64), each));
    }
    if let Some(each) = totals.payload_per_transaction() {
        rows.push(("Payload of a transaction", bytes(each), UNKNOWN.to_owned()));
    }
    let rows: String = rows
        .into_iter()
        .map(|(name, all, each)| {
            format!("<tr><td class=\"l\">{name}</td><td>{all}</td><td>{each}</td></tr>")
        })
        .collect();
    let head = format!(
        "<th class=\"l\">In {} blocks</th><th>Total</th><th>For each<br>block</th>",
        number(totals.blocks as f64)
    );
    table(&head, &rows)
}

/// Returns the sizes of the first node's database after the load; nothing if they were not read.
pub fn sizes(chain: &ChainResult) -> String {
    let Some(sizes) = &chain.sizes else {
        return String::new();
    };
    let each = |size| {
        sizes
            .per_transaction(size)
            .map_or(UNKNOWN.to_owned(), bytes)
    };
    let row = |(name, size): (&str, Option<u64>)| {
        let (size, each) = match size {
            Some(size) => (bytes(size as f64), each(size)),
            None => (UNKNOWN.to_owned(), UNKNOWN.to_owned()),
        };
        format!("<tr><td class=\"l\">{name}</td><td>{size}</td><td>{each}</td></tr>")
    };
    let rows: String = sizes.all().into_iter().map(row).collect();
    let head = format!(
        "<th class=\"l\">Database of {}{}</th><th>Size</th><th>For each<br>transaction</th>",
        words(&sizes.node, 60),
        sizes.transactions.map_or_else(String::new, |count| format!(
            ", with {} transactions",
            number(count as f64)
        ))
    );
    let reasons = sizes.missing.iter();
    let reasons: String = reasons
        .map(|reason| format!("<p class=\"dim small\">{}</p>", words(reason, REASON_CHARS)))
        .collect();
    table(&head, &rows) + &reasons
}

/// Returns the ranges of blocks with their times and content.
pub fn ranges(chain: &ChainResult) -> String {
    if chain.ranges.is_empty() {
        return String::new();
    }
    let rows: String = chain
        .ranges
        .iter()
        .map(|range| {
            let heights = match range.from == range.to {
                true => range.from.to_string(),
                false => format!("{} to {}", range.from, range.to),
            };
            let cells = [
                heights,
                range.start_s.map_or(UNKNOWN.to_owned(), clock),
                range.end_s.map_or(UNKNOWN.to_owned(), clock),
                number(range.transactions as f64),
            ];
            let content = content(range.totals.as_ref());
            let rates = [range.per_s, range.cumulative_per_s].map(number);
            let cells = cells.into_iter().chain(content).chain(rates);
            let cells: String = cells.map(|cell| format!("<td>{cell}</td>")).collect();
            format!("<tr>{cells}</tr>")
        })
        .collect();
    let head = "<th>Blocks</th><th>Start</th><th>End</th><th>Transactions</th><th>Parent</th><th>Child</th><th>Child<br>blocks</th>\
                <th>Payload<br>a block</th><th>a second</th><th>a second,<br>cumulative</th>";
    folded(
        "Rates by range of blocks",
        "times are those of the blocks, in hours, minutes and seconds since the chain's beginning",
        &table(head, &rows),
    )
}

/// Returns the cells of a range's content.
fn content(totals: Option<&BlockTotals>) -> [String; 4] {
    let Some(totals) = totals else {
        return std::array::from_fn(|_| UNKNOWN.to_owned());
    };
    let payload = totals.payload_bytes;
    let payload = payload.and_then(|payload| totals.per_block(payload));
    [
        number(totals.parent as f64),
        number(totals.child as f64),
        number(totals.child_blocks as f64),
        payload.map_or(UNKNOWN.to_owned(), bytes),
    ]
}

/// Returns the blocks by hundreds of transactions, with every row.
pub fn hundreds(chain: &ChainResult) -> String {
    if chain.hundreds.is_empty() {
        return String::new();
    }
    let all: u64 = chain.hundreds.iter().map(|row| row.blocks).sum();
    let mut until = 0;
    let rows: String = chain
        .hundreds
        .iter()
        .map(|row| {
            until += row.blocks;
            let range = match row.to {
                0 => "0".to_owned(),
                to => format!("{} to {to}", row.from),
            };
            let share = |count: u64| match all {
                0 => UNKNOWN.to_owned(),
                all => format!("{:.1} %", count as f64 * 100.0 / all as f64),
            };
            format!(
                "<tr><td>{range}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                number(row.blocks as f64),
                share(row.blocks),
                share(until)
            )
        })
        .collect();
    let head = "<th>Transactions</th><th>Blocks</th><th>Share</th><th>Share up<br>to here</th>";
    folded(
        "Blocks by hundreds of transactions",
        &format!("{} blocks", number(all as f64)),
        &table(head, &rows),
    )
}

fn folded(title: &str, about: &str, inner: &str) -> String {
    format!("<details><summary>{title}<span>{about}</span></summary><div>{inner}</div></details>")
}

/// Seconds as hours, minutes and seconds: `0:00:05`.
fn clock(seconds: u64) -> String {
    let (minutes, seconds) = (seconds / 60, seconds % 60);
    format!("{}:{:02}:{seconds:02}", minutes / 60, minutes % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{BlockRange, FillRow, StoreSizes};

    fn result() -> ChainResult {
        let totals = BlockTotals {
            blocks: 4,
            parent: 25,
            child: 45,
            child_blocks: 3,
            payload_bytes: Some(12_050),
        };
        ChainResult {
            transactions: 70,
            totals: Some(totals),
            ranges: vec![BlockRange {
                from: 1,
                to: 4,
                transactions: 70,
                start_s: Some(5),
                end_s: Some(3_725),
                totals: Some(totals),
                ..BlockRange::default()
            }],
            hundreds: [(0, 0, 1), (1, 100, 3)]
                .map(|(from, to, blocks)| FillRow { from, to, blocks })
                .to_vec(),
            sizes: Some(StoreSizes {
                node: "node-1".to_owned(),
                // The history is in the database, but not among the transactions of the load.
                transactions: Some(140),
                running_bytes: Some(7_000),
                stopped_bytes: Some(700),
                missing: vec!["the node <1> does not start".to_owned()],
                ..StoreSizes::default()
            }),
            ..ChainResult::default()
        }
    }

    #[test]
    fn figures_are_in_the_tables() {
        let result = result();
        for (found, wanted) in [
            (
                totals(&result),
                "of the parent chain</td><td>25</td><td>6.25</td>",
            ),
            (
                totals(&result),
                "of child chains</td><td>45</td><td>11.2</td>",
            ),
            (totals(&result), "Child blocks</td><td>3</td><td>0.75</td>"),
            (
                totals(&result),
                "Payload</td><td>12.1 kB</td><td>3.01 kB</td>",
            ),
            (
                ranges(&result),
                "<td>1 to 4</td><td>0:00:05</td><td>1:02:05</td><td>70</td>",
            ),
            (
                hundreds(&result),
                "<td>1 to 100</td><td>3</td><td>75.0 %</td><td>100.0 %</td>",
            ),
            (
                sizes(&result),
                "while running</td><td>7 kB</td><td>50 B</td>",
            ),
            (sizes(&result), "Database of node-1, with 140 transactions"),
            (sizes(&result), "the node &lt;1&gt; does not start"),
            (sizes(&result), "after a restart</td><td>–</td><td>–</td>"),
        ] {
            assert!(found.contains(wanted), "{wanted} in {found}");
        }
    }

    #[test]
    fn results_without_these_figures_have_no_tables_of_them() {
        let mut result = result();
        (result.totals, result.sizes) = (None, None);
        result.hundreds.clear();
        assert_eq!(totals(&result) + &sizes(&result) + &hundreds(&result), "");
        result.ranges[0].totals = None;
        result.ranges[0].start_s = None;
        assert!(ranges(&result).contains("<td>1 to 4</td><td>–</td>"));
    }
}
