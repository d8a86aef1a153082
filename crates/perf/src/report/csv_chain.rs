//! The blocks' analysis as CSV: their content and the database, ranges of blocks, fill of blocks, and the fullest blocks.

use super::csv::{begin, plain, push, stretches, text};
use super::finite::finite;
use crate::results::{BlockTotals, ChainResult, FillRow, Report};

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
        "from,to,transactions,seconds,per_s,cumulative_per_s,start_s,end_s,parent,child,child_blocks,payload_bytes",
        &|chain| {
            let row = |range: &crate::results::BlockRange| {
                let mut row = [range.from, range.to, range.transactions]
                    .map(|count| count.to_string())
                    .to_vec();
                row.extend([range.seconds, range.per_s, range.cumulative_per_s].map(plain));
                row.extend([range.start_s, range.end_s].map(known));
                row.extend(content(range.totals.as_ref()));
                row
            };
            chain.ranges.iter().map(row).collect()
        },
    );
    let counted = |rows: &[FillRow]| -> Vec<Vec<String>> {
        let row = |row: &FillRow| [row.from, row.to, row.blocks].map(|count| count.to_string());
        rows.iter().map(|one| row(one).to_vec()).collect()
    };
    let fill = table("from,to,blocks", &|chain| counted(&chain.fill));
    let hundreds = table("from,to,blocks", &|chain| counted(&chain.hundreds));
    let blocks = table(
        "blocks,transactions,parent,child,child_blocks,payload_bytes,database_transactions,running_bytes,exported_bytes,stopped_bytes,restarted_bytes",
        &|chain| {
            let mut row = vec![chain.blocks.to_string(), chain.transactions.to_string()];
            row.extend(content(chain.totals.as_ref()));
            // Sizes that were not read are empty cells.
            let sizes = chain.sizes.clone().unwrap_or_default();
            row.push(known(sizes.transactions));
            row.extend(sizes.all().map(|(_, size)| known(size)));
            vec![row]
        },
    );
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
        ("blocks.csv", blocks),
        ("ranges.csv", ranges),
        ("fill.csv", fill),
        ("hundreds.csv", hundreds),
        ("fullest.csv", fullest),
    ]
}

/// Returns a number; an empty cell if it is not known.
fn known(number: Option<u64>) -> String {
    number.map_or_else(String::new, |number| number.to_string())
}

/// Returns the cells of blocks' content: parent and child transactions, child blocks, bytes.
fn content(totals: Option<&BlockTotals>) -> [String; 4] {
    [
        totals.map(|totals| totals.parent),
        totals.map(|totals| totals.child),
        totals.map(|totals| totals.child_blocks),
        totals.and_then(|totals| totals.payload_bytes),
    ]
    .map(known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::synthetic;
    use crate::results::{BlockRange, StoreSizes};

    #[test]
    fn every_row_has_the_columns_of_its_table_and_unknown_figures_are_empty() {
        let totals = BlockTotals {
            blocks: 2,
            parent: 1,
            child: 3,
            child_blocks: 1,
            payload_bytes: None,
        };
        let chain = ChainResult {
            blocks: 2,
            transactions: 4,
            totals: Some(totals),
            ranges: vec![BlockRange {
                from: 7,
                to: 8,
                start_s: Some(20),
                end_s: Some(30),
                totals: Some(totals),
                ..BlockRange::default()
            }],
            hundreds: vec![FillRow::default()],
            sizes: Some(StoreSizes {
                transactions: Some(9),
                stopped_bytes: Some(900),
                ..StoreSizes::default()
            }),
            ..ChainResult::default()
        };
        let mut report = synthetic::report();
        report.scenarios[0].points[0].stretches[0].chain = Some(Box::new(chain));
        let tables = tables(&report);
        for (name, text) in &tables {
            let columns: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
            assert!(
                columns.iter().all(|count| *count == columns[0]),
                "{name}: {text}"
            );
        }
        let row = |wanted: &str| {
            let (_, text) = tables.iter().find(|(name, _)| *name == wanted)?;
            text.lines().nth(1).map(str::to_owned)
        };
        let ends = |name: &str, end: &str| {
            let row = row(name).expect("a row");
            assert!(row.ends_with(end), "{name}: {row}");
        };
        ends("blocks.csv", ",2,4,1,3,1,,9,,,900,");
        ends("ranges.csv", ",20,30,1,3,1,");
        ends("hundreds.csv", ",0,0,0");
        assert_eq!(row("fill.csv"), None);
    }
}
