//! Feeds the events of a history to the rules.

use std::io::BufRead;

use crate::book::{Book, Mark, Outcome, seconds};
use crate::conflicts::Conflicts;
use crate::ending;
use crate::error::HistoryError;
use crate::event::{Event, EventKind};
use crate::faults::Faults;
use crate::reader::HistoryReader;
use crate::silence::{Silence, SilenceClock};
use crate::spending::Spending;
use crate::verdict::{Verdict, Violation, ViolationKind};

/// Checks a history. Memory grows in proportion to its size.
///
/// # Errors
/// The history can't be read, is incomplete, or contradicts itself.
pub fn check(reader: impl BufRead) -> Result<Verdict, HistoryError> {
    let mut events = HistoryReader::new(reader);
    let mut checker = Checker::default();
    while let Some((line, event)) = events.next_event()? {
        checker.event(line, event)?;
    }
    checker.end()
}

#[derive(Default)]
struct Checker {
    answers_within_us: u64,
    is_end_phase: bool,
    /// The time at which the majority was lost, if no server of it may be back.
    lost_us: Option<u64>,
    book: Book,
    spending: Spending,
    conflicts: Conflicts,
    silence: SilenceClock,
    faults: Faults,
    verdict: Verdict,
}

impl Checker {
    fn event(&mut self, line: u64, event: Event) -> Result<(), HistoryError> {
        let at_us = event.at_us;
        let mark = |client, request| Mark {
            line,
            at_us,
            client,
            request,
        };
        match event.kind {
            EventKind::Begin {
                answers_within_ms, ..
            } => {
                // A limit that does not fit is no limit.
                self.answers_within_us = answers_within_ms.saturating_mul(1_000);
            }
            EventKind::Ask {
                client,
                request,
                transaction,
                consumed_as,
                consumes,
                reads,
            } => {
                let (asked, ids) = (mark(client, request), (transaction, consumed_as));
                self.book
                    .ask(asked, ids, consumes, reads, self.is_end_phase)?;
                self.silence.ask(at_us);
                self.verdict.asked += 1;
            }
            EventKind::Signed { client, request } => {
                let answered = mark(client, request);
                let request = self.book.answer(answered, Outcome::Signed)?;
                self.answered(at_us);
                let found = self
                    .spending
                    .signed(&mut self.book, &request, answered, self.lost_us);
                self.violate(found);
                self.verdict.signed += 1;
            }
            EventKind::Conflict {
                client,
                request,
                states,
            } => {
                let answered = mark(client, request);
                let request = self.book.answer(answered, Outcome::Conflict)?;
                self.answered(at_us);
                let (found, names_input) = self
                    .conflicts
                    .refused(&self.book, &request, answered, &states);
                self.violate(found);
                let found = self
                    .spending
                    .conflict(&mut self.book, &request, answered, names_input);
                self.violate(found);
                self.verdict.conflicts += 1;
            }
            EventKind::Refused {
                client,
                request,
                code,
                message,
            } => {
                let answered = mark(client, request);
                let request = self.book.answer(answered, Outcome::Refused)?;
                self.silence.leave(at_us);
                let found =
                    self.spending
                        .refused(&self.book, &request, answered, (&code, &message));
                self.violate(found);
                self.verdict.refused += 1;
            }
            EventKind::Unanswered { client, request } => {
                self.book
                    .answer(mark(client, request), Outcome::Unanswered)?;
                self.silence.leave(at_us);
                self.verdict.unanswered += 1;
            }
            EventKind::MajorityLost => {
                let silence = self.silence.majority_lost(at_us);
                self.judge_silence(silence, at_us);
                self.lost_us = Some(at_us);
            }
            EventKind::MajorityReturning => self.lost_us = None,
            EventKind::MajorityBack => {
                self.silence.majority_back(at_us);
                self.lost_us = None;
            }
            EventKind::Fault { kind } => self.faults.begin(at_us, kind),
            EventKind::Healed { kind } => self.faults.heal(at_us, kind),
            EventKind::EndPhase => self.is_end_phase = true,
            EventKind::End => {
                let silence = self.silence.end(at_us);
                self.judge_silence(silence, at_us);
            }
        }
        Ok(())
    }

    fn answered(&mut self, at_us: u64) {
        let silence = self.silence.answer(at_us);
        self.judge_silence(silence, at_us);
    }

    fn judge_silence(&mut self, Silence(silence_us): Silence, at_us: u64) {
        let silence_ms = silence_us.div_ceil(1_000);
        self.verdict.longest_silence_ms = self.verdict.longest_silence_ms.max(silence_ms);
        if silence_us > self.answers_within_us {
            self.violate([Violation {
                kind: ViolationKind::Silence,
                message: format!(
                    "no request was answered for {silence_ms} ms of waiting until {}, more than {} ms",
                    seconds(at_us),
                    self.answers_within_us / 1_000
                ),
            }]);
        }
    }

    /// Adds violations, each with the faults of this moment.
    fn violate(&mut self, found: impl IntoIterator<Item = Violation>) {
        for mut violation in found {
            violation.message.push_str(&self.faults.text());
            self.verdict.violations.push(violation);
        }
    }

    /// Checks the rules that concern the whole history.
    fn end(mut self) -> Result<Verdict, HistoryError> {
        self.book.close()?;
        self.verdict.violations.extend(ending::end(&self.book));
        self.verdict
            .violations
            .extend(self.conflicts.end(&self.book));
        let transactions = self.book.transactions();
        let signed = transactions.iter().filter(|one| one.signed.is_some());
        self.verdict.signed_transactions = signed.count() as u64;
        self.verdict.transactions = transactions.len() as u64;
        Ok(self.verdict)
    }
}
