//! Every unit as a row of JMeter's CSV form (JTL), so that its listeners and its dashboard open a run of ours.
//!
//! A separate thread writes the batches of the load engine. The engine never waits for it. The file has a size limit.
//! When it is reached, every second row is removed, and from then on only every second unit is written, and so on. The
//! remaining rows are always an even sample of all units.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::JoinHandle;

use tokio::sync::mpsc::Receiver;

use super::chart::clip;
use super::csv::field;
use super::error::ReportError;
use crate::load::engine::{SampleRow, SampleSink};

/// The columns, as JMeter 5 writes them by default.
pub const JTL_HEAD: &str = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,\
                            sentBytes,grpThreads,allThreads,URL,Latency,IdleTime,Connect";

/// The default size limit of a file of samples, bytes: some 600,000 rows.
pub const JTL_BYTES_MAX: u64 = 64 << 20;

/// Letters of a label or a code that are written.
const WORDS_MAX: usize = 120;
/// Upper limit on stretches waiting for the writer. One ends before the next begins, so there is hardly ever one.
const STRETCHES_MAX: usize = 16;

/// A file of samples that is being written.
#[derive(Debug)]
pub struct Jtl {
    path: PathBuf,
    temporary: PathBuf,
    stretches: Option<mpsc::SyncSender<Batches>>,
    sink: Option<SampleSink>,
    lost: u64,
    writer: Option<JoinHandle<Ended>>,
}

/// The file that was written, and its counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JtlWritten {
    /// The file.
    pub path: PathBuf,
    /// Rows in it.
    pub rows: u64,
    /// Units that were measured, written or not.
    pub units: u64,
    /// One unit in this many is in the file: 1, or a power of two if the limit was reached.
    pub every: u64,
    /// Units lost because the writer was too slow.
    pub lost: u64,
}

/// The input of one stretch.
struct Batches {
    labels: Vec<String>,
    threads: u32,
    rows: Receiver<Vec<SampleRow>>,
}

/// The writer's counts.
#[derive(Clone, Copy, Debug)]
struct Counts {
    rows: u64,
    units: u64,
    every: u64,
}

/// The end of the writer: its counts, and the failure after which it wrote nothing more.
#[derive(Debug)]
struct Ended {
    counts: Counts,
    failure: Option<std::io::Error>,
}

impl Jtl {
    /// Begins a file of at most `bytes_max` bytes. It gets its name only when it is complete.
    ///
    /// # Errors
    /// `lab.report_unwritten`.
    pub fn create(path: &Path, bytes_max: u64) -> Result<Self, ReportError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = path.with_file_name(format!(".{name}.{}.new", std::process::id()));
        let failed = |source| ReportError::Write {
            path: path.display().to_string(),
            source,
        };
        let file = Samples::begin(&temporary, bytes_max).map_err(failed)?;
        let (stretches, batches) = mpsc::sync_channel::<Batches>(STRETCHES_MAX);
        let writer = std::thread::Builder::new()
            .name("samples".into())
            .spawn(move || write(file, &batches))
            .map_err(failed)?;
        Ok(Jtl {
            path: path.to_owned(),
            temporary,
            stretches: Some(stretches),
            sink: None,
            lost: 0,
            writer: Some(writer),
        })
    }

    /// Returns the sink for one stretch. `labels` names its kinds of work, `threads` is its number of workers or its
    /// limit of outstanding units. Rows that arrive after the next stretch has begun, or the file has ended, are dropped.
    /// After a disk failure there is no file, and the error at its end has the number of units.
    pub fn stretch(&mut self, labels: &[String], threads: u32) -> SampleSink {
        let (sink, rows) = SampleSink::channel();
        let labels = labels.iter().map(|label| one_line(label)).collect();
        let batches = Batches {
            labels,
            threads,
            rows,
        };
        if let Some(stretches) = &self.stretches {
            // It fails only if the writer is gone, or this far behind. The rows then count as lost.
            let _ = stretches.try_send(batches);
        }
        self.forget();
        self.sink = Some(sink.clone());
        sink
    }

    /// Ends the last stretch. The writer stops waiting for it even if clones of its sink remain.
    fn forget(&mut self) {
        if let Some(sink) = self.sink.take() {
            sink.close();
            self.lost += sink.lost();
        }
    }

    /// Ends the file and gives it its name.
    ///
    /// # Errors
    /// `lab.report_unwritten`; there is no file then. The message has the number of units whose rows are lost.
    pub fn end(mut self) -> Result<JtlWritten, ReportError> {
        let counts = self.finish(true).map_err(|source| ReportError::Write {
            path: self.path.display().to_string(),
            source,
        })?;
        Ok(JtlWritten {
            path: self.path.clone(),
            rows: counts.rows,
            units: counts.units,
            every: counts.every,
            lost: self.lost,
        })
    }

    /// Waits for the writer, and gives the file its name; without a unit only if `may_be_empty`.
    fn finish(&mut self, may_be_empty: bool) -> std::io::Result<Counts> {
        self.stretches = None;
        self.forget();
        let ended = self.writer.take().map(JoinHandle::join);
        let Some(Ok(Ended { counts, failure })) = ended else {
            return Err(std::io::Error::other(
                "the writer of samples ended early; all its rows are lost",
            ));
        };
        let named = match failure {
            Some(failure) => Err(failure),
            None if counts.units == 0 && !may_be_empty => Ok(()),
            None => fs::rename(&self.temporary, &self.path),
        };
        named.map(|()| counts).map_err(|error| {
            let lost = format!("{error}; the rows of {} units are lost", counts.units);
            std::io::Error::new(error.kind(), lost)
        })
    }
}

