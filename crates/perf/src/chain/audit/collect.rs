//! Collects the nodes' answers.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tokio::time::timeout;

use super::audited::{Audited, NodeEnd};
use super::judge::{Findings, Moves, Places, one_tip};
use super::pages::{Limits, fault};
use super::question::{Balances, Question, Start};
use crate::chain::analysis::BlockRow;
use crate::chain::codes::SLOW;
use crate::chain::{ChainTarget, Detail, Fate};
use crate::load::Fault;
use crate::results::AuditResult;

/// Upper limit on accepted payments outside any block that are looked up one by one. The rest counts as lost.
const FATES_MAX: usize = 10_000;
/// Upper limit on retries of a reading during which the height changed.
const TRIES_MAX: u32 = 20;
/// Pause between two tries.
const TRY_EVERY: Duration = Duration::from_millis(100);

/// Reads the current state of a chain: balances and their height.
///
/// # Errors
/// Returns the node's error, or `lab.target_slow` if blocks come faster than balances can be read.
pub async fn start(target: &dyn ChainTarget, accounts: usize) -> Result<Start, Fault> {
    let limits = Limits::default();
    for _ in 0..TRIES_MAX {
        let before = limits.answer(target, "status", target.status()).await?;
        let balances = balances(target, accounts, &limits).await?;
        let after = limits.answer(target, "status", target.status()).await?;
        if before.tip == after.tip {
            let tip = target.blocks(before.height, 1, Detail::Counts);
            let tip = limits.answer(target, "block", tip).await?;
            return Ok(Start {
                height: before.height,
                // Genesis has no predecessor; its time is 0.
                time_s: tip.first().map_or(0, |tip| tip.time_s),
                balances,
            });
        }
        tokio::time::sleep(TRY_EVERY).await;
    }
    let message = "its blocks come faster than balances can be read";
    Err(fault(SLOW, target, message))
}

async fn balances(
    target: &dyn ChainTarget,
    accounts: usize,
    limits: &Limits,
) -> Result<Balances, Fault> {
    let mut all = BTreeMap::new();
    for account in 0..accounts {
        let found = target.balances(account);
        let found = limits.answer(target, "balances", found).await?;
        all.extend(
            found
                .into_iter()
                .map(|(chain, balance)| ((account, chain), balance)),
        );
    }
    Ok(all)
}

/// Runs the whole audit. The nodes should be quiet: nothing is submitted, and forging is stopped on nodes that can stop
/// it.
pub async fn audit(question: &Question<'_>) -> Audited {
    audit_within(question, &Limits::default()).await
}

/// Runs the whole audit within limits.
pub(super) async fn audit_within(question: &Question<'_>, limits: &Limits) -> Audited {
    let mut audited = Audited::default();
    let mut findings = Findings::default();
    let begun = Instant::now();
    let asked = timeout(
        limits.all,
        ask(question, limits, &mut audited, &mut findings),
    )
    .await;
    let asked = asked.unwrap_or_else(|_| {
        Err(Fault {
            code: SLOW.to_owned(),
            message: format!("the nodes were not read within {:?}", limits.all),
        })
    });
    if let Err(fault) = asked {
        findings.note(format!("the audit could not read everything: {fault}"));
    }
    let clean = findings.are_none();
    let words = match clean {
        true => good_words(question, &audited, begun.elapsed()),
        false => findings.words(),
    };
    audited.result = AuditResult {
        clean,
        words,
        transactions: question.accepted.len() as u64,
    };
    audited
}

fn good_words(question: &Question<'_>, audited: &Audited, took: Duration) -> String {
    let left = audited.left.len();
    let which = match question.every {
        1 => "every accepted payment".to_owned(),
        every => format!("of accepted payments one in {every}"),
    };
    let mut words = format!(
        "{which} ({}) is in one block of the main chain of all {} nodes",
        audited.placed.len(),
        question.targets.len()
    );
    if left > 0 {
        words.push_str(&format!(", {left} left with a reason"));
    }
    words.push_str(&format!(
        "; balances add up; one tip, read in {:.1} s",
        took.as_secs_f64()
    ));
    words
}

