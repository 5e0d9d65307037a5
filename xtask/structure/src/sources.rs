//! The sources, as they lie in the folder or as they were at a commit.

use crate::files;
use crate::tree::Sources;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

/// The folders with sources, and how the names of their files end, behind a dot.
const FOLDERS: [(&str, &[&str]); 3] = [("src", &["rs"]), ("pkg/src", &["ts", "tsx"]), ("www/src", &["ts", "tsx"])];

/// The build writes these, and git ignores them.
const GENERATED: &str = "pkg/src/codec/contract";

fn is_source(path: &str) -> bool {
    !path.starts_with(GENERATED)
        && FOLDERS.iter().any(|(folder, ends)| {
            path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
                && path.rsplit_once('.').is_some_and(|(_, end)| ends.contains(&end))
        })
}

/// Splits sources into those in Rust and the others.
pub fn by_language(all: Sources) -> (Sources, Sources) {
    all.into_iter().partition(|(path, _)| path.ends_with(".rs"))
}

/// The sources in the folder `root`.
///
/// # Errors
/// A file cannot be read.
pub fn in_folder(root: &Path) -> Result<Sources, String> {
    let mut found = Sources::new();
    for (folder, ends) in FOLDERS {
        for file in files::below(&root.join(folder), ends).map_err(|error| format!("{folder}: {error}"))? {
            let path = files::relative(&file, root);
            if is_source(&path) {
                let text = fs::read_to_string(&file).map_err(|error| format!("{path}: {error}"))?;
                found.insert(path, text);
            }
        }
    }
    Ok(found)
}

/// The sources at the commit that last changed `file`. None if git does not know one.
pub fn when_written(root: &Path, file: &str) -> Option<Sources> {
    let commit = git(root, &["log", "-1", "--format=%H", "--", file], "")?;
    let commit = String::from_utf8(commit).ok()?.trim().to_owned();
    if commit.is_empty() {
        return None;
    }
    let list = git(root, &["ls-tree", "-r", "--name-only", &commit], "")?;
    let paths: Vec<String> =
        String::from_utf8(list).ok()?.lines().filter(|path| is_source(path)).map(str::to_owned).collect();
    let request: String = paths.iter().map(|path| format!("{commit}:{path}\n")).collect();
    texts(&paths, &git(root, &["cat-file", "--batch"], &request)?)
}

/// The texts in an answer of `git cat-file --batch`: for each file a line that ends with its length, its bytes, a line's end.
fn texts(paths: &[String], mut answer: &[u8]) -> Option<Sources> {
    let mut found = Sources::new();
    for path in paths {
        let end = answer.iter().position(|byte| *byte == b'\n')?;
        let length: usize = str::from_utf8(&answer[..end]).ok()?.rsplit(' ').next()?.parse().ok()?;
        let text = answer.get(end + 1..end + 1 + length)?;
        found.insert(path.clone(), String::from_utf8_lossy(text).into_owned());
        answer = answer.get(end + 2 + length..)?;
    }
    Some(found)
}

fn git(root: &Path, arguments: &[&str], input: &str) -> Option<Vec<u8>> {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(root).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let mut stdin = child.stdin.take()?;
    // It answers while it reads.
    let output = thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input.as_bytes()));
        child.wait_with_output().ok()
    })?;
    output.status.success().then_some(output.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_git_is_split_into_files() {
        let paths = ["src/a.rs".to_owned(), "src/b.rs".to_owned()];
        let found = texts(&paths, b"0f blob 4\na\nb\n\n1f blob 0\n\n").unwrap();
        assert_eq!((found["src/a.rs"].as_str(), found["src/b.rs"].as_str()), ("a\nb\n", ""));
        assert!(texts(&paths, b"0f missing\n").is_none());
    }

    #[test]
    fn sources_are_those_of_the_crate_and_of_both_packages() {
        assert!(["src/lib.rs", "pkg/src/a/b.ts", "www/src/app.tsx"].into_iter().all(is_source));
        assert!(
            !["srcs/lib.rs", "pkg/test/a.ts", "pkg/src/a.css", "tests/lives.rs", "pkg/src/codec/contract.ts"]
                .into_iter()
                .any(is_source)
        );
    }
}
