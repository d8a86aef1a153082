//! Tests of the reader of pages.

use crate::stage::guide::page::{Step, steps};

/// A page with one block of commands.
fn commands(text: &str) -> Vec<String> {
    let found = steps(&format!("```sh\n{text}\n```\n")).expect("well formed");
    assert_eq!(found.len(), 1);
    found[0].each()
}

#[test]
fn a_page_is_divided_into_commands_and_quotes() {
    let page = "words\n```sh\none\n```\nmore\n```text\nsaid\n```\n```toml\nx = 1\n```\n\
        <!-- not run: too slow -->\n```sh\ntwo\n```\n";
    let shown = |step: &Step| {
        let output = step.output.as_ref();
        let output = output.map(|block| (block.line, block.text.clone()));
        (
            step.commands.line,
            step.commands.text.clone(),
            output,
            step.not_run.clone(),
        )
    };
    let found: Vec<_> = steps(page)
        .expect("well formed")
        .iter()
        .map(shown)
        .collect();
    assert_eq!(
        found,
        [
            (3, "one\n".to_owned(), Some((7, "said\n".to_owned())), None),
            (14, "two\n".to_owned(), None, Some("too slow".to_owned())),
        ]
    );
}

#[test]
fn a_command_ends_with_its_line_unless_it_is_open() {
    for (text, expected) in [
        ("a b\n\nc", &["a b", "c"] as &[&str]),
        ("a \\\n  b\nc", &["a \\\n  b", "c"]),
        ("a 'x\n y' b\nc", &["a 'x\n y' b", "c"]),
        ("a \"x\\\"\n y\"\nc", &["a \"x\\\"\n y\"", "c"]),
        ("# words\na    # it's more\nb", &["a", "b"]),
        ("a '# no comment' b#c", &["a '# no comment' b#c"]),
        ("a $((1 + 2)) &", &["a $((1 + 2)) &"]),
    ] {
        assert_eq!(commands(text), expected, "{text}");
    }
}

#[test]
fn faults_of_a_page_are_named_with_their_line() {
    for (page, expected) in [
        (
            "<!-- not run -->\n```sh\na\n```\n",
            "line 1: write '<!-- not run: REASON -->'",
        ),
        (
            "<!-- not run: -->\n```sh\na\n```\n",
            "line 1: write '<!-- not run: REASON -->'",
        ),
        (
            "<!-- not run: slow -->\n\n```sh\na\n```\n",
            "line 2: a block of commands",
        ),
        (
            "<!-- not run: slow -->\n```toml\na\n```\n",
            "line 2: only a block marked 'sh'",
        ),
        ("x\n```text\na\n```\n", "line 2: a block marked 'text'"),
        (
            "```sh\na\n```\n```text\nb\n```\n```text\nc\n```\n",
            "line 7: a block marked 'text'",
        ),
        (
            "<!-- not run: slow -->\n```sh\na\n```\n```text\nb\n```\n",
            "line 5: a block marked 'text'",
        ),
        ("```sh\na\n", "line 1: the block has no end"),
    ] {
        let fault = steps(page).expect_err(page);
        assert!(fault.starts_with(expected), "{page}: {fault}");
    }
}
