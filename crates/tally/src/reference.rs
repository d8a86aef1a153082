//! `docs/reference/commands.md`: every command with its arguments, generated from the command line's definition.

use std::fmt::Write;

use clap::{Arg, ArgAction, Command, CommandFactory};

use crate::cli::Cli;

/// Long options that select the node. They are explained once.
const TARGET: [&str; 5] = ["node", "url", "root", "token-file", "server-name"];

/// Returns the page. `generated` comes below its title.
pub fn commands_page(generated: &str) -> String {
    let mut root = Cli::command().term_width(0);
    root.build();
    let mut page = format!(
        "# All commands\n{generated}\n[The command line](cli.md) is the map: how nodes are reached, exit codes, a node's life.\n\
         \"A node\" in the list of a command's options stands for {}, as every command that speaks to one has them. `--json` prints one JSON value for programs.\n",
        TARGET.map(|name| format!("`--{name}`")).join(", "),
    );
    for group in commands(&root) {
        let _ = write!(page, "\n## {}\n", path(group));
        let own: Vec<&Command> = leaves(group);
        if own
            .first()
            .is_none_or(|leaf| leaf.get_name() != group.get_name())
        {
            let _ = writeln!(page, "{}.", about(group));
        }
        for leaf in own {
            entry(&mut page, leaf, group);
        }
    }
    page
}

fn commands(of: &Command) -> Vec<&Command> {
    let shown = of
        .get_subcommands()
        .filter(|command| !command.is_hide_set());
    shown
        .filter(|command| command.get_name() != "help")
        .collect()
}

/// Returns the commands without subcommands, in order.
fn leaves(of: &Command) -> Vec<&Command> {
    let below = commands(of);
    if below.is_empty() {
        return vec![of];
    }
    below.into_iter().flat_map(leaves).collect()
}

/// Returns the command as it is typed, such as `tally flow list`.
fn path(command: &Command) -> String {
    // The program itself has no longer name.
    let path = command.get_bin_name().unwrap_or(command.get_name());
    path.to_owned()
}

fn about(command: &Command) -> String {
    let text = command.get_long_about().or(command.get_about());
    one_line(&text.map(ToString::to_string).unwrap_or_default())
}

/// Returns text that fits in a cell of a table.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ").replace('|', "\\|").replace('<', "&lt;");
    line.trim_end_matches('.').to_owned()
}

fn entry(page: &mut String, leaf: &Command, group: &Command) {
    let positional = leaf
        .get_positionals()
        .map(|arg| match arg.is_required_set() {
            true => format!(" {}", value(arg)),
            false => format!(" [{}]", value(arg)),
        });
    let typed: String = path(leaf) + &positional.collect::<String>();
    if leaf.get_name() != group.get_name() || !std::ptr::eq(leaf, group) {
        let _ = write!(page, "\n### {}\n", path(leaf));
    }
    let _ = writeln!(page, "`{typed}`: {}.", about(leaf));
    let shown: Vec<&Arg> = leaf.get_arguments().filter(|arg| !is_usual(arg)).collect();
    let speaks = leaf.get_arguments().any(is_target);
    let json = leaf
        .get_arguments()
        .any(|arg| arg.get_long() == Some("json"));
    if !shown.is_empty() {
        page.push_str("\n| argument | meaning | default |\n|---|---|---|\n");
        for arg in shown {
            // A bar would end the cell, even within backquotes.
            let name = name(arg).replace('|', "\\|");
            let _ = writeln!(page, "| `{name}` | {} | {} |", meaning(arg), default(arg));
        }
    }
    let usual = match (speaks, json) {
        (true, true) => "\nA node; `--json`.\n",
        (true, false) => "\nA node.\n",
        (false, true) => "\n`--json`.\n",
        (false, false) => "",
    };
    page.push_str(usual);
}

fn is_target(arg: &Arg) -> bool {
    // A command may have a `--node` with another meaning. The one with the environment variable is the target's.
    arg.get_env().is_some_and(|name| name == "TALLY_NODE")
}

fn is_usual(arg: &Arg) -> bool {
    let long = arg.get_long().unwrap_or_default();
    arg.is_hide_set()
        || matches!(long, "help" | "json")
        // The program's own version, as opposed to an option that takes one.
        || matches!(arg.get_action(), ArgAction::Version)
        || is_target(arg)
        || (TARGET.contains(&long) && long != "node")
}

fn value(arg: &Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default();
    let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    let many = match arg.get_action() {
        ArgAction::Append => "..",
        _ if arg
            .get_num_args()
            .is_some_and(|range| range.max_values() > 1) =>
        {
            ".."
        }
        _ => "",
    };
    format!("{}{many}", names.join(" "))
}

fn name(arg: &Arg) -> String {
    let Some(long) = arg.get_long() else {
        return value(arg);
    };
    let short = arg
        .get_short()
        .map(|short| format!("-{short}, "))
        .unwrap_or_default();
    match arg.get_action().takes_values() {
        true => format!("{short}--{long} {}", value(arg)),
        false => format!("{short}--{long}"),
    }
}

fn meaning(arg: &Arg) -> String {
    let help = arg.get_long_help().or(arg.get_help());
    let mut text = one_line(&help.map(ToString::to_string).unwrap_or_default());
    let possible = arg.get_possible_values();
    let possible: Vec<String> = possible
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if arg.get_action().takes_values() && !possible.is_empty() {
        let _ = write!(text, "; one of {}", possible.join(", "));
    }
    if arg.is_required_set() && arg.get_long().is_some() {
        text.push_str("; required");
    }
    text
}

fn default(arg: &Arg) -> String {
    let values = arg.get_default_values().iter();
    let values: Vec<String> = values
        .map(|value| format!("`{}`", value.to_string_lossy()))
        .collect();
    match arg.get_action().takes_values() {
        true => values.join(", "),
        false => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_on_the_page_with_its_own_arguments() {
        let page = commands_page("");
        let mut root = Cli::command();
        root.build();
        let all = leaves(&root);
        assert!(all.len() > 40, "{}", all.len());
        for leaf in all {
            assert!(
                page.contains(&format!("\n`{}", path(leaf))),
                "{}",
                path(leaf)
            );
        }
        for text in [
            "## tally flow\n",
            "### tally flow kill\n",
            "| `--older-than SECONDS` |",
            "`tally tx show ID`: ",
            "\nA node; `--json`.\n",
            "| `--version N` | Its version; the newest by default |",
        ] {
            assert!(page.contains(text), "{text} {page}");
        }
        assert!(!page.contains("| `--token-file"), "{page}");
    }
}
