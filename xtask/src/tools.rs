//! The programs that the commands need. Missing ones are installed.

use crate::run::{Failure, command, command_in, find, output, root, run, say, target};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

static OFFLINE: AtomicBool = AtomicBool::new(false);

/// From now on, installing is an error.
pub fn set_offline() {
    OFFLINE.store(true, Ordering::Relaxed);
}

fn may_install(what: &str) -> Result<(), Failure> {
    if OFFLINE.load(Ordering::Relaxed) {
        return Err(Failure::new(format!("{what} is missing, and --offline forbids to install it")));
    }
    Ok(())
}

/// The wasm target of the Rust toolchain.
pub fn wasm_target() -> Result<(), Failure> {
    let sysroot = output(command("rustc", &["--print", "sysroot"]))?;
    if Path::new(sysroot.trim()).join("lib/rustlib/wasm32-unknown-unknown").is_dir() {
        return Ok(());
    }
    may_install("the wasm target")?;
    say("Adding the wasm target to the Rust toolchain (rustup target add wasm32-unknown-unknown)");
    run(command("rustup", &["target", "add", "wasm32-unknown-unknown"]))
}

/// The npm packages of a folder, unless they are installed as its lock file says.
pub fn npm_packages(folder: &str) -> Result<(), Failure> {
    let path = root().join(folder);
    if find("npm").is_none() {
        return Err(Failure::new("npm is missing: install Node.js 20 or later (https://nodejs.org)"));
    }
    let lock = path.join("package-lock.json");
    // npm leaves this file after a full installation.
    let installed = path.join("node_modules/.package-lock.json");
    let stamp = |file: &Path| fs::metadata(file).and_then(|data| data.modified()).ok();
    let newest = stamp(&lock).max(stamp(&path.join("package.json")));
    if let Some(done) = stamp(&installed)
        && newest.is_none_or(|newest| newest <= done)
    {
        return Ok(());
    }
    may_install(&format!("a package of {folder}"))?;
    say(format_args!("Installing the npm packages of {folder}/"));
    let verb = if lock.is_file() { "ci" } else { "install" };
    run(command_in(&path, "npm", &[verb, "--no-audit", "--no-fund", "--loglevel=error"]))?;
    // `npm ci` of a project without dependencies leaves no such file. A checkout may be newer than it.
    fs::create_dir_all(path.join("node_modules"))?;
    if !installed.is_file() {
        fs::write(&installed, "{}")?;
    }
    let now = fs::File::options().append(true).open(&installed)?;
    now.set_modified(std::time::SystemTime::now())?;
    Ok(())
}

/// A Chromium and its driver.
pub struct Browser {
    pub chromium: PathBuf,
    pub driver: PathBuf,
}

/// Finds Chromium and its driver (CHROME and CHROMEDRIVER name others), or installs them by apt.
pub fn browser() -> Result<Browser, Failure> {
    if let Some(found) = look_for_browser() {
        return Ok(found);
    }
    may_install("a browser (chromium, chromium-driver)")?;
    say("Installing a browser for the tests (apt-get install chromium chromium-driver)");
    let words = ["apt-get", "install", "-y", "--no-install-recommends", "chromium", "chromium-driver"];
    let update = ["apt-get", "update"];
    for words in [&update[..], &words[..]] {
        let is_root = output(command("id", &["-u"]))?.trim() == "0";
        let words = if is_root { words.to_vec() } else { [&["sudo"], words].concat() };
        let mut command = command(words[0], &words[1..]);
        command.env("DEBIAN_FRONTEND", "noninteractive");
        run(command)?;
    }
    look_for_browser().ok_or_else(|| {
        Failure::new("no Chromium with chromedriver was found after installing: name them in CHROME and CHROMEDRIVER")
    })
}

fn look_for_browser() -> Option<Browser> {
    let named = |variable: &str| std::env::var_os(variable).map(PathBuf::from).filter(|file| file.is_file());
    let first = |names: &[&str]| names.iter().find_map(|name| find(name));
    let chromium = named("CHROME")
        .or_else(|| first(&["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]))?;
    let debian = PathBuf::from("/usr/lib/chromium/chromedriver");
    let driver =
        named("CHROMEDRIVER").or_else(|| find("chromedriver")).or(Some(debian).filter(|file| file.is_file()))?;
    Some(Browser { chromium, driver })
}

/// The programs of `xtask-wasm`. They are built at first use.
pub fn wasm_tool(name: &str) -> Result<PathBuf, Failure> {
    let tool = target().join("debug").join(name);
    if !tool.is_file() {
        say("Compiling wasm-bindgen's tools (once, about two minutes)");
    }
    run(command("cargo", &["build", "--quiet", "--package", "xtask-wasm"]))?;
    Ok(tool)
}
