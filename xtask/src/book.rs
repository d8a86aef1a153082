//! The documents as a book: an HTML page with navigation for each Markdown page, in `target/book`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use pulldown_cmark::{CowStr, Event, Tag, html};

use crate::links::{self, Heading};
use crate::listings;
use crate::metadata;
use crate::walks;

/// Parts of the book in reading order: the title, and the source folder or page.
const PARTS: &[(&str, &str)] = &[
    ("Start", "README.md"),
    ("Guides", "docs/guides"),
    ("Results", "docs/results"),
    ("How it is built", "ARCHITECTURE.md"),
    ("Contributing", "CONTRIBUTING.md"),
    ("Reference", "docs/reference"),
    ("Formats", "docs/formats"),
    ("Decisions", "docs/decisions"),
    ("Error codes", "docs/errors/README.md"),
];

const STYLE: &str = "body{display:flex;gap:2rem;max-width:75rem;margin:0 auto;padding:1rem;font:1rem/1.5 system-ui,sans-serif;\
color:#222;background:#fff}nav{flex:0 0 14rem;font-size:.9rem}nav ul{list-style:none;padding-left:.8rem;margin:.2rem 0}\
main{flex:1;min-width:0}pre{background:#f4f4f2;padding:.8rem;overflow-x:auto}code{font-family:ui-monospace,monospace;font-size:.9em}\
table{border-collapse:collapse;display:block;overflow-x:auto}td,th{border:1px solid #ccc;padding:.2rem .5rem;text-align:left;\
vertical-align:top}a{color:#0b57a4}@media(prefers-color-scheme:dark){body{color:#ddd;background:#1b1b1b}pre{background:#262626}\
a{color:#8ab8e8}td,th{border-color:#444}}@media(max-width:50rem){body{display:block}}";

/// Checks links and listings of all pages. Without `--check`, writes the book too.
pub fn run(arguments: &[String]) -> Result<()> {
    let pages = links::pages()?;
    let mut faults = links::broken(&pages);
    faults.extend(links::missing_sources(&pages));
    faults.extend(walks::stale(&pages));
    faults.extend(listings::stale(&pages)?);
    if !faults.is_empty() {
        bail!(
            "links, source files and items that do not exist, or listings that differ from their file:\n{}",
            faults.join("\n")
        );
    }
    println!("docs: {} pages, every link leads somewhere", pages.len());
    if arguments.is_empty() {
        println!("docs: the book is {}", write(&pages)?.display());
    }
    Ok(())
}

/// Writes the book from scratch and returns its first page.
fn write(pages: &BTreeMap<PathBuf, String>) -> Result<PathBuf> {
    let folder = metadata::root().join("target/book");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
    }
    for (path, text) in pages {
        let file = folder.join(html_name(path));
        let parent = file.parent().context("a page's path has no folder")?;
        fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
        fs::write(&file, page(path, text, pages)).with_context(|| file.display().to_string())?;
    }
    Ok(folder.join("index.html"))
}

/// Returns the path of a page in the book. `README.md` becomes `index.html`.
fn html_name(path: &Path) -> PathBuf {
    if path.file_name().is_some_and(|name| name == "README.md") {
        path.with_file_name("index.html")
    } else {
        path.with_extension("html")
    }
}

fn page(path: &Path, text: &str, pages: &BTreeMap<PathBuf, String>) -> String {
    let up = "../".repeat(path.components().count() - 1);
    let mut body = String::new();
    html::push_html(&mut body, rewritten(path, text, pages));
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>{} · Tallystick</title><style>{STYLE}</style></head>\n<body><nav>{}</nav>\n\
         <main>\n{body}</main></body></html>\n",
        escaped(&title(path, text)),
        navigation(&up, path, pages),
    )
}

