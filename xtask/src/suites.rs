//! `cargo xtask test`: the tests of a tier, and one line at the end. CONTRIBUTING says what each tier has.

use crate::budget;
use crate::build::{self, Profile};
use crate::conformance;
use crate::native;
use crate::report::{self, Event, Outcome, Test};
use crate::run::{Failure, command, command_in, output, root, say, target, watched};
use crate::site;
use crate::size;
use crate::structure;
use crate::tools;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Instant;

/// The suites in their order: the fastest come first. The last two are of the full tier only.
const SUITES: [&str; 10] =
    ["checks", "native", "wasm", "size", "package", "console", "packaging", "e2e", "doctests", "benches"];

/// Suites in Node. They wait for other processes now and then, so the first one runs beside the others, if all are asked for.
const SIDE_BY_SIDE: [&str; 3] = ["package", "console", "packaging"];

/// How much is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tier {
    /// The loop after an edit.
    Fast,
    /// What has to hold before a change is taken.
    Gate,
    /// Everything.
    Full,
}

impl Tier {
    /// Its name, for the test programs.
    fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Gate => "gate",
            Self::Full => "full",
        }
    }

    fn suites(self) -> Vec<&'static str> {
        SUITES
            .into_iter()
            .filter(|suite| match self {
                Self::Fast => matches!(*suite, "checks" | "native" | "package"),
                Self::Gate => !matches!(*suite, "doctests" | "benches"),
                Self::Full => true,
            })
            .collect()
    }
}

/// Runs the tests that `words` name: a tier (the gate, if none is named), and suites (those of the tier, if none is named).
pub fn run(words: &[String], profile: Profile) -> Result<(), Failure> {
    let mut tier = Tier::Gate;
    let (mut only, mut keep) = (Vec::new(), false);
    for word in words {
        match word.as_str() {
            "fast" => tier = Tier::Fast,
            "full" => tier = Tier::Full,
            "--keep-times" => keep = true,
            suite if SUITES.contains(&suite) => only.push(suite),
            other => {
                let suites = SUITES.join(", ");
                return Err(Failure::new(format!(
                    "no suite is called {other:?}; there are {suites}, and the tiers fast and full"
                )));
            }
        }
    }
    let suites =
        if only.is_empty() { tier.suites() } else { SUITES.into_iter().filter(|name| only.contains(name)).collect() };
    // The modules of an optimised build are made for the full speed of pages. An edit is tested sooner without.
    let profile = if tier == Tier::Fast { Profile::Dev } else { profile };
    let started = Instant::now();
    let mut done: Vec<Done> = Vec::new();
    let mut built = None;
    if tier != Tier::Fast && suites.contains(&"native") && suites.contains(&"package") {
        build::compile_ahead(profile)?;
    }
    let needs_build = |suite: &str| matches!(suite, "size" | "package" | "console" | "packaging" | "e2e" | "benches");
    let with_console = suites.iter().any(|suite| matches!(*suite, "console" | "packaging" | "e2e"));
    let build = move || if with_console { build::console(profile) } else { build::package(profile) };
    let mut building = None;
    for suite in &suites {
        // The tests in browsers wait, and most of the build takes one processor only: so they run side by side.
        if *suite == "wasm" && suites.iter().any(|suite| needs_build(suite)) {
            building = Some(thread::spawn(build));
        }
        let began = Instant::now();
        if needs_build(suite) && built.is_none() {
            // If the package does not build, these suites fail. The others have run already.
            let result = match building.take() {
                Some(beside) => beside.join().unwrap_or_else(|_| Err(Failure::new("the build panicked"))),
                None => build(),
            };
            built = Some(result.is_ok());
            done.push(("build".to_owned(), check("build", result), began.elapsed().as_secs_f64()));
        }
        if done.iter().any(|(name, ..)| name == suite) {
            continue;
        }
        let is_built = built != Some(false);
        if *suite == SIDE_BY_SIDE[0] && SIDE_BY_SIDE.iter().all(|suite| suites.contains(suite)) {
            done.extend(side_by_side(tier, is_built)?);
        } else {
            done.push(timed(suite, tier, is_built));
        }
    }
    let is_whole_gate = tier == Tier::Gate && only.is_empty();
    tell(tier, &done, started.elapsed().as_secs_f64(), is_whole_gate, keep)
}

/// What became of a suite, and how many seconds it took.
type Done = (String, Outcome, f64);

