//! What the cash workloads share: who pays whom, and the arguments of their flows.

use serde::Serialize;

/// The position of the bank that issues and pays.
pub(super) const PAYER: u32 = 0;
/// The position of the bank that is paid.
pub(super) const PAYEE: u32 = 1;
/// Minor units of each issue and payment, unless somebody says otherwise.
pub(super) const QUANTITY: u64 = 1_000;
/// Minor units of a unit of work at most: sums of all that a run makes stay far below what a quantity can hold.
pub(super) const QUANTITY_MAX: u64 = 1_000_000_000;
/// States that one transaction makes at most, as the flows have it.
pub(super) const STATES_MAX: u64 = 1_000;

/// Arguments of `cash.issue`.
#[derive(Serialize)]
pub(super) struct Issue<'a> {
    pub currency: &'a str,
    pub quantity: u64,
    pub outputs: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<&'a str>,
}

/// Arguments of `cash.pay`.
#[derive(Serialize)]
pub(super) struct Pay<'a> {
    pub currency: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<&'a str>,
    pub payments: [Payment<'a>; 1],
    pub anonymous: bool,
}

/// One payment of `cash.pay`.
#[derive(Serialize)]
pub(super) struct Payment<'a> {
    pub to: &'a str,
    pub quantity: u64,
    pub states: u64,
}

/// Arguments of `cash.issue_and_pay`.
#[derive(Serialize)]
pub(super) struct IssueAndPay<'a> {
    pub currency: &'a str,
    pub quantity: u64,
    pub recipient: &'a str,
    pub anonymous: bool,
}
