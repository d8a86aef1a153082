//! Runs flows on a site, one by one and as a preparation. Unknown outcomes are noted in its books.

use std::sync::Arc;
use std::time::Duration;

use api::StartFlow;
use client::ClientError;
use tokio::task::JoinSet;

use super::Site;
use super::delivered::{Delivered, delivered, recorded};
use super::step::{Step, Way};
use crate::load::{Fault, NotRun};
use crate::workload::books::Token;
use crate::workload::codes::WORKER_PANICKED;
use crate::workload::ended::Failed;

/// Starts outstanding during a preparation.
const PREPARING_OUTSTANDING: usize = 256;
/// Upper limit on tries of one unit, with `retry`.
const TRIES_MAX: u32 = 1_000;
/// The longest pause before a retry, even if the node asks for more.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(10);
/// The default pause before a retry.
const RETRY_AFTER: Duration = Duration::from_millis(20);

impl Site {
    /// Runs a flow on a bank to its end. With `retry`, a refusal with a retry time is retried.
    ///
    /// If the outcome is unknown, after a failure or because the end was not awaited, the books note that.
    pub async fn run(
        &self,
        bank: usize,
        start: &StartFlow,
        retry: bool,
    ) -> Result<Delivered, Failed> {
        self.run_by(Way::Stream, bank, start, retry).await
    }

    /// Does the same with the given way of starting.
    pub(in crate::workload) async fn run_by(
        &self,
        way: Way<'_>,
        bank: usize,
        start: &StartFlow,
        retry: bool,
    ) -> Result<Delivered, Failed> {
        let mut open = InFlight::new(self, None);
        let ran = self.try_run(way, bank, start, retry).await;
        open.begun = ran.as_ref().is_err_and(|failed| failed.begun);
        ran
    }

    /// Does the same for a flow that issues `quantity` of a token, and notes that as well.
    pub async fn run_issuing(
        &self,
        bank: usize,
        start: &StartFlow,
        retry: bool,
        token: &Token,
        quantity: u64,
    ) -> Result<Delivered, Failed> {
        self.run_issuing_by(Way::Stream, bank, start, retry, (token, quantity))
            .await
    }

    /// Does the same with the given way of starting.
    pub(in crate::workload) async fn run_issuing_by(
        &self,
        way: Way<'_>,
        bank: usize,
        start: &StartFlow,
        retry: bool,
        (token, quantity): (&Token, u64),
    ) -> Result<Delivered, Failed> {
        let mut open = InFlight::new(self, Some((token, quantity)));
        let ran = self.try_run(way, bank, start, retry).await;
        open.begun = ran.as_ref().is_err_and(|failed| failed.begun);
        if ran.is_ok() {
            self.issued(token, quantity);
        }
        ran
    }

    async fn try_run(
        &self,
        way: Way<'_>,
        bank: usize,
        start: &StartFlow,
        retry: bool,
    ) -> Result<Delivered, Failed> {
        let node = self.bank(bank)?;
        let mut retries = 0;
        loop {
            let started = match way {
                Way::Stream => node.start(start).await,
                // Large and rare futures are boxed: a busy generator makes thousands of this future per second.
                Way::Request(client) => Box::pin(client.start(start)).await,
                Way::Coroutines(coroutines) => {
                    let not_run = match Box::pin(coroutines.run(start)).await {
                        Ok(ids) => return recorded(ids, retries),
                        Err(not_run) => not_run,
                    };
                    let NotRun {
                        fault,
                        begun,
                        retry_after,
                    } = not_run;
                    match retry_after.filter(|_| retry && !begun && retries + 1 < TRIES_MAX) {
                        None => {
                            return Err(Failed {
                                fault,
                                retries,
                                begun,
                            });
                        }
                        Some(after) => tokio::time::sleep(after.min(RETRY_AFTER_MAX)).await,
                    }
                    retries += 1;
                    continue;
                }
            };
            let error = match started {
                Ok(outcome) => {
                    return delivered(outcome, retries).map_err(|fault| Failed {
                        fault,
                        retries,
                        begun: true,
                    });
                }
                Err(error) => error,
            };
            // A refused start has begun nothing, so it can be repeated. A flow that failed may have recorded something, and for other
            // errors that is unknown.
            let begun = error.is_outcome_unknown() || error.flow_id().is_some();
            let again = retry && !begun && is_busy(&error) && retries + 1 < TRIES_MAX;
            if !again {
                return Err(Failed {
                    fault: Fault::from(error),
                    retries,
                    begun,
                });
            }
            let after = error.retry_after_ms().map(Duration::from_millis);
            // Not every refusal says when to retry.
            tokio::time::sleep(after.unwrap_or(RETRY_AFTER).min(RETRY_AFTER_MAX)).await;
            retries += 1;
        }
    }

