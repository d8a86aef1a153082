//! The work of a point.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::plan::{Plan, Work};
use crate::workload::PAYMENT;

/// Returns the work of a point. On a chain it is payments, if nothing else is given.
pub(super) fn works(plan: &Plan) -> Cow<'_, [Work]> {
    if plan.chain.is_none() || !plan.work.is_empty() {
        return Cow::Borrowed(&plan.work);
    }
    Cow::Owned(vec![Work {
        kind: PAYMENT.to_owned(),
        label: PAYMENT.to_owned(),
        weight: 1,
        knobs: BTreeMap::new(),
    }])
}
