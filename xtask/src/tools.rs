//! The programs that the commands need. Missing ones are installed.

use crate::run::{Failure, command, command_in, find, output, root, run, say, target};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
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

/// The version of the Python SDK of Table Store that the tests of the server use.
const PYTHON_SDK: &str = "6.4.8";

/// The folder with the Python SDK of Table Store; installs it by pip. `None` where that fails, as without a network: the tests that
/// need it are skipped, and say so.
pub fn python_sdk() -> Option<PathBuf> {
    let folder = target().join("python-sdk");
    // pip writes it last.
    if folder.join(format!("tablestore-{PYTHON_SDK}.dist-info/RECORD")).is_file() {
        return Some(folder);
    }
    match install_python_sdk(&folder) {
        Ok(()) => Some(folder),
        Err(failure) => {
            println!("    (the tests with the Python SDK of Table Store are skipped: {failure})");
            None
        }
    }
}

fn install_python_sdk(folder: &Path) -> Result<(), Failure> {
    may_install("the Python SDK of Table Store")?;
    if output(command("python3", &["-m", "pip", "--version"])).is_err() {
        install(&["python3", "python3-pip"])?;
    }
    say(format_args!("Installing the Python SDK of Table Store (pip, tablestore {PYTHON_SDK})"));
    // One that was interrupted is no start.
    if folder.is_dir() {
        fs::remove_dir_all(folder)?;
    }
    let package = format!("tablestore=={PYTHON_SDK}");
    let words =
        ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--root-user-action=ignore"];
    let mut pip = command("python3", &words);
    pip.arg("--target").arg(folder).arg(package);
    run(pip)
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
    install(&["chromium", "chromium-driver"])?;
    look_for_browser().ok_or_else(|| {
        Failure::new("no Chromium with chromedriver was found after installing: name them in CHROME and CHROMEDRIVER")
    })
}

/// The part of Chromium that shows pages, without the windows around them (CHROME_SHELL names another): tests in it need a
/// fifth less of the processors. Installs it by apt; where there is none, Chromium itself does. `None` if CHROME names a browser:
/// then that one is to be tested.
pub fn headless_shell() -> Option<PathBuf> {
    if named("CHROME_SHELL").is_none() && named("CHROME").is_some() {
        return None;
    }
    let look = || named("CHROME_SHELL").or_else(|| find("chromium-headless-shell"));
    look().or_else(|| {
        if let Err(failure) = install(&["chromium-headless-shell"]) {
            println!("    (there is no chromium-headless-shell, so the tests run in Chromium itself: {failure})");
        }
        look()
    })
}

/// Installs packages by apt.
fn install(packages: &[&str]) -> Result<(), Failure> {
    let names = packages.join(" ");
    may_install(&names)?;
    say(format_args!("Installing what the tests need (apt-get install {names})"));
    let words = [&["apt-get", "install", "-y", "--no-install-recommends"], packages].concat();
    let update = ["apt-get", "update"];
    for words in [&update[..], &words[..]] {
        let is_root = output(command("id", &["-u"]))?.trim() == "0";
        let words = if is_root { words.to_vec() } else { [&["sudo"], words].concat() };
        let mut command = command(words[0], &words[1..]);
        command.env("DEBIAN_FRONTEND", "noninteractive");
        run(command)?;
    }
    Ok(())
}

/// The browsers of the other engines.
pub struct OtherBrowsers {
    pub firefox: PathBuf,
    /// The small browser of WebKitGTK. It is in a package that its driver needs.
    pub webkit: PathBuf,
    pub webkit_driver: PathBuf,
}

/// Finds Firefox and WebKitGTK (FIREFOX, MINIBROWSER and WEBKITWEBDRIVER name others), or installs them by apt.
pub fn other_browsers() -> Result<OtherBrowsers, Failure> {
    let firefox = || named("FIREFOX").or_else(|| find("firefox-esr")).or_else(|| find("firefox"));
    let driver = || named("WEBKITWEBDRIVER").or_else(|| find("WebKitWebDriver"));
    let missing: Vec<&str> = [
        ("firefox-esr", firefox().is_none()),
        ("webkit2gtk-driver", driver().is_none()),
        // WebKitGTK has no headless mode.
        ("xvfb", find("Xvfb").is_none()),
    ]
    .into_iter()
    .filter_map(|(package, is_missing)| is_missing.then_some(package))
    .collect();
    if !missing.is_empty() {
        install(&missing)?;
    }
    match (firefox(), named("MINIBROWSER").or_else(look_for_webkit), driver()) {
        (Some(firefox), Some(webkit), Some(webkit_driver)) => Ok(OtherBrowsers { firefox, webkit, webkit_driver }),
        _ => Err(Failure::new(
            "no Firefox or no WebKitGTK was found after installing: name them in FIREFOX, MINIBROWSER and WEBKITWEBDRIVER",
        )),
    }
}

/// The browser is not on the search path, but in a folder of the machine's architecture.
fn look_for_webkit() -> Option<PathBuf> {
    let folders = fs::read_dir("/usr/lib").ok()?;
    folders.flatten().map(|folder| folder.path().join("webkit2gtk-4.1/MiniBrowser")).find(|file| file.is_file())
}

/// A display without a screen. WebKitGTK has no headless mode.
pub struct Display {
    server: Child,
    /// What the variable DISPLAY has to be.
    pub name: String,
}

impl Display {
    pub fn start() -> Result<Self, Failure> {
        // Without `-noreset` it starts anew when the last browser ends, and refuses one that starts meanwhile.
        let mut command = command("Xvfb", &["-displayfd", "1", "-noreset", "-nolisten", "tcp"]);
        let mut server = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        // It chooses a number that is free, and says it once it is ready.
        let mut number = String::new();
        if let Some(stdout) = server.stdout.take() {
            BufReader::new(stdout).read_line(&mut number)?;
        }
        Ok(Self { server, name: format!(":{}", number.trim()) })
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        // It may have ended by itself.
        self.server.kill().and_then(|()| self.server.wait()).ok();
    }
}

/// A program that an environment variable names.
fn named(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|file| file.is_file())
}

fn look_for_browser() -> Option<Browser> {
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
    let tool = target().join("tools").join(name);
    if !tool.is_file() {
        say("Compiling wasm-bindgen's tools (once, about a minute)");
    }
    run(command("cargo", &["build", "--quiet", "--package", "xtask-wasm", "--profile", "tools"]))?;
    Ok(tool)
}