/// Runs a suite. One that needs the package fails if that could not be built.
fn timed(suite: &str, tier: Tier, is_built: bool) -> Done {
    let began = Instant::now();
    let outcome = match suite {
        "checks" => checks(tier),
        "native" => native(tier),
        "wasm" => wasm(tier),
        "doctests" => doctests(),
        _ if !is_built => Ok(Outcome::of(suite, false)),
        "size" => Ok(check("the size of the package", size::check())),
        "package" => npm("pkg", tier),
        "console" => npm("www", tier),
        "packaging" => npm("tests/packaging", tier),
        "e2e" => end_to_end(tier),
        // With very few rows, to see that the benchmarks still run. All use files and packages of the first one.
        _ => ["benches/browser", "benches/node", "benches/azure"].into_iter().try_fold(
            Outcome::default(),
            |mut sum, folder| {
                sum += npm(folder, tier)?;
                Ok(sum)
            },
        ),
    };
    let outcome = outcome.unwrap_or_else(|failure| {
        println!("error: {failure}");
        Outcome::of(suite, false)
    });
    (suite.to_owned(), outcome, began.elapsed().as_secs_f64())
}

/// Runs the suites of [`SIDE_BY_SIDE`].
fn side_by_side(tier: Tier, is_built: bool) -> Result<Vec<Done>, Failure> {
    // What installs a browser does it once.
    tools::browser()?;
    let [first, others @ ..] = SIDE_BY_SIDE;
    thread::scope(|scope| {
        let first = scope.spawn(|| timed(first, tier, is_built));
        let others: Vec<Done> = others.into_iter().map(|suite| timed(suite, tier, is_built)).collect();
        let first = first.join().map_err(|_| Failure::new("a suite panicked"))?;
        Ok([vec![first], others].concat())
    })
}

/// Prints what became of the suites. Fails if a test failed.
fn tell(tier: Tier, done: &[Done], seconds: f64, is_whole_gate: bool, keep: bool) -> Result<(), Failure> {
    let mut total = Outcome::default();
    for (name, outcome, seconds) in done {
        println!("\n{name}: {outcome}, {seconds:.0} s");
        for Test { name, seconds, .. } in outcome.slowest().iter().filter(|test| test.seconds >= 1.0) {
            println!("    {seconds:6.1} s  {name}");
        }
        total += outcome.clone();
    }
    let of = |event| total.tests.iter().filter(move |test| test.event == event);
    if tier == Tier::Full {
        of(Event::Skipped).for_each(|test| println!("skipped: {}", test.name));
    }
    of(Event::Failed).for_each(|test| println!("failed: {}", test.name));
    let times: Vec<(String, f64)> = done.iter().map(|(name, _, seconds)| (name.clone(), *seconds)).collect();
    if keep {
        budget::keep(&times)?;
    }
    if is_whole_gate {
        println!("{}", budget::verdict(seconds, &times));
    } else {
        println!("{seconds:.0} s in all");
    }
    println!("{total}");
    if total.count(Event::Failed) == 0 { Ok(()) } else { Err(Failure::new("some tests failed")) }
}

/// A check that counts as one test.
fn check(name: &str, result: Result<(), Failure>) -> Outcome {
    if let Err(failure) = &result {
        println!("error: {failure}");
    }
    Outcome::of(name, result.is_ok())
}

/// Runs a test program in JavaScript, which reports in a file.
fn reported(name: &str, mut command: Command, tier: Tier) -> Result<Outcome, Failure> {
    let file = report::file(name)?;
    command.env("TEST_REPORT", &file).env("TEST_TIER", tier.name());
    let success = watched(command, |_| true)?;
    let mut outcome = Outcome::default();
    outcome.add(name, fs::read_to_string(&file)?.lines().filter_map(report::test).collect(), success);
    Ok(outcome)
}