async fn ask(
    question: &Question<'_>,
    limits: &Limits,
    audited: &mut Audited,
    findings: &mut Findings,
) -> Result<(), Fault> {
    for target in question.targets {
        let status = limits.answer(&**target, "status", target.status()).await?;
        let state = target.state_hash();
        audited.nodes.push(NodeEnd {
            name: target.name().to_owned(),
            height: status.height,
            tip: status.tip,
            state: limits.answer(&**target, "state hash", state).await?,
        });
    }
    one_tip(&audited.nodes, findings);
    let Some((first, others)) = question.targets.split_first() else {
        return Ok(());
    };
    let heights = audited.nodes.iter().map(|node| node.height);
    let until = heights.min().expect("a node for each target");
    let mut places = Places::new(question.accepted);
    let mut moves = Moves::default();
    let mut ids = Vec::new();
    let mut transactions = 0u64;
    let mut last_s = question.start.time_s;
    let mut earlier = None;
    limits
        .each_block(
            &**first,
            question.start.height + 1,
            until,
            Detail::Moves,
            &mut |block| {
                places.block(block);
                moves.block(block);
                ids.push((block.height, block.id.clone()));
                transactions += block.transactions();
                if block.time_s < last_s {
                    earlier.get_or_insert(block.height);
                }
                last_s = block.time_s;
                audited.blocks.push(BlockRow {
                    height: block.height,
                    time_s: block.time_s,
                    parent: block.parent_count,
                    children: block.children.clone(),
                    bytes: block.bytes,
                });
            },
        )
        .await?;
    if let Some(height) = earlier {
        findings.note(format!(
            "{}: block {height} has an earlier time than the block before it",
            first.name()
        ));
    }
    places.judge(first.name(), findings);
    audited.placed = places.placed();
    for target in others {
        let in_full = transactions <= question.read_max;
        let detail = if in_full {
            Detail::Keys
        } else {
            Detail::Counts
        };
        let mut theirs = Places::new(if in_full { question.accepted } else { &[] });
        let mut at = 0;
        let mut other = None;
        limits
            .each_block(
                &**target,
                question.start.height + 1,
                until,
                detail,
                &mut |block| {
                    theirs.block(block);
                    if ids.get(at) != Some(&(block.height, block.id.clone())) {
                        other.get_or_insert(block.height);
                    }
                    at += 1;
                },
            )
            .await?;
        theirs.judge(target.name(), findings);
        if in_full && theirs.placed() != audited.placed {
            findings.note(format!(
                "{} and {} have payments in different blocks",
                first.name(),
                target.name()
            ));
        }
        if let Some(height) = other {
            findings.note(format!(
                "{} and {} have different blocks at height {height}",
                first.name(),
                target.name()
            ));
        }
    }
    let missing = places.missing().collect();
    fates(question, limits, missing, audited, findings).await?;
    let names: Vec<String> = (0..question.accounts)
        .map(|account| first.account_name(account))
        .collect();
    moves.judge_supply(question.chains, findings);
    for target in question.targets {
        let after = balances(&**target, question.accounts, limits).await?;
        moves.judge(
            target.name(),
            &question.start.balances,
            &after,
            question.chains,
            &names,
            findings,
        );
    }
    Ok(())
}

/// Looks up accepted payments that are in no block.
async fn fates(
    question: &Question<'_>,
    limits: &Limits,
    missing: Vec<usize>,
    audited: &mut Audited,
    findings: &mut Findings,
) -> Result<(), Fault> {
    // Up to the limit, none are left over.
    let beyond = missing.len().saturating_sub(FATES_MAX);
    for place in missing.into_iter().take(FATES_MAX) {
        let accepted = &question.accepted[place];
        let Some(target) = question.targets.get(accepted.node as usize) else {
            continue;
        };
        let fate = target.fate(accepted.key);
        match limits.answer(&**target, "fate", fate).await? {
            Fate::Left(reason) => audited.left.push((place, reason)),
            Fate::Waiting => findings.note(format!(
                "{}: the payment {} was accepted and still waits; the pool did not empty in time",
                target.name(),
                accepted.key
            )),
            Fate::InBlock(height) => findings.note(format!(
                "{}: the payment {} is said to be in block {height}, and is not",
                target.name(),
                accepted.key
            )),
            Fate::Unknown => findings.note(format!(
                "{}: the payment {} was accepted and is lost: in no block, not waiting, and without a reason",
                target.name(),
                accepted.key
            )),
        }
    }
    if beyond > 0 {
        findings.note(format!("{beyond} more accepted payments stand in no block"));
    }
    Ok(())
}
