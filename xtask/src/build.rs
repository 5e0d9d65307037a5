//! From Rust and TypeScript to the npm package and the console.

use crate::run::{Failure, command, command_in, output, root, run, say, target};
use crate::tools;
use std::fs;
use std::path::{Path, PathBuf};

/// How much work the compilers put into the wasm file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    Release,
    Dev,
}

/// What rustc's wasm32 target may use; binaryen assumes less unless told.
const WASM_FEATURES: [&str; 6] = [
    "--enable-bulk-memory",
    "--enable-multivalue",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
];

/// Builds pkg/: the wasm engine, its glue, and the TypeScript around it.
pub fn package(profile: Profile) -> Result<(), Failure> {
    tools::wasm_target()?;
    tools::npm_packages("pkg")?;
    wasm(profile)?;
    say("Building the npm package (pkg/dist)");
    run(command_in(&root().join("pkg"), "npm", &["run", "--silent", "build"]))
}

/// Builds pkg/wasm/: the wasm file and its glue.
fn wasm(profile: Profile) -> Result<(), Failure> {
    let (name, folder) = match profile {
        Profile::Release => ("release", "release"),
        Profile::Dev => ("dev", "debug"),
    };
    say(format_args!("Compiling the engine to WebAssembly ({name})"));
    let arguments =
        ["build", "--quiet", "--package", "tabstore", "--lib", "--target", "wasm32-unknown-unknown", "--profile", name];
    run(command("cargo", &arguments))?;
    let compiled = target().join("wasm32-unknown-unknown").join(folder).join("tabstore.wasm");

    // The tools take a while, so they are spared when the compiler had nothing to do.
    let output = root().join("pkg/wasm");
    let seen = target().join("xtask/tabstore.wasm");
    if output.join("tabstore_bg.wasm").is_file() && same(&compiled, &seen)? {
        return Ok(());
    }
    let _ = fs::remove_file(&seen);
    let glue = tools::wasm_tool("tabstore-glue")?;
    say("Making the JavaScript around it (wasm-bindgen)");
    fs::create_dir_all(&output)?;
    run(command(&glue.to_string_lossy(), &[&compiled.to_string_lossy(), &output.to_string_lossy()]))?;
    if profile == Profile::Release {
        optimise(&output.join("tabstore_bg.wasm"), &[])?;
    }
    fs::create_dir_all(target().join("xtask"))?;
    fs::copy(&compiled, &seen)?;
    Ok(())
}

fn optimise(wasm: &Path, more: &[&str]) -> Result<(), Failure> {
    say("Optimising the wasm file (wasm-opt)");
    let small = wasm.with_extension("opt.wasm");
    let tool = root().join("pkg/node_modules/.bin/wasm-opt");
    // The compiler has inlined what it wanted; more of it makes the file larger (by 6 % when zipped) and nothing faster.
    let mut command = command(&tool.to_string_lossy(), &["-O3", "--one-caller-inline-max-function-size=0"]);
    command.args(WASM_FEATURES).args(more).arg(wasm).arg("-o").arg(&small);
    run(command)?;
    fs::rename(small, wasm)?;
    Ok(())
}

fn same(left: &Path, right: &Path) -> Result<bool, Failure> {
    Ok(right.is_file() && fs::read(left)? == fs::read(right)?)
}

/// Builds the package and then www/: the console.
pub fn console(profile: Profile) -> Result<(), Failure> {
    package(profile)?;
    tools::npm_packages("www")?;
    say("Building the console (www/dist)");
    run(command_in(&root().join("www"), "npm", &["run", "--silent", "build"]))
}

/// Makes the tarball that `npm publish` would send, and returns where it lies.
pub fn pack(profile: Profile) -> Result<PathBuf, Failure> {
    package(profile)?;
    let folder = target().join("pack");
    fs::create_dir_all(&folder)?;
    say("Packing the npm tarball");
    let arguments = ["pack", "--silent", "--pack-destination", &folder.to_string_lossy()];
    let name = output(command_in(&root().join("pkg"), "npm", &arguments))?;
    let name = name.lines().last().unwrap_or_default().trim();
    Ok(folder.join(name))
}

/// The wasm file again, with the names of its functions, so that a profile can tell them apart.
fn named_wasm() -> Result<PathBuf, Failure> {
    let compiled = target().join("wasm32-unknown-unknown/release/tabstore.wasm");
    let output = target().join("xtask/named");
    let glue = tools::wasm_tool("tabstore-glue")?;
    say("Making a wasm file with names");
    fs::create_dir_all(&output)?;
    run(command(&glue.to_string_lossy(), &[&compiled.to_string_lossy(), &output.to_string_lossy(), "--names"]))?;
    let wasm = output.join("tabstore_bg.wasm");
    optimise(&wasm, &["-g"])?;
    Ok(wasm)
}

/// Compares with other databases in a browser.
pub fn bench(arguments: &[String]) -> Result<(), Failure> {
    package(Profile::Release)?;
    let browser = tools::browser()?;
    tools::npm_packages("benches/browser")?;
    say("Comparing with other in-browser databases (some minutes)");
    let mut command = command_in(&root().join("benches/browser"), "npm", &["run", "--silent", "bench", "--"]);
    command.args(arguments).env("CHROME", browser.chromium);
    if arguments.iter().any(|argument| argument == "--profile") {
        command.arg("--wasm").arg(named_wasm()?);
    }
    run(command)
}