/// Returns the events of a page, with links that lead to pages of the book and headings that can be linked to.
fn rewritten<'a>(
    path: &'a Path,
    text: &'a str,
    pages: &'a BTreeMap<PathBuf, String>,
) -> impl Iterator<Item = Event<'a>> {
    let mut anchors = links::headings(text)
        .into_iter()
        .map(|Heading { anchor, .. }| anchor);
    links::parser(text).map(move |event| match event {
        Event::Start(Tag::Heading {
            level,
            classes,
            attrs,
            ..
        }) => Event::Start(Tag::Heading {
            level,
            id: anchors.next().map(CowStr::from),
            classes,
            attrs,
        }),
        Event::Start(Tag::Link {
            link_type,
            dest_url,
            title,
            id,
        }) => {
            let dest_url = link(path, &dest_url, pages).map_or(dest_url, CowStr::from);
            Event::Start(Tag::Link {
                link_type,
                dest_url,
                title,
                id,
            })
        }
        Event::Start(Tag::Image {
            link_type,
            dest_url,
            title,
            id,
        }) => {
            let dest_url = link(path, &dest_url, pages).map_or(dest_url, CowStr::from);
            Event::Start(Tag::Image {
                link_type,
                dest_url,
                title,
                id,
            })
        }
        other => other,
    })
}

/// Returns the target of a link in the book. Links to other files lead to the repository, two folders up.
fn link(page: &Path, link: &str, pages: &BTreeMap<PathBuf, String>) -> Option<String> {
    let (mut target, anchor) = links::target(page, link)?;
    let up = "../".repeat(page.components().count() - 1);
    let index = target.join("README.md");
    if pages.contains_key(&index) {
        target = index;
    }
    let shown = if pages.contains_key(&target) {
        format!("{up}{}", html_name(&target).display())
    } else {
        format!("{up}../../{}", target.display())
    };
    Some(anchor.map_or(shown.clone(), |anchor| format!("{shown}#{anchor}")))
}

fn navigation(up: &str, current: &Path, pages: &BTreeMap<PathBuf, String>) -> String {
    let mut text = String::new();
    for (part, place) in PARTS {
        text.push_str(&format!("<b>{part}</b><ul>"));
        for (path, content) in pages.iter().filter(|(path, _)| path.starts_with(place)) {
            let name = escaped(&title(path, content));
            if path == current {
                text.push_str(&format!("<li>{name}</li>"));
            } else {
                let to = html_name(path);
                text.push_str(&format!(
                    "<li><a href=\"{up}{}\">{name}</a></li>",
                    to.display()
                ));
            }
        }
        text.push_str("</ul>\n");
    }
    text
}

/// Returns a page's first heading, or its name.
fn title(path: &Path, text: &str) -> String {
    let first = links::headings(text).into_iter().next();
    first.map_or_else(|| path.display().to_string(), |heading| heading.text)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_navigation_anchors_and_links_within_the_book() {
        let pages: BTreeMap<PathBuf, String> = [
            ("README.md", "# Start here\n"),
            ("docs/guides/one.md", "# One & all\n[start](../../README.md) [two](two.md#x) [file](../../Cargo.toml) [web](https://example.org) ![chart](one.svg)\n"),
            ("docs/guides/two.md", "# Two\n## X\n"),
        ]
        .map(|(path, text)| (PathBuf::from(path), text.to_owned()))
        .into();
        let path = Path::new("docs/guides/one.md");
        let text = page(path, &pages[path], &pages);
        for part in [
            "<title>One &amp; all · Tallystick</title>",
            "<h1 id=\"one--all\">",
            "<a href=\"../../index.html\">start</a>",
            "<a href=\"../../docs/guides/two.html#x\">two</a>",
            "<a href=\"../../../../Cargo.toml\">file</a>",
            "<a href=\"https://example.org\">web</a>",
            "<img src=\"../../../../docs/guides/one.svg\" alt=\"chart\" />",
            "<li>One &amp; all</li>",
            "<li><a href=\"../../docs/guides/two.html\">Two</a></li>",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
