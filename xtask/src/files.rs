//! The files of a folder, with all folders in it. `xtask/structure` and `xtask/wasm` have this module too.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// The files below `folder` whose names end with a dot and one of `ends`, sorted. Those of installed npm packages are left out.
///
/// # Errors
/// A folder cannot be read.
pub(crate) fn below(folder: &Path, ends: &[&str]) -> io::Result<Vec<PathBuf>> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.extend(Some(path).filter(|path| !path.ends_with("node_modules")));
            } else if path.extension().is_some_and(|end| ends.iter().any(|one| end == *one)) {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// The path of a file from `folder` on. Its names are separated by `/`, as everywhere in the project.
pub(crate) fn relative(file: &Path, folder: &Path) -> String {
    file.strip_prefix(folder).unwrap_or(file).to_string_lossy().replace('\\', "/")
}
