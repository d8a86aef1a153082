//! Keeps the units of a stretch one by one for the report, on their way to the file of samples.

use tokio::sync::mpsc::Receiver;

use crate::load::engine::{SampleRow, SampleSink};
use crate::plan::EACH_UNIT_MAX;
use crate::results::{Stretch, UnitResult};

/// The units of one stretch. They are handed on to the file of samples, if there is one, when the stretch is over.
pub(super) struct EachUnit {
    rows: Receiver<Vec<SampleRow>>,
    onwards: Option<SampleSink>,
}

impl EachUnit {
    /// Returns the sink for the units of a stretch, and their log. `onwards` is the sink of the file of samples.
    pub fn before(onwards: Option<SampleSink>) -> (SampleSink, Self) {
        let (sink, rows) = SampleSink::channel();
        (sink, Self { rows, onwards })
    }

    /// Moves the units to their stretch, in the order of their ends.
    pub fn end(mut self, stretch: &mut Stretch) {
        let mut all: Vec<SampleRow> = Vec::new();
        while let Ok(batch) = self.rows.try_recv() {
            all.extend_from_slice(&batch);
            if let Some(onwards) = &self.onwards {
                onwards.send(batch);
            }
        }
        all.sort_by_key(ended_us);
        let first = all.iter().map(|row| row.at_unix_ms).min().unwrap_or(0);
        let kept = all.into_iter().take(EACH_UNIT_MAX as usize);
        stretch.units = kept
            .map(|row| UnitResult {
                at_ms: row.at_unix_ms - first,
                elapsed_us: row.elapsed_us,
                code: row.code,
            })
            .collect();
    }
}

/// Returns the end of a unit, microseconds since 1970. Clipped: no clock shows a time that does not fit.
fn ended_us(row: &SampleRow) -> u64 {
    let started_us = row.at_unix_ms.saturating_mul(1_000);
    started_us.saturating_add(row.elapsed_us)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(at_unix_ms: u64, elapsed_us: u64, code: Option<&str>) -> SampleRow {
        SampleRow {
            at_unix_ms,
            elapsed_us,
            code: code.map(str::to_owned),
            ..SampleRow::default()
        }
    }

    #[test]
    fn units_are_in_the_order_of_their_ends_and_reach_the_file_too() {
        let (file, mut written) = SampleSink::channel();
        let (sink, each) = EachUnit::before(Some(file));
        sink.send(vec![
            row(1_007, 40, None),
            row(1_005, 2_090, Some("node.busy")),
        ]);
        sink.send(vec![row(1_005, 20, None)]);
        let mut stretch = Stretch::default();
        each.end(&mut stretch);
        let units = stretch.units.iter();
        let found: Vec<_> = units
            .map(|unit| (unit.at_ms, unit.elapsed_us, unit.code.as_deref()))
            .collect();
        assert_eq!(
            found,
            [(0, 20, None), (2, 40, None), (0, 2_090, Some("node.busy"))]
        );
        let mut rows = 0;
        while let Ok(batch) = written.try_recv() {
            rows += batch.len();
        }
        assert_eq!(rows, 3);
    }

    #[test]
    fn a_report_never_keeps_more_units_than_it_shows() {
        let (sink, each) = EachUnit::before(None);
        let rows = (0..EACH_UNIT_MAX + 5).map(|at| row(at, 1, None));
        sink.send(rows.collect());
        let mut stretch = Stretch::default();
        each.end(&mut stretch);
        assert_eq!(stretch.units.len() as u64, EACH_UNIT_MAX);
    }
}
