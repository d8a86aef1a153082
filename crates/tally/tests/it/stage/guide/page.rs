//! The commands of a Markdown page, each block with the output that the page quotes.

/// The language of a block of commands.
const COMMANDS: &str = "sh";
/// The language of a block of output.
const OUTPUT: &str = "text";
const FENCE: &str = "```";
/// The mark of a block that is not run, up to its reason.
const NOT_RUN: &str = "<!-- not run:";

/// The content of a code block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The line of its first line in the page, counted from 1.
    pub line: usize,
    pub text: String,
}

/// A block of commands and the quoted output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub commands: Block,
    /// Without a quote, the commands only have to succeed.
    pub output: Option<Block>,
    /// The reason why the block is not run.
    pub not_run: Option<String>,
}

impl Step {
    /// Returns the commands one by one, without comments. A command continues on the next line after a backslash and within
    /// quotation marks.
    pub fn each(&self) -> Vec<String> {
        let mut commands = Vec::new();
        let mut open = String::new();
        for line in self.commands.text.lines() {
            open.push_str(line);
            match ended(&open) {
                Some(command) => {
                    commands
                        .extend(Some(command.trim().to_owned()).filter(|text| !text.is_empty()));
                    open.clear();
                }
                None => open.push('\n'),
            }
        }
        commands.extend(Some(open.trim().to_owned()).filter(|text| !text.is_empty()));
        commands
    }
}

/// Returns a command without its comment, or `None` if it continues on the next line.
fn ended(text: &str) -> Option<&str> {
    let mut quote = None;
    let mut escaped = false;
    let mut before = ' ';
    for (at, character) in text.char_indices() {
        match (quote, character) {
            _ if escaped => escaped = false,
            (None | Some('"'), '\\') => escaped = true,
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            (None, '#') if before.is_whitespace() => return Some(&text[..at]),
            _ => {}
        }
        before = character;
    }
    (quote.is_none() && !escaped).then_some(text)
}

/// Returns the steps of a page in their order, or the first fault with its line.
pub fn steps(page: &str) -> Result<Vec<Step>, String> {
    let mut steps: Vec<Step> = Vec::new();
    let mut not_run = None;
    // A quote belongs to the block of commands that is the last block before it.
    let mut awaits_output = false;
    let mut lines = page.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let fault = |text: &str| format!("line {}: {text}", at + 1);
        let Some(language) = line.strip_prefix(FENCE) else {
            if not_run.is_some() {
                return Err(fault(
                    "a block of commands has to follow the mark 'not run'",
                ));
            }
            not_run = reason(line).map_err(fault)?;
            continue;
        };
        let mut text = String::new();
        let mut closed = false;
        for (_, line) in lines.by_ref() {
            closed = line == FENCE;
            if closed {
                break;
            }
            text.push_str(line);
            text.push('\n');
        }
        if !closed {
            return Err(fault("the block has no end"));
        }
        let block = Block { line: at + 2, text };
        let not_run = not_run.take();
        if not_run.is_some() && language != COMMANDS {
            return Err(fault("only a block marked 'sh' can be marked 'not run'"));
        }
        match (language, steps.last_mut()) {
            (COMMANDS, _) => steps.push(Step {
                commands: block,
                output: None,
                not_run,
            }),
            (OUTPUT, Some(step)) if awaits_output && step.not_run.is_none() => {
                step.output = Some(block);
            }
            (OUTPUT, _) => {
                return Err(fault(
                    "a block marked 'text' quotes the output of no command that is run",
                ));
            }
            _ => {}
        }
        awaits_output = language == COMMANDS;
    }
    Ok(steps)
}

/// Returns the reason that a line gives for not running the next block, if the line is such a mark.
fn reason(line: &str) -> Result<Option<String>, &'static str> {
    if !line.starts_with(NOT_RUN.trim_end_matches(':')) {
        return Ok(None);
    }
    let reason = line
        .strip_prefix(NOT_RUN)
        .and_then(|rest| rest.strip_suffix("-->"));
    match reason.map(str::trim) {
        Some(reason) if !reason.is_empty() => Ok(Some(reason.to_owned())),
        _ => Err("write '<!-- not run: REASON -->'"),
    }
}
