//! `issue_and_pay`: a bank issues cash to itself and pays it to the other one. Two transactions.
//!
//! Without `selection`, one flow does both and pays with the new state. With it, the client starts an issue and then a
//! payment, which selects its coins from the vault.

use std::sync::Arc;

use api::StartFlow;

use super::books::Token;
use super::boxed::Boxed;
use super::cash::{Issue, IssueAndPay as Arguments, Money, PAYEE, PAYER, Pay, Payment, window};
use super::ended::{Failed, Tried};
use super::registry::Make;
use super::traits::{Prepares, Worker, Workload};
use super::{KnobError, Knobs, Site};

/// The kind, a one-line description, and the constructor.
pub(super) const REGISTERED: (&str, &str, Make) = (
    "issue_and_pay",
    "The first bank issues cash and pays it to the second: two transactions.",
    IssueAndPay::make,
);

struct IssueAndPay {
    money: Money,
    selection: bool,
    window_ms: Option<u64>,
    anonymous: bool,
    retry: bool,
}

impl IssueAndPay {
    fn make(knobs: &mut Knobs) -> Result<Arc<dyn Workload>, KnobError> {
        Ok(Arc::new(Self {
            money: Money::of(knobs, "EUR")?,
            selection: knobs.flag("selection", false)?,
            window_ms: window(knobs)?,
            anonymous: knobs.flag("anonymous", false)?,
            retry: knobs.flag("retry", false)?,
        }))
    }

    fn starts(&self, site: &Site) -> Result<Vec<StartFlow>, Failed> {
        let to = site.name(PAYEE as usize)?;
        let (currency, quantity) = (self.money.currency.as_str(), self.money.quantity);
        let (window_ms, anonymous) = (self.window_ms, self.anonymous);
        if !self.selection {
            let both = Arguments {
                currency,
                quantity,
                recipient: to,
                anonymous,
                window_ms,
            };
            return Ok(vec![site.start_of("cash.issue_and_pay", &both)?]);
        }
        let issue = Issue {
            currency,
            quantity,
            outputs: 1,
            reference: None,
        };
        let states = 1;
        let pay = Pay {
            currency,
            reference: None,
            payments: [Payment {
                to,
                quantity,
                states,
            }],
            anonymous,
            window_ms,
        };
        Ok(vec![
            site.start_of("cash.issue", &issue)?,
            site.start_of("cash.pay", &pay)?,
        ])
    }
}

impl Workload for IssueAndPay {
    fn kind(&self) -> &str {
        REGISTERED.0
    }

    fn banks_min(&self) -> u32 {
        2
    }

    fn prepares(&self, _: u64) -> Prepares {
        Prepares::Nothing
    }

    fn worker<'a>(
        &'a self,
        site: &'a Arc<Site>,
        _number: u32,
    ) -> Boxed<'a, Result<Box<dyn Worker>, Failed>> {
        Box::pin(async move {
            Ok(Box::new(IssuingAndPaying {
                starts: self.starts(site)?,
                token: self.money.token(site)?,
                quantity: self.money.quantity,
                retry: self.retry,
                site: Arc::clone(site),
            }) as Box<dyn Worker>)
        })
    }

    fn states_per_unit(&self) -> f64 {
        2.0
    }
}

struct IssuingAndPaying {
    site: Arc<Site>,
    starts: Vec<StartFlow>,
    token: Token,
    quantity: u64,
    retry: bool,
}

impl Worker for IssuingAndPaying {
    fn invoke(&self, _unit: u64) -> Boxed<'_, Result<Tried, Failed>> {
        Box::pin(async move {
            let payer = PAYER as usize;
            let (mut made, mut tried) = (Vec::with_capacity(2), Tried::default());
            for (at, start) in self.starts.iter().enumerate() {
                let ran = if at == 0 {
                    let (token, quantity) = (&self.token, self.quantity);
                    let issue = self
                        .site
                        .run_issuing(payer, start, self.retry, token, quantity);
                    issue.await
                } else {
                    self.site.run(payer, start, self.retry).await
                };
                let delivered = ran.map_err(|mut failed| {
                    failed.retries += tried.retries;
                    failed
                });
                // An issue exists even if its payment fails.
                if delivered.is_err() {
                    self.site.acknowledge(&made, &[PAYER]);
                }
                let delivered = delivered?;
                tried.retries += delivered.retries;
                made.extend(delivered.transactions);
            }
            // The issue concerns the payer only; the payment concerns both.
            if let Some((payment, issues)) = made.split_last() {
                self.site.acknowledge(issues, &[PAYER]);
                self.site.acknowledge(&[*payment], &[PAYER, PAYEE]);
            }
            Ok(tried)
        })
    }
}
