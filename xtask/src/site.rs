//! `cargo xtask site`: the documentation as a folder of static files.

use crate::run::{Failure, command_in, root, run, say, target};
use crate::{contract, tools};

/// Builds site/, with the reference that TypeDoc makes from the package's types. Some of the package's sources are rendered.
pub fn build() -> Result<(), Failure> {
    contract::write()?;
    tools::npm_packages("pkg")?;
    tools::npm_packages("site")?;
    say("Building the documentation (half a minute)");
    let folder = target().join("site");
    let output = folder.to_string_lossy();
    run(command_in(&root().join("site"), "npm", &["run", "--silent", "build", "--", "--outDir", &output]))?;
    println!("{output}");
    Ok(())
}
