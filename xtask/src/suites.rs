//! `cargo xtask test`: all tests, and one line at the end.

use crate::build::{self, Profile};
use crate::conformance;
use crate::native;
use crate::outcome::{Count, Outcome};
use crate::run::{Failure, command, command_in, root, say, target, watched};
use crate::size;
use crate::tools;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// The suites in their order: the fastest come first.
const SUITES: [&str; 8] = ["checks", "native", "wasm", "size", "package", "console", "packaging", "e2e"];

/// Runs the suites named in `only`, or all.
pub fn run(only: &[String], profile: Profile) -> Result<(), Failure> {
    if let Some(unknown) = only.iter().find(|name| !SUITES.contains(&name.as_str())) {
        return Err(Failure::new(format!("no suite is called {unknown:?}; there are {}", SUITES.join(", "))));
    }
    let wanted = |name: &str| only.is_empty() || only.iter().any(|only| only == name);
    let started = Instant::now();
    let mut report: Vec<(&str, Outcome)> = Vec::new();
    let mut built = None;

    for suite in SUITES.into_iter().filter(|name| wanted(name)) {
        if matches!(suite, "size" | "package" | "console" | "packaging" | "e2e") && built.is_none() {
            // If the package does not build, these suites fail. The others have run already.
            let result =
                if wanted("console") || wanted("e2e") { build::console(profile) } else { build::package(profile) };
            if let Err(failure) = &result {
                println!("error: {failure}");
            }
            built = Some(result.is_ok());
        }
        let outcome = match suite {
            "checks" => checks(),
            "native" => native(),
            "wasm" => wasm(),
            _ if built == Some(false) => Ok(Outcome::FAILURE),
            "size" => Ok(one(size::check())),
            "package" => npm("pkg"),
            "console" => npm("www"),
            "packaging" => npm("tests/packaging"),
            _ => end_to_end().and_then(|mut outcome| {
                // With very few rows, to see that the benchmarks still run.
                outcome += npm("benches/browser")?;
                // Both use files and packages of that one.
                outcome += npm("benches/node")?;
                outcome += npm("benches/azure")?;
                Ok(outcome)
            }),
        };
        report.push((
            suite,
            outcome.unwrap_or_else(|failure| {
                println!("error: {failure}");
                Outcome::FAILURE
            }),
        ));
    }

    println!("\n{:.0} s in all", started.elapsed().as_secs_f32());
    let mut total = Outcome::default();
    for (suite, outcome) in report {
        let name = match suite {
            "checks" => "format, lints, documentation, statements",
            "package" => "npm package",
            "packaging" => "packaging",
            "e2e" => "end-to-end",
            other => other,
        };
        println!("{name}: {outcome}");
        outcome.names.iter().for_each(|failed| println!("    failed: {failed}"));
        total += outcome;
    }
    println!("{total}");
    if total.failed == 0 { Ok(()) } else { Err(Failure::new("some tests failed")) }
}

/// A check that counts as one test.
fn one(result: Result<(), Failure>) -> Outcome {
    if let Err(failure) = &result {
        println!("error: {failure}");
    }
    Outcome::of(result.is_ok())
}

/// Runs one test program.
fn counted(command: Command) -> Result<Outcome, Failure> {
    let mut count = Count::default();
    let success = watched(command, |line| count.line(line))?;
    Ok(count.outcome(success))
}

/// Format, lints, documentation and the table of statements. Each counts as one test.
fn checks() -> Result<Outcome, Failure> {
    tools::wasm_target()?;
    let wasm = ["--package", "tabstore", "--lib", "--test", "browser", "--target", "wasm32-unknown-unknown"];
    let deny: &[&str] = &["--", "-D", "warnings"];
    let steps: [(&str, Vec<&str>); 4] = [
        ("Checking the format of the code", vec!["fmt", "--all", "--check"]),
        ("Linting, native", [&["clippy", "--quiet", "--workspace", "--all-targets"], deny].concat()),
        ("Linting, wasm", [&["clippy", "--quiet"], &wasm[..], deny].concat()),
        ("Checking the documentation", vec!["doc", "--quiet", "--package", "tabstore", "--no-deps"]),
    ];
    let mut outcome = Outcome::default();
    for (what, arguments) in steps {
        say(what);
        let mut command = command("cargo", &arguments);
        // Links from a module to its private parts are for readers of the source.
        command.env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private-intra-doc-links");
        let success = watched(command, |_| ())?;
        outcome += Outcome::of(success);
    }
    say("Linting the native benchmarks");
    let success = watched(native::lint(), |_| ())?;
    outcome += Outcome::of(success);
    say("Checking that every statement has its tests");
    outcome += one(conformance::check());
    Ok(outcome)
}

