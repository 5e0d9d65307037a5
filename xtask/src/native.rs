//! Measurements of the engine outside a browser: benches/native, a workspace of its own.

use crate::run::{Failure, command, command_in, root, run, say, target};
use std::process::Command;

const FOLDER: &str = "benches/native";

fn cargo(arguments: &[&str]) -> Command {
    let mut command = command_in(&root().join(FOLDER), "cargo", arguments);
    command.env("CARGO_TARGET_DIR", target().join("native"));
    command
}

/// Measures time, memory and stored bytes as the data grows.
pub fn growth(rest: &[String]) -> Result<(), Failure> {
    say("Building the engine for this machine");
    run(cargo(&["build", "--quiet", "--release", "--bin", "growth"]))?;
    let program = target().join("native/release/growth");
    let arguments: Vec<&str> = rest.iter().map(String::as_str).collect();
    run(command(&program.to_string_lossy(), &arguments))
}

/// Measures the engine beside fjall.
pub fn bench(rest: &[String]) -> Result<(), Failure> {
    let arguments: Vec<&str> = rest.iter().map(String::as_str).collect();
    run(cargo(&[&["bench", "--quiet", "--bench", "engine", "--"], &arguments[..]].concat()))
}

/// Lints the workspace, since the tests do not build it.
pub fn lint() -> Command {
    cargo(&["clippy", "--quiet", "--all-targets", "--", "-D", "warnings"])
}