impl Drop for Jtl {
    fn drop(&mut self) {
        if self.writer.is_some() {
            // A failed run keeps its rows. An error has no caller to go to.
            let _ = self.finish(false);
        }
        // Removes an incomplete file. A complete one has been renamed.
        let _ = fs::remove_file(&self.temporary);
        let _ = fs::remove_file(self.temporary.with_extension("half"));
    }
}

/// Runs the writer's thread: stretch after stretch, until the sender is dropped. After a failure it only counts units.
fn write(mut file: Samples, stretches: &mpsc::Receiver<Batches>) -> Ended {
    let mut failure = None;
    while let Ok(mut batches) = stretches.recv() {
        while let Some(rows) = batches.rows.blocking_recv() {
            for row in &rows {
                if failure.is_some() {
                    file.counts.units += 1;
                } else {
                    failure = file.row(row, &batches.labels, batches.threads).err();
                }
            }
        }
    }
    let failure = failure.or_else(|| file.end().err());
    Ended {
        counts: file.counts,
        failure,
    }
}

/// The file, with its cap.
struct Samples {
    path: PathBuf,
    to: BufWriter<File>,
    bytes: u64,
    bytes_max: u64,
    counts: Counts,
    line: String,
}

impl Samples {
    fn begin(path: &Path, bytes_max: u64) -> std::io::Result<Self> {
        let mut to = BufWriter::with_capacity(1 << 16, File::create(path)?);
        writeln!(to, "{JTL_HEAD}")?;
        Ok(Samples {
            path: path.to_owned(),
            to,
            bytes: JTL_HEAD.len() as u64 + 1,
            bytes_max,
            counts: Counts {
                rows: 0,
                units: 0,
                every: 1,
            },
            line: String::new(),
        })
    }

    fn row(&mut self, row: &SampleRow, labels: &[String], threads: u32) -> std::io::Result<()> {
        let number = self.counts.units;
        self.counts.units += 1;
        if !number.is_multiple_of(self.counts.every) {
            return Ok(());
        }
        self.line.clear();
        let label = labels.get(row.work).map_or("unit", String::as_str);
        line(&mut self.line, row, label, threads);
        self.to.write_all(self.line.as_bytes())?;
        self.bytes += self.line.len() as u64;
        self.counts.rows += 1;
        if self.bytes > self.bytes_max {
            self.halve()?;
        }
        Ok(())
    }

