//! The page around everything, and small pieces of it.

use crate::report::chart::{clip, escape};

/// Returns a whole page with style and script. The policy in its head forbids every request.
pub fn frame(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src \
         'unsafe-inline'; img-src data:\"><link rel=\"icon\" href=\"data:,\"><title>{}</title><style>{}</style></head><body>\n{body}\n\
         <script>{}</script></body></html>\n",
        words(title, 200),
        include_str!("style.css"),
        include_str!("script.js")
    )
}

/// Returns a report's text, escaped and clipped to `letters` letters.
pub fn words(text: &str, letters: usize) -> String {
    escape(&clip(text, letters))
}

/// Returns a banner, red or amber. `inner` is HTML.
pub fn banner(bad: bool, inner: &str) -> String {
    let (class, role) = if bad {
        (" bad", " role=\"alert\"")
    } else {
        ("", "")
    };
    format!("<div class=\"banner{class}\"{role}>{inner}</div>")
}

/// A list of names and values.
pub struct Facts {
    html: String,
}

impl Facts {
    /// Creates an empty list.
    pub fn new() -> Self {
        Facts {
            html: "<dl class=\"facts\">".to_owned(),
        }
    }

    /// Adds a fact. An empty value is left out.
    pub fn add(&mut self, name: &str, value: &str) {
        if !value.trim().is_empty() {
            let value = words(value, 200);
            self.html
                .push_str(&format!("<div><dt>{name}</dt><dd>{value}</dd></div>"));
        }
    }

    /// Ends it.
    pub fn end(self) -> String {
        self.html + "</dl>"
    }
}

/// Escapes text like [`words`], and shows parts between backticks as code.
pub fn prose(text: &str, letters: usize) -> String {
    let text = words(text, letters);
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        // One backtick is left over: it is a letter like any other.
        return text;
    }
    let marked = parts.iter().enumerate().map(|(at, part)| match at % 2 {
        0 => (*part).to_owned(),
        _ => format!("<code>{part}</code>"),
    });
    marked.collect()
}
