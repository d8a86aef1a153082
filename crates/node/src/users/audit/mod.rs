//! The audit log: the actions of users, one JSON object for each line, in `audit.log` of the node's folder.
//!
//! Lines go to a thread of their own through a bounded queue. If the queue is full, a line is dropped so that no client has to
//! wait. The number of dropped lines is written as a line of its own. Refusals and starts of flows, which an attacker can cause,
//! displace no line about users and logins: neither in the queue nor in the files.
//!
//! Modules in reading order: `line`, `refusals`, `queue`, `archive`, `header`, `file`, `log`, `note`, `intent`.

mod archive;
mod file;
mod header;
mod intent;
mod line;
mod log;
mod note;
mod queue;
mod refusals;

pub use file::AuditFile;
pub use intent::ChangeIntent;
pub use line::AuditLine;
pub use log::AuditLog;
pub use note::AuditNote;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;

    use super::*;

    const NAME: &str = "audit.log";

    /// Whether a line is not the first one of a file.
    fn is_no_header(line: &serde_json::Value) -> bool {
        line.get("part").is_none()
    }

    #[test]
    fn a_command_adds_whole_lines_beside_a_running_log() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = AuditLog::open(folder.path()).expect("a log");
        let mut file = AuditFile::open(folder.path()).expect("a log");
        for n in 0..200 {
            log.write(AuditLine::new("node".into(), None, &n.to_string()));
            let line = AuditLine::new("os:ann".into(), None, "user.add").of("bob");
            file.write(&line).expect("written");
        }
        drop(log);
        let text = fs::read_to_string(folder.path().join(NAME)).expect("there");
        let lines: Vec<serde_json::Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .filter(is_no_header)
            .collect();
        assert_eq!(lines.len(), 400);
        let of_command = lines.iter().filter(|line| line["user"] == "os:ann");
        assert!(of_command.clone().all(|line| line["subject"] == "bob"));
        assert_eq!(of_command.count(), 200);
    }

    #[test]
    fn lines_are_kept_or_counted_and_files_are_bounded() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = Arc::new(AuditLog::with(folder.path(), 2_000, Box::new(|_| {})).expect("a log"));
        let line = |n: usize| AuditLine::new("ann".into(), None, &format!("{n:06}"));
        for n in 0..40 {
            log.write(line(n));
        }
        AuditNote::new(&log, line(40)).end(Some("node.busy"));
        AuditNote::new(&log, line(41)).end(None);
        drop(AuditNote::new(&log, line(42)));
        drop(log);
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap_or_default();
        let names = [
            "audit.log.4",
            "audit.log.3",
            "audit.log.2",
            "audit.log.1",
            NAME,
        ];
        let all: String = names.iter().map(|name| read(name)).collect();
        let lines: Vec<serde_json::Value> = all
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .filter(is_no_header)
            .collect();
        assert_eq!(lines.len(), 43);
        let ends = [
            ("refused", "node.busy".into()),
            ("accepted", serde_json::Value::Null),
            ("unknown", serde_json::Value::Null),
        ];
        for (line, (outcome, code)) in lines[40..].iter().zip(ends) {
            assert_eq!((&line["outcome"], &line["code"]), (&outcome.into(), &code));
        }
        assert!(names.iter().all(|name| read(name).len() <= 2_000));
        let again = AuditLog::with(folder.path(), 2_000, Box::new(|_| {})).expect("a log");
        for n in 0..200 {
            again.write(line(n));
        }
        drop(again);
        assert!(read(NAME).contains("000199") && !folder.path().join("audit.log.5").exists());
    }

    #[test]
    fn refused_logins_and_starts_do_not_push_out_lines_about_users() {
        let folder = tempfile::tempdir().expect("a folder");
        let bytes_max = 4_000;
        let read = |folder: &Path, name: &str| fs::read_to_string(folder.join(name));
        let log = AuditLog::with(folder.path(), bytes_max, Box::new(|_| {})).expect("a log");
        log.write(AuditLine::new("root".into(), None, "POST /v1/users").of("eve"));
        log.write(AuditLine::new("root".into(), None, "login"));
        for _ in 0..100_000 {
            let address = Some(std::net::IpAddr::from([10, 0, 0, 1]));
            let line = AuditLine::anonymous(address, "login");
            log.write(line.of("os:root").refused("api.login_limited"));
        }
        drop(log);
        // Refusals share lines, so one file has room for them.
        let text = read(folder.path(), NAME).expect("there");
        assert!(text.contains("POST /v1/users") && !folder.path().join("audit.log.1").exists());
        let lines = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"));
        let lines: Vec<serde_json::Value> = lines.collect();
        let refused = || lines.iter().filter(|line| line["outcome"] == "refused");
        let counted = refused().map(|line| line["count"].as_u64().unwrap_or(1));
        assert_eq!(counted.sum::<u64>(), 100_000);
        assert!(refused().all(|line| line.get("user").is_none()), "{text}");
        // Starts fill all files.
        let log = AuditLog::with(folder.path(), bytes_max, Box::new(|_| {})).expect("a log");
        for _ in 0..1_000 {
            log.write(AuditLine::new("ann".into(), None, "flow.start"));
        }
        drop(log);
        let files = (1..=4)
            .map(|n| format!("audit.log.{n}"))
            .chain([NAME.to_owned()]);
        for name in files {
            let text = read(folder.path(), &name).expect("there");
            assert!(
                !text.contains("login") && !text.contains("/v1/users"),
                "{name}"
            );
        }
        let users = read(folder.path(), "audit-users.log").expect("kept");
        assert!(
            users.matches("POST /v1/users").count() == 1 && users.lines().count() == 2,
            "{users}"
        );
        let logins = read(folder.path(), "audit-logins.log").expect("kept");
        assert!(
            logins.contains("\"login\"") && logins.lines().count() == 1,
            "{logins}"
        );
    }
}
