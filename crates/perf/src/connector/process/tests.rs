//! Tests with connectors that are shell scripts.

use super::*;

/// Starts a connector that is a shell script.
async fn script(text: &str) -> Result<Connector, Fault> {
    Connector::start(&["sh".to_owned(), "-c".to_owned(), text.to_owned()]).await
}

const HELLO: &str = r#"echo '{"protocol":1,"name":"a script"}'"#;

#[tokio::test]
async fn requests_are_answered_in_any_order() {
    // Answers the second request first.
    let text = format!(
        r#"{HELLO}; read a; read b; echo '{{"id":2,"ok":{{}}}}'; echo '{{"id":1,"error":{{"code":"x.full","message":"no room"}}}}'; read c; echo '{{"id":3,"ok":{{"recorded":1}}}}'; cat >/dev/null"#
    );
    let connector = script(&text).await.expect("it starts");
    assert_eq!(connector.hello().name, "a script");
    let (one, two) = tokio::join!(connector.run_unit(1), connector.run_unit(2));
    assert_eq!(one.expect_err("it failed").code, "x.full");
    assert_eq!(two, Ok(()));
    let audit = connector.audit().await;
    assert!(audit.clean, "{}", audit.words);
    assert_eq!(audit.transactions, 1);
    connector.end().await;
}

#[tokio::test]
async fn a_connector_that_breaks_the_rules_fails_what_was_asked() {
    for (script_text, code, words) in [
        (
            format!("{HELLO}; read a; echo nonsense; cat"),
            BAD_LINE,
            "expected",
        ),
        (
            format!("{HELLO}; read a; echo '{{\"id\":77,\"ok\":{{}}}}'; cat"),
            BAD_LINE,
            "no request has",
        ),
        (
            format!("{HELLO}; read a; echo '{{\"id\":1}}'; cat"),
            BAD_LINE,
            "`ok` or `error`",
        ),
        (
            format!(
                "{HELLO}; read a; echo '{{\"id\":1,\"error\":{{\"code\":\"A B\",\"message\":\"\"}}}}'; cat"
            ),
            BAD_LINE,
            "not plain",
        ),
        (
            format!("{HELLO}; read a; head -c 2000000 /dev/zero | tr '\\0' x; cat"),
            BAD_LINE,
            "more than",
        ),
        (
            format!("{HELLO}; read a; echo broken >&2; exit 3"),
            ENDED,
            "broken",
        ),
        (format!("{HELLO}; read a; printf 12"), BAD_LINE, "cut off"),
        (
            format!("{HELLO}; read a; printf '\\377\\n'; cat"),
            BAD_LINE,
            "not UTF-8",
        ),
        (
            format!("{HELLO}; read a; yes '{{\"id\":77,\"ok\":{{}}}}'"),
            BAD_LINE,
            "no request has",
        ),
        (
            format!("{HELLO}; read a; tr '\\0' x </dev/zero"),
            BAD_LINE,
            "more than",
        ),
    ] {
        let connector = script(&script_text).await.expect("it starts");
        let fault = connector.run_unit(1).await.expect_err(&script_text);
        assert_eq!(fault.code, code, "{script_text}: {fault}");
        assert!(fault.message.contains(words), "{script_text}: {fault}");
        // So does everything after it.
        assert_eq!(
            connector.run_unit(2).await.expect_err("it ended").code,
            code
        );
        assert!(!connector.audit().await.clean);
    }
}

#[tokio::test]
async fn an_end_that_is_cut_short_kills_the_group() {
    // It ignores the end of its input, and so does its child.
    let text = r#"sleep 600 & child=$!; echo "{\"protocol\":1,\"name\":\"a script\",\"processes\":[{\"name\":\"db\",\"pid\":$child}]}"; wait"#;
    let connector = script(text).await.expect("it starts");
    let child = connector.hello().processes[0].pid;
    let stat = format!("/proc/{child}/stat");
    let is_running = || {
        let text = std::fs::read_to_string(&stat).unwrap_or_default();
        // The state follows the name, which is in parentheses. A zombie has ended.
        !text.is_empty() && !text.contains(") Z")
    };
    assert!(is_running());
    let cut_short = timeout(Duration::from_millis(50), connector.end()).await;
    assert!(cut_short.is_err(), "it does not end by itself");
    for _ in 0..200 {
        if !is_running() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("process {child} still runs");
}

#[tokio::test]
async fn a_program_that_is_no_connector_is_refused() {
    for (command, words) in [
        (&["/no/such/program"][..], "/no/such/program"),
        (&[], "no program"),
        (&["sh", "-c", "echo why >&2; exit 1"], "why"),
        (&["echo", "hello"], "first line"),
        // They write without an end, and end with their pipes.
        (&["yes"], "first line"),
        (&["cat", "/dev/zero"], "more than"),
        (&["echo", r#"{"protocol":2,"name":"later"}"#], "version 2"),
        (
            &[
                "echo",
                r#"{"protocol":1,"name":"x","processes":[{"name":"agent-db","pid":1}]}"#,
            ],
            "agent-db",
        ),
    ] {
        let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        let fault = Connector::start(&command).await.expect_err("no connector");
        assert_eq!(fault.code, NOT_STARTED);
        assert!(fault.message.contains(words), "{command:?}: {fault}");
    }
}

#[tokio::test]
async fn answers_come_once() {
    let text = format!(r#"{HELLO}; read a; yes '{{"id":1,"ok":{{}}}}'"#);
    let connector = script(&text).await.expect("it starts");
    assert_eq!(connector.run_unit(1).await, Ok(()));
    let fault = connector.run_unit(2).await.expect_err("it ended");
    assert_eq!(fault.code, BAD_LINE, "{fault}");
}

#[tokio::test]
async fn a_connector_that_stops_answering_has_a_code_of_its_own() {
    let text = format!("{HELLO}; cat >/dev/null");
    let connector = script(&text).await.expect("it starts");
    let asked = connector.ask_within(Task::Metrics, Duration::from_millis(20));
    let fault = asked.await.expect_err("no answer");
    assert_eq!(fault.code, SILENT, "{fault}");
    assert_eq!(connector.ended(), None, "it may answer the next request");
    connector.end().await;
}