    /// Removes every second row. No row contains a line break.
    fn halve(&mut self) -> std::io::Result<()> {
        self.to.flush()?;
        let halved = self.path.with_extension("half");
        let mut to = BufWriter::with_capacity(1 << 16, File::create(&halved)?);
        writeln!(to, "{JTL_HEAD}")?;
        let mut bytes = JTL_HEAD.len() as u64 + 1;
        let mut kept = 0;
        let rows = BufReader::with_capacity(1 << 16, File::open(&self.path)?).lines();
        for row in rows.skip(1).step_by(2) {
            let row = row?;
            writeln!(to, "{row}")?;
            bytes += row.len() as u64 + 1;
            kept += 1;
        }
        fs::rename(&halved, &self.path)?;
        (self.to, self.bytes, self.counts.rows) = (to, bytes, kept);
        self.counts.every *= 2;
        Ok(())
    }

    fn end(&mut self) -> std::io::Result<()> {
        self.to.flush()?;
        self.to.get_ref().sync_all()
    }
}

/// Writes one row. Times are whole milliseconds, as in JMeter, rounded half up.
fn line(out: &mut String, row: &SampleRow, label: &str, threads: u32) {
    use std::fmt::Write;
    let elapsed = row.elapsed_us / 1000 + u64::from(row.elapsed_us % 1000 >= 500);
    let _ = write!(out, "{},{elapsed},", row.at_unix_ms);
    field(out, label);
    let worker = u64::from(row.slot) + 1;
    match &row.code {
        None => {
            let _ = write!(out, ",200,delivered,clients 1-{worker},text,true,");
        }
        Some(code) => {
            let code = one_line(code);
            let _ = write!(out, ",{},", status(&code));
            field(out, &code);
            let _ = write!(out, ",clients 1-{worker},text,false,");
            field(out, &code);
        }
    }
    let _ = writeln!(out, ",0,0,{threads},{threads},null,0,0,0");
}

/// Returns the HTTP status of a code, or the one that it would have over HTTP.
fn status(code: &str) -> u16 {
    const REFUSED: u16 = 422;
    const NOT_ANSWERED: u16 = 500;
    match api::codes::info(code) {
        Some(info) => info.status,
        None if code.starts_with("client.") || code.starts_with("lab.") => NOT_ANSWERED,
        None => REFUSED,
    }
}

