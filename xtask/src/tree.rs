//! The source files of a crate, without test modules.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::source;

/// Returns every `.rs` file under the folder with its text, except modules under `#[cfg(test)]`.
pub fn sources(folder: &Path) -> Result<BTreeMap<PathBuf, String>> {
    let mut texts = BTreeMap::new();
    read(folder, &mut texts)?;
    let tests: Vec<PathBuf> = texts
        .iter()
        .flat_map(|(path, text)| {
            source::test_modules(text)
                .into_iter()
                .flat_map(|module| module_files(path, &module))
                .collect::<Vec<_>>()
        })
        .collect();
    texts.retain(|path, _| !tests.iter().any(|test| path.starts_with(test)));
    Ok(texts)
}

/// Returns the possible paths of the module `name`, declared in `file`: a file or a folder.
fn module_files(file: &Path, name: &str) -> Vec<PathBuf> {
    let folder = file.parent().expect("a source in a folder");
    let stem = file.file_stem().and_then(|stem| stem.to_str());
    let stem = stem.expect("the name of a source file is UTF-8");
    let base = if matches!(stem, "lib" | "main" | "mod") {
        folder.to_path_buf()
    } else {
        folder.join(stem)
    };
    vec![base.join(format!("{name}.rs")), base.join(name)]
}

fn read(folder: &Path, texts: &mut BTreeMap<PathBuf, String>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            read(&path, texts)?;
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            texts.insert(path, text);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_of_a_file() {
        assert_eq!(
            module_files(Path::new("src/lib.rs"), "tests")[0],
            Path::new("src/tests.rs")
        );
        assert_eq!(
            module_files(Path::new("src/a/mod.rs"), "tests")[0],
            Path::new("src/a/tests.rs")
        );
        assert_eq!(
            module_files(Path::new("src/a.rs"), "tests")[1],
            Path::new("src/a/tests")
        );
    }
}
