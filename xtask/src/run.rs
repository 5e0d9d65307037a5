//! Runs other programs, from the project's root.

use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// The reason why a command failed.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    pub fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

/// The project's top folder.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Cargo's target folder.
pub fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root().join(folder),
        None => root().join("target"),
    }
}

/// Announces a step, because some take minutes.
pub fn say(what: impl fmt::Display) {
    println!("\x1b[1m==> {what}\x1b[0m");
}

/// A command in the project's root.
pub fn command(program: &str, arguments: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = if program == "cargo" { Command::new(cargo) } else { Command::new(program) };
    command.args(arguments).current_dir(root());
    command
}

/// A command in a folder of the project.
pub fn command_in(folder: &Path, program: &str, arguments: &[&str]) -> Command {
    let mut command = command(program, arguments);
    command.current_dir(folder);
    command
}

fn name(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Runs `command`, which has to succeed. Its output goes to ours.
pub fn run(mut command: Command) -> Result<(), Failure> {
    let name = name(&command);
    let status = command.status().map_err(|error| Failure::new(format!("cannot run `{name}`: {error}")))?;
    if status.success() { Ok(()) } else { Err(Failure::new(format!("`{name}` failed ({status})"))) }
}

/// Runs `command`, which has to succeed, and returns its output.
pub fn output(mut command: Command) -> Result<String, Failure> {
    let name = name(&command);
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| Failure::new(format!("cannot run `{name}`: {error}")))?;
    if !output.status.success() {
        return Err(Failure::new(format!("`{name}` failed ({})", output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs `command` and shows each line of its output to `watch`, which says whether it goes to ours. Returns whether the command
/// succeeded.
pub fn watched(mut command: Command, mut watch: impl FnMut(&str) -> bool) -> Result<bool, Failure> {
    let name = name(&command);
    let started = Instant::now();
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| Failure::new(format!("cannot run `{name}`: {error}")))?;
    if let Some(stdout) = child.stdout.take() {
        let mut lines = BufReader::new(stdout);
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line)? > 0 {
            let text = String::from_utf8_lossy(&line);
            if watch(text.trim_end()) {
                print!("{text}");
            }
            line.clear();
        }
    }
    let status = child.wait()?;
    println!(
        "    ({name}: {:.0} s{})",
        started.elapsed().as_secs_f32(),
        if status.success() { "" } else { ", failed" }
    );
    Ok(status.success())
}

/// The path of `program` on the search path.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}