/// The Rust tests on this machine.
fn native() -> Result<Outcome, Failure> {
    say("Running the native tests");
    counted(command("cargo", &["test", "--quiet", "--workspace", "--no-fail-fast"]))
}

/// A browser with its driver, as wasm-bindgen's test runner takes them.
struct Driven {
    name: &'static str,
    /// The environment variable that names the driver.
    variable: &'static str,
    driver: PathBuf,
    capabilities: String,
}

/// The Rust tests in browsers, in a page and in a worker: on each of Chromium's two backends of IndexedDB, and in WebKit. The
/// driver of Firefox is in no package of Debian or npm; the end-to-end tests run there without it.
fn wasm() -> Result<Outcome, Failure> {
    tools::wasm_target()?;
    let (chromium, others) = (tools::browser()?, tools::other_browsers()?);
    let runner = tools::wasm_tool("wasm-test-runner")?;
    let display = tools::Display::start()?;
    let with_backend = |name, features| Driven {
        name,
        variable: "CHROMEDRIVER",
        driver: chromium.driver.clone(),
        capabilities: chromium_options(&chromium.chromium, features),
    };
    let browsers = [
        with_backend("Chromium, IndexedDB on LevelDB", ""),
        with_backend("Chromium, IndexedDB on SQLite", "IdbSqliteBackingStore,IdbSqliteOnDiskRollout"),
        Driven {
            name: "WebKit",
            variable: "SAFARIDRIVER",
            driver: others.webkit_driver,
            capabilities: format!(
                "{{\"webkitgtk:browserOptions\": {{\"binary\": {:?}, \"args\": [\"--automation\"]}}}}\n",
                others.webkit
            ),
        },
    ];
    let test = ["test", "--quiet", "--package", "tabstore", "--test", "browser", "--target", "wasm32-unknown-unknown"];
    let capabilities = target().join("xtask/webdriver.json");
    fs::create_dir_all(target().join("xtask"))?;
    let mut outcome = Outcome::default();
    for browser in browsers {
        fs::write(&capabilities, browser.capabilities)?;
        for (place, variable) in
            [("a page", "WASM_BINDGEN_USE_BROWSER"), ("a worker", "WASM_BINDGEN_USE_DEDICATED_WORKER")]
        {
            say(format_args!("Running the wasm tests in {place} ({})", browser.name));
            let mut command = command("cargo", &test);
            command
                .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", &runner)
                .env(browser.variable, &browser.driver)
                .env("DISPLAY", &display.name)
                // The tests may run as root.
                .env("WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS", "1")
                .env("WASM_BINDGEN_TEST_WEBDRIVER_JSON", &capabilities)
                .env("WASM_BINDGEN_TEST_TIMEOUT", "180")
                .env("WASM_BINDGEN_TEST_DRIVER_TIMEOUT", "120")
                .env(variable, "1");
            outcome += counted(command)?;
        }
    }
    Ok(outcome)
}

/// The browser options for chromedriver.
fn chromium_options(program: &Path, features: &str) -> String {
    let chromium = program.to_string_lossy().replace('\\', "/");
    let mut arguments = vec![
        "--headless=new".to_owned(),
        "--no-sandbox".to_owned(),
        "--disable-gpu".to_owned(),
        "--disable-quic".to_owned(),
        "--no-first-run".to_owned(),
        "--disable-background-networking".to_owned(),
        "--disable-component-update".to_owned(),
        "--disable-sync".to_owned(),
        "--disable-dev-shm-usage".to_owned(),
    ];
    if !features.is_empty() {
        arguments.push(format!("--enable-features={features}"));
    }
    let arguments = arguments.iter().map(|argument| format!("{argument:?}")).collect::<Vec<_>>().join(", ");
    format!("{{\"goog:chromeOptions\": {{\"binary\": {chromium:?}, \"args\": [{arguments}]}}}}\n")
}

/// The tests of an npm project.
fn npm(folder: &str) -> Result<Outcome, Failure> {
    tools::npm_packages(folder)?;
    let browser = tools::browser()?;
    say(format_args!("Running the tests of {folder}/"));
    let mut command = command_in(&root().join(folder), "npm", &["test", "--silent"]);
    command.env("CHROME", browser.chromium);
    counted(command)
}

/// The end-to-end tests, in all engines.
fn end_to_end() -> Result<Outcome, Failure> {
    tools::npm_packages("tests/e2e")?;
    let (chromium, others) = (tools::browser()?, tools::other_browsers()?);
    say("Running the tests of tests/e2e/");
    let mut command = command_in(&root().join("tests/e2e"), "npm", &["test", "--silent"]);
    command
        .env("CHROME", chromium.chromium)
        .env("FIREFOX", others.firefox)
        .env("MINIBROWSER", others.webkit)
        .env("WEBKITWEBDRIVER", others.webkit_driver);
    counted(command)
}
