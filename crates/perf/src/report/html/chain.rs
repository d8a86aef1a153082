//! The analysis of the blocks as charts and tables, for each point of a scenario about a chain.

mod tables;

use super::figure::{Swatch, figure};
use super::frame::words;
use super::tables::table;
use crate::report::chart::{
    Column, Columns, Distribution, Line, SERIES_MAX, TimeChart, columns, percentiles, time,
};
use crate::report::figures::{bytes, figure as number, too_few_samples};
use crate::report::headline::place;
use crate::results::{ChainResult, FillRow, Histogram, Point, Scenario, Stretch};

/// Points shown; the files have all.
const POINTS_MAX: usize = 40;
/// The step of the published analysis of how full blocks are.
const HUNDRED: u64 = 100;
/// Forks of one node that are told one by one.
const FORKS_MAX: usize = 20;

/// Draws the last repeat of every point that ran on a chain; nothing without one.
pub fn section(scenario: &Scenario) -> String {
    let last = |point: &Point| {
        let stretch = point
            .stretches
            .iter()
            .rfind(|stretch| stretch.chain.is_some())?;
        Some(stretch.clone())
    };
    let mut out = String::new();
    let alone = scenario.points.len() == 1;
    for point in scenario.points.iter().take(POINTS_MAX) {
        let Some(stretch) = last(point) else {
            continue;
        };
        let Some(chain) = &stretch.chain else {
            continue;
        };
        if alone {
            out.push_str(&blocks(&stretch, chain));
            continue;
        }
        let open = if out.is_empty() { " open" } else { "" };
        out.push_str(&format!(
            "<details{open}><summary>{}<span>{} payments/s in blocks</span></summary><div>{}</div></details>",
            words(&place(point), 160),
            number(chain.payments_per_s),
            blocks(&stretch, chain)
        ));
    }
    match out.is_empty() {
        true => out,
        false => format!("<h3>Blocks</h3>{out}"),
    }
}

fn blocks(stretch: &Stretch, chain: &ChainResult) -> String {
    let charts = [
        rates(chain),
        fill(chain),
        hundreds(chain),
        to_block(chain),
        disk(stretch, chain),
    ]
    .concat();
    let aim = match chain.block_seconds {
        0.0 => String::new(),
        aim => format!(" (aim {})", number(aim)),
    };
    let summary = format!(
        "<p>{} blocks with {} transactions, {} seconds apart on average{aim}. {} payments were accepted, {} stand in blocks of all \
         nodes. The rate is the least over the nodes, of blocks of the main chain that a node showed while the load was on.</p>",
        number(chain.blocks as f64),
        number(chain.transactions as f64),
        number(chain.block_seconds_mean),
        number(chain.accepted as f64),
        number(chain.in_blocks as f64),
    );
    format!(
        "{summary}{}<div class=\"charts\">{charts}</div>{}{}{}{}{}",
        tables::totals(chain),
        nodes(chain),
        tables::sizes(chain),
        tables::ranges(chain),
        tables::hundreds(chain),
        fullest(chain)
    )
}

/// Rates by range of blocks, cumulative over them.
fn rates(chain: &ChainResult) -> String {
    if chain.ranges.is_empty() {
        return String::new();
    }
    let svg = columns(&Columns {
        about: "Transactions a second by range of blocks".to_owned(),
        title: "height".to_owned(),
        columns: chain
            .ranges
            .iter()
            .map(|range| Column {
                from: range.from as f64,
                to: range.to as f64 + 1.0,
                value: range.per_s,
                hint: format!(
                    "blocks {} to {}: {}/s, {} transactions in {} s",
                    range.from,
                    range.to,
                    number(range.per_s),
                    number(range.transactions as f64),
                    number(range.seconds)
                ),
            })
            .collect(),
        line: chain
            .ranges
            .iter()
            .map(|range| (range.to as f64 + 0.5, range.cumulative_per_s))
            .collect(),
    });
    let each = match chain.range_blocks {
        1 => "by block".to_owned(),
        each => format!("by range of {} blocks", number(each as f64)),
    };
    let about = format!(
        "transactions a second {each}, by the blocks' own times, from the first to the last"
    );
    let legend = [
        (Swatch::Line(0), "of the range".to_owned()),
        (Swatch::Line(1), "cumulative".to_owned()),
    ];
    figure("Rate over the chain", &about, &svg, &legend)
}

/// Blocks by how full they are.
fn fill(chain: &ChainResult) -> String {
    if chain.fill.is_empty() {
        return String::new();
    }
    let about = format!(
        "blocks by transactions, in steps of {}; left of 0 are the empty ones",
        number(chain.fill_step as f64)
    );
    counted("How full blocks are", &about, &chain.fill, chain.fill_step)
}

/// Blocks by hundreds of transactions, if the other steps are not hundreds already.
fn hundreds(chain: &ChainResult) -> String {
    if chain.hundreds.is_empty() || chain.fill_step == HUNDRED {
        return String::new();
    }
    counted(
        "Blocks by hundreds",
        "blocks by hundreds of transactions; left of 0 are the empty ones",
        &chain.hundreds,
        HUNDRED,
    )
}

/// Draws numbers of blocks by their transactions, in steps.
fn counted(title: &str, about: &str, rows: &[FillRow], step: u64) -> String {
    let column = |row: &FillRow| Column {
        // Empty blocks have a narrow column left of 0.
        from: match row.to {
            0 => -(step as f64) / 2.0,
            _ => row.from as f64 - 1.0,
        },
        to: row.to as f64,
        value: row.blocks as f64,
        hint: format!(
            "{} to {} transactions: {} blocks",
            row.from, row.to, row.blocks
        ),
    };
    let svg = columns(&Columns {
        about: title.to_owned(),
        title: "transactions in a block".to_owned(),
        columns: rows.iter().map(column).collect(),
        line: Vec::new(),
    });
    figure(title, about, &svg, &[])
}

