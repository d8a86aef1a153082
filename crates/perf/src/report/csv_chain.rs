//! The blocks' analysis as CSV: ranges of blocks, fill of blocks, and the fullest blocks.

use super::csv::{begin, plain, push, stretches, text};
use super::finite::finite;
use crate::results::{ChainResult, Report};

/// Names of the tables and their texts; nothing where no stretch was on a chain.
pub fn tables(report: &Report) -> Vec<(&'static str, String)> {
    let report = finite(report);
    if !stretches(&report).any(|(.., stretch)| stretch.chain.is_some()) {
        return Vec::new();
    }
    let table = |head: &str, rows: &dyn Fn(&ChainResult) -> Vec<Vec<String>>| {
        let mut out = format!("scenario,point,case,repeat,{head}\n");
        for (scenario, at, point, repeat, stretch) in stretches(&report) {
            for cells in stretch.chain.iter().flat_map(|chain| rows(chain)) {
                let mut row = begin(scenario, at, point, repeat);
                row.extend(cells);
                push(&mut out, &row);
            }
        }
        out
    };
    let ranges = table(
        "from,to,transactions,seconds,per_s,cumulative_per_s",
        &|chain| {
            let row = |range: &crate::results::BlockRange| {
                let mut row = [range.from, range.to, range.transactions]
                    .map(|count| count.to_string())
                    .to_vec();
                row.extend([range.seconds, range.per_s, range.cumulative_per_s].map(plain));
                row
            };
            chain.ranges.iter().map(row).collect()
        },
    );
    let fill = table("from,to,blocks", &|chain| {
        let row = |row: &crate::results::FillRow| {
            [row.from, row.to, row.blocks]
                .map(|count| count.to_string())
                .to_vec()
        };
        chain.fill.iter().map(row).collect()
    });
    let fullest = table("of,height,transactions", &|chain| {
        let mut rows = Vec::new();
        for list in &chain.fullest {
            let row = |(height, count): &(u64, u64)| {
                vec![text(&list.of), height.to_string(), count.to_string()]
            };
            rows.extend(list.blocks.iter().map(row));
        }
        rows
    });
    vec![
        ("ranges.csv", ranges),
        ("fill.csv", fill),
        ("fullest.csv", fullest),
    ]
}
