//! `cargo xtask structure`: circles of files, and the largest types, functions and files. The program is in `xtask/structure`.

use crate::run::{Failure, command, run};
use crate::tools;

/// Prints the structure of the code. Fails if it exceeds a limit in `xtask/structure.txt`.
pub fn check(arguments: &[String]) -> Result<(), Failure> {
    // The parser of TypeScript is among them.
    tools::npm_packages("pkg")?;
    let mut command = command("cargo", &["run", "--quiet", "--package", "xtask-structure", "--profile", "tools", "--"]);
    command.args(arguments);
    run(command)
}