/// Draws the time that payments take to a block.
fn to_block(chain: &ChainResult) -> String {
    let points = quantiles(&chain.to_block);
    if points.is_empty() {
        return String::new();
    }
    let svg = percentiles(
        "Time to a block by percentile",
        &[Distribution { series: 0, points }],
    );
    let words = |share| match chain.to_block.percentile_ms(share) {
        Some(ms) => number(ms / 1000.0),
        None => too_few_samples(chain.to_block.count()),
    };
    let about = format!(
        "seconds by percentile, from when a payment was due until its node showed its block: median {}, 95th percentile {}",
        words(0.5),
        words(0.95)
    );
    figure("Time to a block", &about, &svg, &[])
}

/// Quantiles in seconds, as far into the tail as the samples support; none without enough for a median.
fn quantiles(histogram: &Histogram) -> Vec<(f64, f64)> {
    if histogram.percentile_ms(0.5).is_none() {
        return Vec::new();
    }
    let shares = (0..60).map(|step| 1.0 - 10f64.powf(-f64::from(step) / 10.0));
    shares
        .map_while(|share| Some((share, histogram.percentile_ms(share)? / 1000.0)))
        .collect()
}

/// Files of the nodes over time.
fn disk(stretch: &Stretch, chain: &ChainResult) -> String {
    let mut lines = Vec::new();
    let mut legend = Vec::new();
    for node in chain.nodes.iter().take(SERIES_MAX) {
        let looks = chain.disk.iter().filter(|look| look.node == node.name);
        let part: Vec<(f64, f64)> = looks
            .map(|look| (look.at_ms as f64 / 1000.0, look.bytes as f64 / 1e6))
            .collect();
        if part.len() > 1 {
            legend.push((Swatch::Line(lines.len()), node.name.clone()));
            lines.push(Line {
                series: lines.len(),
                faint: false,
                parts: vec![part],
            });
        }
    }
    if lines.is_empty() {
        return String::new();
    }
    let from = stretch.started_ms as f64 / 1000.0;
    let ends = lines
        .iter()
        .flat_map(|line| &line.parts)
        .flatten()
        .map(|point| point.0);
    let (low, high) = ends.fold((from, from + 1.0), |(low, high), at| {
        (low.min(at), high.max(at))
    });
    let svg = time(&TimeChart {
        about: "Files of each node over time".to_owned(),
        from: low,
        to: high,
        since: "since the scenario began",
        may_be_log: false,
        lines,
        bands: None,
    });
    let each = chain.bytes_per_transaction();
    let each = each.map_or_else(String::new, |each| {
        format!("; {} a transaction on the first", bytes(each))
    });
    figure(
        "Database",
        &format!("MB of files of each node{each}"),
        &svg,
        &legend,
    )
}

/// Returns the table of the nodes: rate, end, forks.
fn nodes(chain: &ChainResult) -> String {
    let rows: String = chain
        .nodes
        .iter()
        .map(|node| {
            let depths: Vec<String> = node.forks.iter().take(FORKS_MAX).map(u32::to_string).collect();
            let more = if node.forks.len() > FORKS_MAX { ", …" } else { "" };
            let forks = match depths.is_empty() {
                true => "none".to_owned(),
                false => format!("{} ({}{more})", node.forks.len(), depths.join(", ")),
            };
            format!(
                "<tr><td class=\"l\">{}</td><td>{}</td><td>{}</td><td class=\"l\">{forks}</td><td class=\"l\"><code>{}</code></td>\
                 <td class=\"l\"><code>{}</code></td></tr>",
                words(&node.name, 60),
                number(node.payments_per_s),
                number(node.height as f64),
                words(&node.tip, 20),
                words(node.state_hash.as_deref().unwrap_or("–"), 20),
            )
        })
        .collect();
    let head = "<th class=\"l\">Node</th><th>Payments in blocks<br>a second</th><th>Height</th><th class=\"l\">Forks while loaded<br>(blocks taken \
                back)</th><th class=\"l\">Tip</th><th class=\"l\">State</th>";
    table(head, &rows)
}

/// Returns the fullest blocks, list by list.
fn fullest(chain: &ChainResult) -> String {
    let lists: Vec<_> = chain
        .fullest
        .iter()
        .filter(|list| !list.blocks.is_empty())
        .collect();
    let rows = lists
        .iter()
        .map(|list| list.blocks.len())
        .max()
        // Without lists there are no rows.
        .unwrap_or(0);
    if rows == 0 {
        return String::new();
    }
    let head: String = lists
        .iter()
        .map(|list| format!("<th>{}</th>", words(&list.of, 40)))
        .collect();
    let rows: String = (0..rows)
        .map(|at| {
            let cells = lists.iter().map(|list| match list.blocks.get(at) {
                Some((height, count)) => format!(
                    "<td>{} <small>at {height}</small></td>",
                    number(*count as f64)
                ),
                None => "<td></td>".to_owned(),
            });
            format!("<tr><td>{}</td>{}</tr>", at + 1, cells.collect::<String>())
        })
        .collect();
    format!(
        "<details><summary>The fullest blocks<span>transactions, and the block's height</span></summary><div>{}</div></details>",
        table(&format!("<th></th>{head}"), &rows)
    )
}
