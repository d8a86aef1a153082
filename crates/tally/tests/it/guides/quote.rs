//! Tests of the comparison of quotes with outputs: each mask allows its value, and hides nothing else.

use crate::stage::guide::quote::{Ids, compare};

const ONE: &str = "4f0a91c2d3e4f5061728394a5b6c7d8e4f0a91c2d3e4f5061728394a5b6c7d8e";
const TWO: &str = "00a1b2c3d4e5f60718293a4b5c6d7e8f00a1b2c3d4e5f60718293a4b5c6d7e8f";

/// Compares, and returns the differing line of the quote.
fn check(quoted: &str, printed: &str) -> Result<(), usize> {
    let compared = compare(quoted, printed, &mut Ids::default());
    compared.map_err(|difference| difference.line)
}

#[test]
fn the_same_text_agrees() {
    for (quoted, printed) in [
        ("", ""),
        ("a b\nc\n", "a b\nc\n"),
        ("a  b   c", "a b c"),
        ("a\n\nb", "a\n\nb"),
        ("no flow is live\n", "no flow is live"),
    ] {
        assert_eq!(check(quoted, printed), Ok(()), "{quoted:?} {printed:?}");
    }
}

#[test]
fn a_changed_word_and_a_missing_or_further_line_are_found() {
    for (quoted, printed, line) in [
        ("a b\nc d\ne", "a b\nc x\ne", 2),
        ("a b\nc d\ne", "a b\ne", 2),
        ("a\nb\nc", "a\nb", 3),
        ("a\nb", "a\nb\nc", 3),
        ("a\nb", "a\nx\nb", 2),
        ("", "a", 1),
        ("a", "", 1),
        ("a b", "ab", 1),
        ("a b", "a b c", 1),
        ("a b c", "a b", 1),
        ("a\n\nb", "a\nb", 2),
    ] {
        assert_eq!(check(quoted, printed), Err(line), "{quoted:?} {printed:?}");
    }
}

#[test]
fn an_ellipsis_stands_for_any_lines_only() {
    for (quoted, printed, expected) in [
        ("a\n...\nd", "a\nb\nc\nd", Ok(())),
        ("a\n...\nd", "a\nd", Ok(())),
        ("...\nd", "d\nd", Ok(())),
        ("a\n...", "a\nb", Ok(())),
        ("a\n...\nd", "a\nb\nc", Err(3)),
        ("a\n...\nd", "x\nb\nd", Err(1)),
        ("a ... d", "a b c d", Err(1)),
    ] {
        assert_eq!(check(quoted, printed), expected, "{quoted:?} {printed:?}");
    }
}

#[test]
fn masks_hide_their_value_and_no_other_word() {
    // quote, an output of another run, an output that is wrong
    let table: &[(&str, &str, &str)] = &[
        ("height ..", "height 17", "depth 17"),
        ("height ..", "height 17", "height"),
        ("height ..", "height 17", "height 17 18"),
        ("block .., 1 after", "block 7, 1 after", "block 7 1 after"),
        ("block .., 1 after", "block 7, 1 after", "block 7, 2 after"),
        ("[.., 1)", "[.., 1)", "[5, 1)"),
        (
            "api 127.0.0.1:7100",
            "api 127.0.0.1:12345",
            "api 127.0.0.2:7100",
        ),
        ("port 7100", "port 7100", "port 12345"),
        ("took 12 ms", "took 345 ms", "took 345 s"),
        ("12 s ago", "3 s ago", "3 s since"),
        ("size 1,234 bytes", "size 999 bytes", "size 999 lines"),
        ("5 states", "5 states", "6 states"),
        ("1.50 TLY", "1.50 TLY", "1.51 TLY"),
        ("7,500", "7,500", "7,501"),
        (
            "2026-01-02T03:04:05.678Z due",
            "2031-12-30T23:59:59.001Z due",
            "2031-12-30T23:59:59.001Z waiting",
        ),
        (
            "until 1700000000000 ms",
            "until 1800000000000 ms",
            "until soon",
        ),
        (
            r#"{"startup_ms":12,"pid":34}"#,
            r#"{"startup_ms":345,"pid":6}"#,
            r#"{"startup_ms":345,"height":6}"#,
        ),
        (r#""owed": 6000"#, r#""owed": 6000"#, r#""owed": 5000"#),
        ("flow 4f0a91c2..", "flow 0123456789abcdef", "flow none"),
    ];
    for (quoted, printed, wrong) in table {
        assert_eq!(check(quoted, printed), Ok(()), "{quoted} {printed}");
        assert_eq!(check(quoted, wrong), Err(1), "{quoted} {wrong}");
    }
}

#[test]
fn an_id_of_the_quotes_is_one_id_of_the_outputs() {
    let mut ids = Ids::default();
    let shown = format!("made {ONE}\nflow {TWO}");
    assert_eq!(
        compare("made aa00bb11..\nflow cc22dd33..", &shown, &mut ids),
        Ok(())
    );
    for (quoted, printed, agrees) in [
        ("aa00bb11..(0)", format!("{ONE}(0)"), true),
        ("aa00bb11..(0)", format!("{ONE}(1)"), false),
        ("aa00bb11..", TWO.to_owned(), false),
        ("ee44ff55..", ONE.to_owned(), false),
        ("ee44ff55..", "0123456789abcdef".to_owned(), true),
        ("ee44ff55..", "0123456789".to_owned(), false),
    ] {
        let compared = compare(quoted, &printed, &mut ids.clone());
        assert_eq!(compared.is_ok(), agrees, "{quoted} {printed}");
    }
    let filled = ids.fill("tx show aa00bb11.. --then '{\"x\":\"cc22dd33..\"}' ../a..");
    assert_eq!(
        filled,
        Ok(format!("tx show {ONE} --then '{{\"x\":\"{TWO}\"}}' ../a.."))
    );
    assert_eq!(ids.fill("tx show ee44ff55.."), Err("ee44ff55..".to_owned()));
}

#[test]
fn ids_of_a_failed_comparison_are_forgotten() {
    let mut ids = Ids::default();
    let shown = format!("{ONE}\nb");
    assert!(compare("aa00bb11..\na", &shown, &mut ids).is_err());
    assert_eq!(compare("aa00bb11..", TWO, &mut ids), Ok(()));
}
