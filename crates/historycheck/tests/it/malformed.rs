//! Histories that can't be checked.

use crate::script::{self, check};

#[test]
fn a_history_that_contradicts_itself_is_an_error() {
    for (script, expected) in [
        (
            "ask 1 A x | ask 1 B y | end_phase | end",
            "two requests with the number 1",
        ),
        (
            "signed 1 | end_phase | end",
            "client 1 has made no request 1",
        ),
        (
            "ask 1 A x | signed 1 | unanswered 1 | end_phase | end",
            "has an answer already",
        ),
        (
            "ask 1 A x | end_phase | end",
            "request 1 of client 1 (line 2) has no outcome",
        ),
        (
            "ask 1 A x | ask 2 A y | end_phase | end",
            "line 3: transaction 4141",
        ),
        (
            "ask 1 A x | ask 2 A x / y | end_phase | end",
            "line 3: transaction 4141",
        ),
        (
            "end_phase | end_phase | end",
            "the end phase has begun already",
        ),
        (
            "majority_back | end_phase | end",
            "the majority was not lost",
        ),
        (
            "majority_lost | majority_lost | end_phase | end",
            "the majority is lost already",
        ),
        ("end", "needs the event 'end_phase'"),
        ("end_phase | end | end", "nothing follows"),
        (
            "ask 1 A x | end_phase",
            "stops after line 3 without the event 'end'",
        ),
    ] {
        let error = check(script).expect_err(script).to_string();
        assert!(error.contains(expected), "{script}: {error}");
    }
}

#[test]
fn a_line_that_is_no_event_is_an_error() {
    let clean = script::text(&script::events(
        "ask 1 A x | signed 1 | end_phase | ask 2 A | signed 2 | end",
    ));
    assert!(
        historycheck::check(clean.as_bytes())
            .expect("a history")
            .is_clean()
    );
    // A complete last line needs no line feed.
    assert!(historycheck::check(clean.trim_end().as_bytes()).is_ok());
    let last = clean.lines().last().expect("a line").len() + 1;
    let cut = &clean[..clean.len() - last - 10];
    let (first, rest) = clean.split_once('\n').expect("two lines");
    for (text, expected) in [
        ("", "stops after line 0"),
        (cut, "line 6 ends in the middle"),
        (rest, "line 1: the event 'begin' is the first one"),
        (
            &format!("{first}\n{clean}"),
            "line 2: the event 'begin' is the first one",
        ),
        (&format!("{first}\n\n{rest}"), "line 2 is no event"),
        (
            &clean.replace("4141", "41_41"),
            "line 2 is no event: expected 64 lower-case hexadecimal digits",
        ),
        (
            &clean.replace("\"consumes\"", "\"consume\""),
            "line 2 is no event: unknown field `consume`",
        ),
        (
            &clean.replace("\"signed\"", "\"sign\""),
            "line 3 is no event: unknown variant `sign`",
        ),
        (
            &clean.replace("\"at_us\":3000", "\"at_us\":1"),
            "line 4 is at 1 us, and the line before it at 2000 us",
        ),
    ] {
        let checked = historycheck::check(text.as_bytes());
        let error = checked.expect_err(expected).to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    }
}
