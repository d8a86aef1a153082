//! The laboratory's workload: a bank promises another one to pay, and keeps its promise, again and again.

use std::sync::{Arc, Mutex, PoisonError};

use perf::workload::{
    Boxed, Failed, KnobError, Knobs, Site, Step, Tried, Worker, Workload, Workloads,
};
use serde_json::json;

use crate::flows::IouResult;

/// Positions of the banks.
const LENDER: u32 = 0;
const BORROWER: u32 = 1;
/// Coins that one issue makes.
const COINS_AT_ONCE: u64 = 100;

/// Makes `kind = "iou"` known.
pub fn register_workloads(workloads: &mut Workloads) {
    let about = "The second bank promises to pay the first, and pays: two transactions.";
    workloads.register("iou", about, IouWorkload::make);
}

/// The kind of work, with its knobs set.
struct IouWorkload {
    currency: String,
    quantity: u64,
}

impl IouWorkload {
    fn make(knobs: &mut Knobs) -> Result<Arc<dyn Workload>, KnobError> {
        Ok(Arc::new(Self {
            currency: knobs.currency("GBP")?,
            quantity: knobs.number("quantity", 100, 1..=1_000_000)?,
        }))
    }
}

impl Workload for IouWorkload {
    fn kind(&self) -> &str {
        "iou"
    }

    fn banks_min(&self) -> u32 {
        2
    }

    /// The lender pays its cash out, a coin for each unit.
    fn prepare<'a>(
        &'a self,
        site: &'a Arc<Site>,
        units_expected: u64,
    ) -> Boxed<'a, Result<(), Failed>> {
        Box::pin(async move {
            let token = site.token(&self.currency, LENDER as usize)?;
            let borrower = site.name(BORROWER as usize)?;
            let issues = units_expected.div_ceil(COINS_AT_ONCE);
            site.preparation().begin("cash", issues);
            let quantity = COINS_AT_ONCE * self.quantity;
            let issue = json!({
                "currency": self.currency, "quantity": quantity,
                "outputs": COINS_AT_ONCE, "recipient": borrower,
            });
            let step = Step {
                start: site.start_of("cash.issue", &issue)?,
                issues: Some((token, quantity)),
                participants: vec![LENDER, BORROWER],
            };
            site.prepare_with(LENDER as usize, issues, |_| Ok(step.clone()), |_, _| Ok(()))
                .await
        })
    }

    fn worker<'a>(
        &'a self,
        site: &'a Arc<Site>,
        _number: u32,
    ) -> Boxed<'a, Result<Box<dyn Worker>, Failed>> {
        Box::pin(async move {
            let promise = json!({
                "lender": site.name(LENDER as usize)?,
                "currency": self.currency, "quantity": self.quantity,
            });
            Ok(Box::new(Borrower {
                promise: site.start_of("iou.issue", &promise)?,
                open: Mutex::default(),
                site: Arc::clone(site),
            }) as Box<dyn Worker>)
        })
    }

    /// The IOU, and the cash that settles it.
    fn states_per_unit(&self) -> f64 {
        2.0
    }
}

/// One who promises and pays.
struct Borrower {
    site: Arc<Site>,
    promise: api::StartFlow,
    /// Promises that are not kept yet, by their transactions.
    open: Mutex<Vec<String>>,
}

impl Worker for Borrower {
    fn invoke(&self, _unit: u64) -> Boxed<'_, Result<Tried, Failed>> {
        Box::pin(async move {
            let promised = self.run(&self.promise).await?;
            self.lock().push(promised.clone());
            self.keep(&promised).await?;
            Ok(Tried::default())
        })
    }

    /// A unit that failed half-way has left a promise behind.
    fn teardown(&self) -> Boxed<'_, Result<(), Failed>> {
        Box::pin(async move {
            let open = self.lock().clone();
            for promised in open {
                self.keep(&promised).await?;
            }
            Ok(())
        })
    }
}

impl Borrower {
    async fn keep(&self, promised: &str) -> Result<(), Failed> {
        let settle = json!({ "transaction": promised });
        let settle = self.site.start_of("iou.settle", &settle)?;
        self.run(&settle).await?;
        self.lock().retain(|open| open != promised);
        Ok(())
    }

    /// Runs a flow at the borrower's node, and records in the books the parties that its transaction concerns; returns
    /// the transaction.
    async fn run(&self, start: &api::StartFlow) -> Result<String, Failed> {
        let delivered = self.site.run(BORROWER as usize, start, false).await?;
        self.site
            .acknowledge(&delivered.transactions, &[LENDER, BORROWER]);
        let result: IouResult = delivered.returned()?;
        Ok(result.transaction.to_string())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