    /// Runs `count` flows of a preparation on a bank, many at a time, and shows the progress. `each` receives them in the
    /// order of their ends. The first failure ends it.
    pub async fn prepare_with(
        self: &Arc<Self>,
        bank: usize,
        count: u64,
        make: impl Fn(u64) -> Result<Step, Failed>,
        each: impl Fn(u64, &Delivered) -> Result<(), Failed>,
    ) -> Result<(), Failed> {
        let make = |number| Ok((bank, make(number)?));
        self.prepare_steps(PREPARING_OUTSTANDING, count, make, each)
            .await
    }

    /// Does the same for steps of several banks, at most `outstanding` at a time. `make` returns each step with its bank.
    pub(in crate::workload) async fn prepare_steps(
        self: &Arc<Self>,
        outstanding: usize,
        count: u64,
        make: impl Fn(u64) -> Result<(usize, Step), Failed>,
        each: impl Fn(u64, &Delivered) -> Result<(), Failed>,
    ) -> Result<(), Failed> {
        let mut running: JoinSet<(u64, Result<Delivered, Failed>)> = JoinSet::new();
        let mut next = 0;
        loop {
            while next < count && running.len() < outstanding {
                let (site, number, (bank, step)) = (Arc::clone(self), next, make(next)?);
                running.spawn(async move { (number, site.run_step(bank, step).await) });
                next += 1;
            }
            let Some(ended) = running.join_next().await else {
                return Ok(());
            };
            let (number, delivered) =
                ended.map_err(|error| Failed::new(WORKER_PANICKED, error.to_string()))?;
            each(number, &delivered?)?;
            self.preparation.advance();
        }
    }

    /// Runs a step of a preparation. If the node is too busy, the step takes longer instead of failing.
    async fn run_step(&self, bank: usize, step: Step) -> Result<Delivered, Failed> {
        let delivered = match &step.issues {
            Some((token, quantity)) => {
                self.run_issuing(bank, &step.start, true, token, *quantity)
                    .await?
            }
            None => self.run(bank, &step.start, true).await?,
        };
        self.acknowledge(&delivered.transactions, &step.participants);
        Ok(delivered)
    }
}

/// A flow whose end has not been seen yet.
struct InFlight<'a> {
    site: &'a Site,
    issues: Option<(&'a Token, u64)>,
    /// Whether it may have had an effect. It stays true until the outcome is known.
    begun: bool,
}

impl<'a> InFlight<'a> {
    fn new(site: &'a Site, issues: Option<(&'a Token, u64)>) -> Self {
        Self {
            site,
            issues,
            begun: true,
        }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if !self.begun {
            return;
        }
        let mut books = self.site.lock();
        books.unknown();
        if let Some((token, quantity)) = self.issues {
            books.in_doubt(token, quantity);
        }
    }
}

fn is_busy(error: &ClientError) -> bool {
    error.code() == api::codes::NODE_BUSY.code || error.retry_after_ms().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A busy generator makes thousands of these futures per second, each moved before it begins.
    #[test]
    fn the_future_of_a_flow_is_small() {
        let site = Site::new(Vec::new(), None, 1);
        let start = StartFlow::new("ledger.empty", &()).expect("JSON");
        let running = site.run(0, &start, false);
        let bytes = std::mem::size_of_val(&running);
        assert!(bytes <= 1_536, "{bytes}");
    }
}
