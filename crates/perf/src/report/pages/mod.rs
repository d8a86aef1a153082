//! The published results: pages of Markdown with charts, made from saved run files and from a hand-written catalogue. Nothing
//! on them comes from another place, so the same files always give the same pages.

mod catalogue;
mod chart_file;
mod command;
mod error;
mod index;
mod load;
mod markdown;
mod measured;
mod page;
mod picture;
mod section;
mod style;
mod wrap;

use std::collections::BTreeMap;
use std::path::Path;

pub use error::{ERRORS, PagesError};
pub use load::{PAGES_NAME, RUNS_FOLDER};

/// The pages, and the charts next to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PublishedPages {
    /// Texts by the file's name.
    pub files: BTreeMap<String, String>,
    /// The file with the picture of the main figures, if they were measured.
    pub picture: Option<String>,
}

/// Makes the pages from the catalogue and the saved run files in a folder.
///
/// # Errors
/// All codes of [`PagesError`].
pub fn published_pages(folder: &Path) -> Result<PublishedPages, PagesError> {
    let topics = load::topics(folder)?;
    let mut pages = PublishedPages::default();
    for topic in &topics {
        let (text, charts) = page::page(topic);
        pages.files.insert(format!("{}.md", topic.page.name), text);
        pages.files.extend(charts);
        if topic.page.picture
            && let Some(svg) = picture::of_topic(topic)
        {
            let name = picture::topic_file(&topic.page);
            pages.picture.get_or_insert(name.clone());
            pages.files.insert(name, svg);
        }
    }
    let index = index::page(&topics, pages.picture.as_deref());
    pages.files.insert(index::NAME.to_owned(), index);
    Ok(pages)
}

#[cfg(test)]
mod tests;