/// Words on one line and of bounded length.
fn one_line(words: &str) -> String {
    clip(
        &words.replace(|letter: char| letter.is_control(), " "),
        WORDS_MAX,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(at: u64) -> SampleRow {
        SampleRow {
            at_unix_ms: 1_795_280_933_000 + at,
            elapsed_us: 1500 * at,
            latency_us: 10,
            work: 0,
            code: None,
            slot: 2,
        }
    }

    /// Writes rows as a stretch would, through the file's own thread.
    fn written(rows: Vec<SampleRow>, labels: &[&str], bytes_max: u64) -> (String, JtlWritten) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("issue.jtl");
        let file = Samples::begin(&path, bytes_max).expect("begun");
        let (stretches, batches) = mpsc::sync_channel(1);
        let (to, from) = tokio::sync::mpsc::channel(rows.len().max(1));
        for row in rows {
            to.try_send(vec![row]).expect("there is room");
        }
        drop(to);
        let labels = labels.iter().map(|label| one_line(label)).collect();
        let one = Batches {
            labels,
            threads: 8,
            rows: from,
        };
        stretches.send(one).expect("the writer listens");
        drop(stretches);
        let Ended { counts, failure } = write(file, &batches);
        assert!(failure.is_none(), "{failure:?}");
        let text = fs::read_to_string(&path).expect("text");
        let written = JtlWritten {
            path,
            rows: counts.rows,
            units: counts.units,
            every: counts.every,
            lost: 0,
        };
        (text, written)
    }

    #[test]
    fn rows_are_as_jmeter_writes_them() {
        let mut busy = row(2);
        busy.code = Some("node.busy".into());
        let mut odd = row(3);
        odd.work = 1;
        odd.code = Some("what, \"a\"\ncode".into());
        let mut unknown = row(1);
        unknown.work = 9;
        let (text, _) = written(
            vec![row(1), busy, odd, unknown],
            &["cash.issue", "a,b"],
            1 << 20,
        );
        assert_eq!(
            text,
            format!(
                "{JTL_HEAD}\n\
                 1795280933001,2,cash.issue,200,delivered,clients 1-3,text,true,,0,0,8,8,null,0,0,0\n\
                 1795280933002,3,cash.issue,503,node.busy,clients 1-3,text,false,node.busy,0,0,8,8,null,0,0,0\n\
                 1795280933003,5,\"a,b\",422,\"what, \"\"a\"\" code\",clients 1-3,text,false,\"what, \"\"a\"\" code\",0,0,8,8,null,0,0,0\n\
                 1795280933001,2,unit,200,delivered,clients 1-3,text,true,,0,0,8,8,null,0,0,0\n"
            )
        );
    }

    #[test]
    fn beyond_its_cap_a_file_is_an_even_sample() {
        let rows: Vec<SampleRow> = (0..5000).map(row).collect();
        let (text, written) = written(rows, &["x"], 20_000);
        assert!(text.len() <= 20_000 + 100, "{}", text.len());
        assert_eq!((written.units, written.every.count_ones()), (5000, 1));
        assert!(written.every >= 16);
        let times = text
            .lines()
            .skip(1)
            .map(|line| line.split(',').next().unwrap_or_default());
        let times: Vec<u64> = times.map(|time| time.parse().expect("a time")).collect();
        assert_eq!(times.len() as u64, written.rows);
        for (at, time) in times.iter().enumerate() {
            assert_eq!(*time, 1_795_280_933_000 + at as u64 * written.every);
        }
    }

    #[test]
    fn a_file_has_its_name_only_when_it_is_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.jtl");
        let mut jtl = Jtl::create(&path, JTL_BYTES_MAX).expect("begun");
        // A worker that never ends keeps its sink. The file does not wait for it.
        let kept = jtl.stretch(&["x".into()], 1);
        assert!(!path.exists());
        let written = jtl.end().expect("ended");
        assert_eq!((written.rows, written.every, written.lost), (0, 1, 0));
        kept.send(vec![row(1)]);
        assert_eq!(kept.lost(), 1);
        assert_eq!(
            fs::read_to_string(&path).expect("there"),
            format!("{JTL_HEAD}\n")
        );
        drop(Jtl::create(&folder.path().join("b.jtl"), 1).expect("begun"));
        assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 1);
        let error = Jtl::create(&folder.path().join("no/c.jtl"), 1).expect_err("no folder");
        assert_eq!(error.code(), "lab.report_unwritten");
    }
    #[test]
    fn a_file_that_is_dropped_keeps_its_rows() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.jtl");
        let mut jtl = Jtl::create(&path, JTL_BYTES_MAX).expect("begun");
        let sink = jtl.stretch(&["x".into()], 1);
        sink.send(vec![row(1), row(2)]);
        drop(jtl);
        let text = fs::read_to_string(&path).expect("there");
        assert_eq!(text.lines().count(), 3, "{text}");
        assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 1);
    }

    #[test]
    fn a_failure_says_how_many_units_are_lost() {
        let folder = tempfile::tempdir().expect("a folder");
        // The file cannot get its name, because a folder has it.
        let path = folder.path().join("a.jtl");
        let mut jtl = Jtl::create(&path, JTL_BYTES_MAX).expect("begun");
        let sink = jtl.stretch(&["x".into()], 1);
        sink.send(vec![row(1), row(2)]);
        fs::create_dir(&path).expect("made");
        let error = jtl.end().expect_err("no file");
        assert_eq!(error.code(), "lab.report_unwritten");
        let source = std::error::Error::source(&error).map(ToString::to_string);
        let words = format!("{error} {}", source.unwrap_or_default());
        assert!(words.contains("the rows of 2 units are lost"), "{words}");
    }
}