/// Runs test programs of Cargo, whose lines of JSON are their reports. Only failures are printed.
fn cargo_tests(name: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Result<Outcome, Failure> {
    let host = output(command("rustc", &["--print", "host-tuple"]))?.trim().replace('-', "_").to_uppercase();
    let format = ["--", "-Zunstable-options", "--format=json", "--report-time"];
    let mut command = command("cargo", &[&["test", "--quiet", "--no-fail-fast"], arguments, &format].concat());
    // The form of the reports is not stable yet. The compiler must not see this variable: it would build all anew.
    command.env(format!("CARGO_TARGET_{host}_RUNNER"), "env RUSTC_BOOTSTRAP=1").envs(environment.iter().copied());
    let mut tests = Vec::new();
    let success = watched(command, |line| {
        let Some(test) = report::test(line) else { return !line.starts_with('{') };
        if test.event == Event::Failed {
            println!("FAIL  {}\n{}", test.name, test.output);
        }
        tests.push(test);
        false
    })?;
    let mut outcome = Outcome::default();
    let lines: Vec<String> = tests.iter().map(Test::line).collect();
    fs::write(report::file(name)?, lines.join("\n"))?;
    outcome.add(name, tests, success);
    Ok(outcome)
}

/// Format, lints, documentation, the structure of the code and the table of statements. Each counts as one test.
fn checks(tier: Tier) -> Result<Outcome, Failure> {
    tools::wasm_target()?;
    let wasm = ["--package", "tabstore", "--lib", "--target", "wasm32-unknown-unknown"];
    // The tests in browsers are compiled anyway, and their libraries take as long to look at as the engine.
    let wasm_tests: &[&str] = if tier == Tier::Full { &["--test", "browser"] } else { &[] };
    let deny: &[&str] = &["--", "-D", "warnings"];
    // The build's own tools rarely change, and to look at their libraries takes as long as at the engine.
    let packages: &[&str] =
        if tier == Tier::Full { &["--workspace"] } else { &["--workspace", "--exclude", "xtask-wasm"] };
    let steps: [(&str, Vec<&str>); 4] = [
        ("Checking the format of the code", vec!["fmt", "--all", "--check"]),
        ("Linting, native", [&["clippy", "--quiet", "--all-targets"], packages, deny].concat()),
        ("Linting, wasm", [&["clippy", "--quiet"], &wasm[..], wasm_tests, deny].concat()),
        ("Checking the documentation", vec!["doc", "--quiet", "--package", "tabstore", "--no-deps"]),
    ];
    let mut outcome = Outcome::default();
    // After an edit the first two find nearly all that the others do.
    for (what, arguments) in steps.into_iter().take(if tier == Tier::Fast { 2 } else { usize::MAX }) {
        say(what);
        let mut command = command("cargo", &arguments);
        // Links from a module to its private parts are for readers of the source.
        command.env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private-intra-doc-links");
        outcome += Outcome::of(what, watched(command, |_| true)?);
    }
    tools::npm_packages("pkg")?;
    let what = "Linting TypeScript and JavaScript";
    say(what);
    let biome = root().join("pkg/node_modules/.bin/biome");
    let lint = command_in(&root(), &biome.to_string_lossy(), &["ci", "--error-on-warnings"]);
    outcome += Outcome::of(what, watched(lint, |_| true)?);
    say("Checking the structure of the code");
    outcome += check("the structure of the code", structure::check(&[]));
    if tier == Tier::Full {
        say("Linting the native benchmarks");
        outcome += Outcome::of("lints of the native benchmarks", watched(native::lint(), |_| true)?);
        // A link to nothing fails it.
        outcome += check("the site can be built", site::build());
    }
    say("Checking that every statement has its tests");
    outcome += check("every statement has its tests", conformance::check());
    Ok(outcome)
}

/// The Rust tests on this machine. The tests of the build's own tools come apart: so they share the parts with the tools.
fn native(tier: Tier) -> Result<Outcome, Failure> {
    say("Running the native tests");
    let targets = ["--package", "tabstore", "--package", "xtask", "--lib", "--bins", "--tests"];
    let lives: &[(&str, &str)] = match tier {
        Tier::Fast | Tier::Gate => &[("TABSTORE_SHARE", "3")],
        Tier::Full => &[("TABSTORE_TIMES", "3")],
    };
    let mut outcome = cargo_tests("native", &targets, lives)?;
    if tier != Tier::Fast {
        let tools = ["--package", "xtask-wasm", "--package", "xtask-structure"];
        let programs = ["--bin", "tabstore-split", "--bin", "xtask-structure", "--profile", "tools"];
        outcome += cargo_tests("native-tools", &[tools.as_slice(), &programs].concat(), &[])?;
    }
    Ok(outcome)
}

/// The examples in the documentation of the code.
fn doctests() -> Result<Outcome, Failure> {
    say("Compiling the examples in the documentation of the code");
    let command = command("cargo", &["test", "--quiet", "--package", "tabstore", "--doc"]);
    Ok(Outcome::of("examples in the documentation of the code", watched(command, |_| true)?))
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
fn wasm(tier: Tier) -> Result<Outcome, Failure> {
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
    fs::create_dir_all(target().join("xtask"))?;
    let mut runs = Vec::new();
    for (at, browser) in browsers.into_iter().enumerate() {
        let capabilities = target().join(format!("xtask/webdriver-{at}.json"));
        fs::write(&capabilities, browser.capabilities)?;
        let places = [("a page", "WASM_BINDGEN_USE_BROWSER"), ("a worker", "WASM_BINDGEN_USE_DEDICATED_WORKER")];
        // At the gate a worker, where the engine runs unless a page asks otherwise. The end-to-end tests have pages too.
        let skipped = usize::from(tier != Tier::Full);
        for (place, variable) in places.into_iter().skip(skipped) {
            let mut command = command("cargo", &test);
            command
                .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", &runner)
                // They run for seconds. To optimise them would take longer.
                .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0")
                .env(browser.variable, &browser.driver)
                .env("DISPLAY", &display.name)
                // The tests may run as root.
                .env("WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS", "1")
                .env("WASM_BINDGEN_TEST_WEBDRIVER_JSON", &capabilities)
                .env("WASM_BINDGEN_TEST_TIMEOUT", "180")
                .env("WASM_BINDGEN_TEST_DRIVER_TIMEOUT", "120")
                .env(variable, "1");
            runs.push((format!("{}, {place}", browser.name), command));
        }
    }
    say("Running the wasm tests");
    let mut outcome = Outcome::default();
    // The first one compiles them. Each prepares the file with one processor, so the others run by twos.
    let mut runs = runs.into_iter();
    if let Some((what, command)) = runs.next() {
        outcome += in_browser(&what, command)?;
    }
    while let Some((what, command)) = runs.next() {
        let beside = runs.next();
        outcome += thread::scope(|scope| {
            let beside = beside.map(|(what, command)| scope.spawn(move || in_browser(&what, command)));
            let mut outcome = in_browser(&what, command)?;
            if let Some(beside) = beside {
                outcome += beside.join().map_err(|_| Failure::new("a run of the wasm tests panicked"))??;
            }
            Ok::<_, Failure>(outcome)
        })?;
    }
    Ok(outcome)
}

/// Runs the wasm tests in a browser.
fn in_browser(what: &str, command: Command) -> Result<Outcome, Failure> {
    let mut tests = Vec::new();
    let success = watched(command, |line| {
        let test = wasm_test(what, line);
        let is_shown = test.as_ref().is_none_or(|test| test.event == Event::Failed);
        tests.extend(test);
        is_shown
    })?;
    let mut outcome = Outcome::default();
    let lines: Vec<String> = tests.iter().map(Test::line).collect();
    fs::write(report::file(&format!("wasm {what}"))?, lines.join("\n"))?;
    outcome.add(what, tests, success);
    Ok(outcome)
}

/// The test that a line of wasm-bindgen's runner tells of: `test a::b ... ok`. It tells no times.
fn wasm_test(place: &str, line: &str) -> Option<Test> {
    let (name, end) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let event = match end {
        "ok" => Event::Passed,
        "FAIL" => Event::Failed,
        _ => Event::Skipped,
    };
    Some(Test { name: format!("{place}: {name}"), event, seconds: 0.0, output: String::new() })
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
fn npm(folder: &str, tier: Tier) -> Result<Outcome, Failure> {
    tools::npm_packages(folder)?;
    let browser = tools::browser()?;
    say(format_args!("Running the tests of {folder}/"));
    let mut command = command_in(&root().join(folder), "npm", &["test", "--silent"]);
    command.env("CHROME", browser.chromium);
    if folder == "pkg"
        && let Some(sdk) = tools::python_sdk()
    {
        command.env("TABSTORE_PYTHON_SDK", sdk);
    }
    reported(folder, command, tier)
}

/// The end-to-end tests. The full tier runs all of them in all engines.
fn end_to_end(tier: Tier) -> Result<Outcome, Failure> {
    tools::npm_packages("tests/e2e")?;
    let (chromium, others) = (tools::browser()?, tools::other_browsers()?);
    say("Running the tests of tests/e2e/");
    let all: &[&str] = if tier == Tier::Full { &["--", "--engine", "all"] } else { &[] };
    let mut command = command_in(&root().join("tests/e2e"), "npm", &[&["test", "--silent"], all].concat());
    command
        .env("CHROME", chromium.chromium)
        .env("FIREFOX", others.firefox)
        .env("MINIBROWSER", others.webkit)
        .env("WEBKITWEBDRIVER", others.webkit_driver);
    if tier != Tier::Full
        && let Some(shell) = tools::headless_shell()
    {
        command.env("CHROME_SHELL", shell);
    }
    reported("tests/e2e", command, tier)
}
