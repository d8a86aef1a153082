//! The pages of `docs/results`: generated from the saved run files and the catalogue in that folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use perf::report::published_pages;

use crate::metadata;

/// The folder below `docs`.
pub const FOLDER: &str = "results";
/// Endings of generated files. The catalogue and the folder of the run files have others.
const ENDINGS: [&str; 2] = ["md", "svg"];
/// The page that shows the picture of the main figures.
const FIRST_PAGE: &str = "README.md";

/// Returns the pages and charts by their path below `docs`.
pub fn pages() -> Result<BTreeMap<PathBuf, String>> {
    let folder = metadata::root().join("docs").join(FOLDER);
    let made = published_pages(&folder).map_err(|error| anyhow!("{}: {error}", error.code()))?;
    let first_page = metadata::root().join(FIRST_PAGE);
    let text = fs::read_to_string(&first_page).with_context(|| FIRST_PAGE.to_owned())?;
    check_picture(made.picture.as_deref(), &text)?;
    let files = made.files.into_iter();
    Ok(files
        .map(|(name, text)| (Path::new(FOLDER).join(name), text))
        .collect())
}

/// Fails if there is a picture that the first page does not show.
fn check_picture(picture: Option<&str>, first_page: &str) -> Result<()> {
    match picture.map(|name| format!("](docs/{FOLDER}/{name})")) {
        Some(target) if !first_page.contains(&target) => bail!(
            "{FIRST_PAGE} does not show the picture of the results; add ![Main figures, ours and published{target}"
        ),
        _ => Ok(()),
    }
}

/// Returns whether a file of the folder is generated, by its name.
pub fn is_generated(name: &Path) -> bool {
    let ending = name.extension().unwrap_or_default();
    ENDINGS.iter().any(|one| ending == *one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_page_shows_the_picture_if_there_is_one() {
        for (picture, text, good) in [
            (None, "no picture", true),
            (Some("rates.svg"), "![x](docs/results/rates.svg)", true),
            (Some("rates.svg"), "no picture", false),
        ] {
            assert_eq!(check_picture(picture, text).is_ok(), good, "{picture:?}");
        }
    }

    #[test]
    fn only_pages_and_charts_are_generated() {
        for (name, generated) in [
            ("results/rates.md", true),
            ("results/rates.svg", true),
            ("results/pages.toml", false),
            ("results/runs", false),
        ] {
            assert_eq!(is_generated(Path::new(name)), generated, "{name}");
        }
    }
}
