//! The audit of files. Every bank that must hold a file reports that it does. Files that are read back have the hash that
//! the laboratory computed when it made them.

use std::sync::Arc;

use primitives::Hash;
use tokio::task::JoinSet;

use super::depot::Depot;
use crate::audit::Verdict;
use crate::workload::Site;
use crate::workload::codes::WORKER_PANICKED;
use crate::workload::ended::Failed;

/// Upper limit on the bytes that one audit reads back, about half a minute's worth. Above it, an even sample of the files
/// is read, and the others are only looked up.
const READ_BYTES_MAX: u64 = 6_000_000_000;
/// Concurrent requests.
const AT_ONCE: usize = 4;

/// A file that a bank must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HeldFile {
    bank: usize,
    hash: Hash,
    size: u64,
    read: bool,
}

/// Checks every file at every bank that must hold it, and adds faults to a verdict.
pub(in crate::workload) async fn check_files(
    site: &Site,
    verdict: &mut Verdict,
) -> Result<(), Failed> {
    let books = site.books();
    let mut held: Vec<HeldFile> = books
        .files()
        .filter_map(|(hash, note)| {
            let hash: Hash = hash.parse().ok()?;
            let banks = note.banks.iter();
            Some(banks.map(move |bank| HeldFile {
                bank: *bank as usize,
                hash,
                size: note.size,
                read: false,
            }))
        })
        .flatten()
        .collect();
    choose(&mut held, READ_BYTES_MAX);
    let mut depots = Vec::with_capacity(site.banks());
    for bank in 0..site.banks() {
        // Banks without files need no client.
        depots.push(match held.iter().any(|held| held.bank == bank) {
            true => Some(Arc::new(Depot::new(site.endpoint(bank)?)?)),
            false => None,
        });
    }
    let mut running: JoinSet<(HeldFile, Result<(), Failed>)> = JoinSet::new();
    let mut left = held.into_iter();
    loop {
        while running.len() < AT_ONCE
            && let Some(next) = left.next()
        {
            let Some(Some(depot)) = depots.get(next.bank).cloned() else {
                continue;
            };
            running.spawn(async move {
                let found = match next.read {
                    true => depot.reads_back(next.hash, next.size).await,
                    false => depot.has(next.hash, next.size).await,
                };
                (next, found)
            });
        }
        let Some(ended) = running.join_next().await else {
            return Ok(());
        };
        let (held, found) =
            ended.map_err(|error| Failed::new(WORKER_PANICKED, error.to_string()))?;
        verdict.files += 1;
        verdict.files_read += usize::from(held.read);
        if let Err(failed) = found {
            let name = site.name(held.bank)?;
            verdict.wrong(|| format!("{name} should have file {}: {failed}", held.hash));
        }
    }
}

/// Chooses the files to read: all, or evenly as many as fit. Receivers' files come first, since a sender received its
/// file whole.
fn choose(held: &mut [HeldFile], bytes_max: u64) {
    held.sort_by_key(|held| (std::cmp::Reverse(held.bank), held.hash));
    let all: u64 = held.iter().map(|held| held.size).sum();
    let one_in = all.div_ceil(bytes_max.max(1)).max(1);
    let mut bytes = 0u64;
    for (at, held) in held.iter_mut().enumerate() {
        let fits = bytes + held.size <= bytes_max;
        if (at as u64).is_multiple_of(one_in) && fits {
            held.read = true;
            bytes += held.size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_are_read_if_they_fit_and_else_some_evenly_over_all() {
        let files = |count: u64| -> Vec<HeldFile> {
            (0..count)
                .map(|number| HeldFile {
                    bank: (number % 2) as usize,
                    hash: Hash::plain(&number.to_be_bytes()),
                    size: 10,
                    read: false,
                })
                .collect()
        };
        for (count, bytes_max, read) in [
            (0, 100, 0),
            (10, 100, 10),
            (10, 99, 5),
            (100, 100, 10),
            (3, 0, 0),
        ] {
            let mut held = files(count);
            choose(&mut held, bytes_max);
            let chosen = held.iter().filter(|held| held.read).count();
            assert_eq!(chosen, read, "{count} {bytes_max}");
        }
        let mut held = files(4);
        choose(&mut held, 40);
        assert_eq!(held[0].bank, 1, "receivers come first");
    }
}
