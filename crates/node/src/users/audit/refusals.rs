//! Refused requests. A client has a few whole lines in a second; the others of the same code share one line with their number.
//!
//! A client can cause any number of refusals, so time bounds their lines.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::line::{AuditLine, Kind};
use crate::users::network::network_of;

/// Period for which refusals are counted before the count is written.
const COUNTED_FOR: Duration = Duration::from_secs(1);
/// Whole lines in a second for a user, its network and a code. A client without a credential has one.
const WHOLE_PER_USER_MAX: u32 = 16;
/// Whole lines in a second for all clients.
const WHOLE_MAX: u32 = 128;
/// Clients and codes that are counted apart in a second. Further ones are counted together, by their code.
const COUNTED_MAX: usize = 128;

/// Refusals that share a line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Counted {
    user: Arc<str>,
    network: Option<IpAddr>,
    kind: Kind,
    code: Option<String>,
}

/// The refusals of one second with the same key.
#[derive(Debug, Default)]
struct Count {
    whole: u32,
    /// The common part of the lines that are not written whole, and their number.
    rest: Option<(AuditLine, u64)>,
}

/// The refusals of one second.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    since: Option<Instant>,
    whole: u32,
    counts: HashMap<Counted, Count>,
}

impl Refusals {
    /// Counts a refusal; returns its line if it is to be written now.
    pub(super) fn add(&mut self, line: AuditLine, now: Instant) -> Option<AuditLine> {
        self.since.get_or_insert(now);
        let mut key = Counted {
            user: Arc::clone(&line.user),
            network: line.address.map(network_of),
            kind: line.kind(),
            code: line.code.clone(),
        };
        if !self.counts.contains_key(&key) && self.counts.len() >= COUNTED_MAX {
            // As many more lines as there are codes.
            (key.user, key.network) = ("".into(), None);
        }
        let is_apart = key.network.is_some() || !key.user.is_empty();
        let whole_max = match (is_apart, key.user.is_empty()) {
            (false, _) => 0,
            (true, true) => 1,
            (true, false) => WHOLE_PER_USER_MAX,
        };
        let network = key.network;
        let count = self.counts.entry(key).or_default();
        if count.whole < whole_max && self.whole < WHOLE_MAX {
            count.whole += 1;
            self.whole += 1;
            return Some(line);
        }
        let events = line.count.unwrap_or(1);
        match &mut count.rest {
            Some((common, number)) => {
                common.keep_common(&line, network);
                *number += events;
            }
            none => *none = Some((line, events)),
        }
        None
    }

    /// The time at which the counted refusals are written.
    pub(super) fn due(&self) -> Option<Instant> {
        self.since.map(|since| since + COUNTED_FOR)
    }

    /// The lines of the counted refusals. A new second begins.
    pub(super) fn take(&mut self) -> Vec<AuditLine> {
        let counts = std::mem::take(self).counts.into_values();
        let rests = counts.filter_map(|count| count.rest);
        let mut lines: Vec<AuditLine> = rests
            .map(|(line, number)| match number {
                1 => line,
                _ => line.counted(number),
            })
            .collect();
        lines.sort_by_key(|line| line.time_ms);
        lines
    }
}

impl AuditLine {
    /// Removes the fields that differ in the other line.
    fn keep_common(&mut self, other: &AuditLine, network: Option<IpAddr>) {
        if self.action != other.action {
            "request".clone_into(&mut self.action);
        }
        if self.user != other.user {
            self.user = "".into();
        }
        if self.address != other.address {
            self.address = network;
        }
        for (own, other) in [
            (&mut self.flow, &other.flow),
            (&mut self.flow_id, &other.flow_id),
            (&mut self.client_id, &other.client_id),
            (&mut self.subject, &other.subject),
            (&mut self.about, &other.about),
        ] {
            if own != other {
                *own = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(network: u16, name: &str) -> AuditLine {
        let address = IpAddr::from([0x2001, network, 0, 0, 0, 0, 0, 1]);
        let line = AuditLine::anonymous(Some(address), "login");
        line.of(name).refused("api.login_limited")
    }

    fn forbidden(user: &str, path: &str) -> AuditLine {
        let line = AuditLine::new(user.into(), Some(IpAddr::from([10, 0, 0, 1])), path);
        line.refused("api.forbidden")
    }

    #[test]
    fn a_client_without_a_credential_has_two_lines_in_a_second() {
        let (mut refusals, now) = (Refusals::default(), Instant::now());
        assert_eq!(refusals.due(), None);
        let first = refusals.add(login(1, "a"), now);
        assert_eq!(first.and_then(|line| line.subject), Some("a".into()));
        for n in 0..10_000 {
            assert!(refusals.add(login(1, &n.to_string()), now).is_none());
        }
        assert!(refusals.add(login(2, "b"), now).is_some());
        assert_eq!(refusals.due(), Some(now + COUNTED_FOR));
        let lines = refusals.take();
        assert_eq!(lines.len(), 1);
        let line = &lines[0];
        assert_eq!((line.count, &line.subject), (Some(10_000), &None));
        assert_eq!((&*line.user, &*line.action), ("", "login"));
        assert!(refusals.take().is_empty() && refusals.due().is_none());
    }

    #[test]
    fn a_user_without_permissions_has_a_bounded_number_of_lines() {
        let (mut refusals, now) = (Refusals::default(), Instant::now());
        let paths = (0..1_000).map(|n| format!("GET /v1/{n}"));
        let whole = paths.filter_map(|path| refusals.add(forbidden("eve", &path), now));
        assert_eq!(whole.count(), WHOLE_PER_USER_MAX as usize);
        assert!(
            refusals
                .add(forbidden("ann", "GET /v1/flows"), now)
                .is_some()
        );
        let lines = refusals.take();
        assert_eq!(lines.len(), 1);
        assert_eq!((&*lines[0].user, &*lines[0].action), ("eve", "request"));
        assert_eq!(lines[0].count, Some(1_000 - u64::from(WHOLE_PER_USER_MAX)));
    }

    #[test]
    fn many_clients_share_lines_and_none_is_forgotten() {
        let (mut refusals, now) = (Refusals::default(), Instant::now());
        let mut written = 0;
        for _ in 0..3 {
            for network in 0..1_000 {
                written += u64::from(refusals.add(login(network, "a"), now).is_some());
            }
        }
        assert_eq!(written, u64::from(WHOLE_MAX));
        let lines = refusals.take();
        assert_eq!(lines.len(), COUNTED_MAX + 1);
        let counted: u64 = lines.iter().map(|line| line.count.unwrap_or(1)).sum();
        assert_eq!(written + counted, 3_000);
    }
}
