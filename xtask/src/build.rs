//! From Rust and TypeScript to the npm package and the console.

use crate::run::{Failure, command, command_in, output, root, run, say, target};
use crate::{contract, order, short_names, tools};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

/// The effort of the compilers for the wasm file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    Release,
    Dev,
}

/// Features of rustc's wasm32 target. binaryen assumes fewer by default.
const WASM_FEATURES: [&str; 6] = [
    "--enable-bulk-memory",
    "--enable-multivalue",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
];

/// wasm-opt's first passes. Each name that the glue and the wasm file share contains a hash. To repeat them until nothing changes
/// would take twice as long, for a thousandth of the size: the parts go through them again.
const SHRINK: [&str; 1] = ["--minify-imports-and-exports-and-modules"];

/// The first place of the table with a function. Between it and 8191, the last number of two bytes, the code has few other numbers: a
/// number that looks like a place keeps the function there in the core, with all that it calls.
const TABLE_BASE: u32 = 7100;

/// Flags of rustc beside the profile in Cargo.toml.
fn release_flags() -> Vec<String> {
    // The build compiles for speed, but inlines little and never unrolls. Its zipped size stays within 5 % of a build
    // for size, and operations take a sixth less time. The compiler's own limits would give 20 % more size and as much
    // more speed. Functions with `#[inline]` have a lower threshold than the default of 325: nearly all are the
    // standard library's, in rare code. Hot functions of ours have `#[inline(always)]` (see `wire::here`).
    let inlining = [
        "inline-threshold=25",
        "inlinehint-threshold=100",
        "unroll-threshold=0",
        "unroll-runtime=false",
        "unroll-full-max-count=0",
    ];
    let mut flags: Vec<String> = inlining.iter().map(|option| format!("-Cllvm-args=-{option}")).collect();
    // Each constant is a segment of its own, so that the split sees who needs it.
    flags.push("-Clink-arg=--no-merge-data-segments".to_owned());
    // The places of functions in the table have numbers that the code uses for nothing else. So the split sees who needs these
    // functions. The empty places before them cost the browser some memory, about 100 KB.
    flags.push(format!("-Clink-arg=--table-base={TABLE_BASE}"));
    // Signatures are short, and the small form of SHA-256 is a tenth of the fast one.
    flags.push("--cfg=sha2_backend_soft=\"compact\"".to_owned());
    // Messages of panics name source files. Those of dependencies begin with the crate, not with this machine's folder.
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let registries = home.and_then(|home| fs::read_dir(home.join("registry/src")).ok());
    for registry in registries.into_iter().flatten().flatten() {
        flags.push(format!("--remap-path-prefix={}/=", registry.path().display()));
    }
    flags
}

/// Builds pkg/: the wasm engine, its glue, and the TypeScript around it. Some of that is rendered.
pub fn package(profile: Profile) -> Result<(), Failure> {
    contract::write()?;
    tools::wasm_target()?;
    tools::npm_packages("pkg")?;
    wasm(profile)?;
    say("Building the npm package (pkg/dist)");
    run(command_in(&root().join("pkg"), "npm", &["run", "--silent", "build"]))
}

/// Begins to compile the engine in the background: most of that takes one processor only. A build that comes later waits for it,
/// and tells what is wrong with the code.
pub fn compile_ahead(profile: Profile) -> Result<(), Failure> {
    tools::wasm_target()?;
    compiler(profile).stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::null()).spawn()?;
    Ok(())
}

/// The command that compiles the engine to WebAssembly.
fn compiler(profile: Profile) -> Command {
    let name = if profile == Profile::Release { "release" } else { "dev" };
    let arguments =
        ["build", "--quiet", "--package", "tabstore", "--lib", "--target", "wasm32-unknown-unknown", "--profile", name];
    let mut compile = command("cargo", &arguments);
    if profile == Profile::Release {
        compile.env("CARGO_ENCODED_RUSTFLAGS", release_flags().join("\x1f"));
    }
    compile
}

/// Builds pkg/wasm/: the wasm file and its glue.
fn wasm(profile: Profile) -> Result<(), Failure> {
    let folder = if profile == Profile::Release { "release" } else { "debug" };
    say(format_args!("Compiling the engine to WebAssembly ({folder})"));
    run(compiler(profile))?;
    let compiled = target().join("wasm32-unknown-unknown").join(folder).join("tabstore.wasm");

    // The tools take a while, so they are skipped if the compiler had nothing to do, and they and the gates are as they were.
    let output = root().join("pkg/wasm");
    let (seen, seen_gates) = (target().join("xtask/tabstore.wasm"), target().join("xtask/gates.txt"));
    let changed = |file: &Path| fs::metadata(file).and_then(|data| data.modified()).ok();
    let splitter = tools::wasm_tool("tabstore-split")?;
    let gates = declared_gates(&splitter)?;
    let is_current = [&std::env::current_exe()?, &splitter].iter().all(|tool| changed(tool) <= changed(&seen))
        && fs::read_to_string(&seen_gates).is_ok_and(|before| before == gates);
    if output.join("tabstore_bg.wasm").is_file() && is_current && same(&compiled, &seen)? {
        return Ok(());
    }
    let _ = fs::remove_file(&seen);
    say("Making the JavaScript around it (wasm-bindgen)");
    glue(&compiled, &output)?;
    if profile == Profile::Release {
        optimise(&output.join("tabstore_bg.wasm"), &splitter)?;
    }
    fs::create_dir_all(target().join("xtask"))?;
    fs::write(&seen_gates, gates)?;
    fs::copy(&compiled, &seen)?;
    Ok(())
}

/// The gates that the source declares in comments, which the compiler does not see.
fn declared_gates(splitter: &Path) -> Result<String, Failure> {
    output(command(&splitter.to_string_lossy(), &[&root().join("src").to_string_lossy()]))
}

fn glue(compiled: &Path, output: &Path) -> Result<(), Failure> {
    let tool = tools::wasm_tool("tabstore-glue")?;
    fs::create_dir_all(output)?;
    for entry in fs::read_dir(output)? {
        let file = entry?.path();
        // Modules of an earlier build do not fit.
        if file.extension().is_some_and(|end| end == "wasm") {
            fs::remove_file(file)?;
        }
    }
    run(command(&tool.to_string_lossy(), &[&compiled.to_string_lossy(), &output.to_string_lossy()]))
}

/// Makes a wasm file small, splits it into the core and modules with the program `splitter`, and adapts its glue. The parts
/// remain, with names for profiles, in `xtask/split` of the target folder.
fn optimise(wasm: &Path, splitter: &Path) -> Result<(), Failure> {
    say("Optimising the wasm file (wasm-opt)");
    let (small, split) = (target().join("xtask/small.wasm"), target().join("xtask/split"));
    fs::create_dir_all(&split)?;
    // The names say where to split, and segments of data say which constants go together.
    let names = wasm_opt(wasm, &[&["-g", "--skip-pass=memory-packing"], &SHRINK[..]].concat(), &small)?;
    let source = root().join("src");
    let arguments = [&source, &small, &split].map(|path| path.to_string_lossy());
    let parts = output(command(&splitter.to_string_lossy(), &arguments.each_ref().map(|path| &**path)))?;
    // They share no file, and the core is the half of all. So two processors are enough.
    let (core, modules): (Vec<&str>, Vec<&str>) =
        parts.lines().filter_map(|line| line.split(' ').next()).partition(|part| *part == "core");
    let optimise = |names: Vec<&str>| names.into_iter().try_for_each(|name| optimise_part(wasm, &split, name));
    thread::scope(|scope| {
        let others = scope.spawn(|| optimise(modules));
        optimise(core)?;
        others.join().map_err(|_| Failure::new("the optimiser of the modules has failed"))?
    })?;
    let glue = wasm.with_file_name("tabstore.js");
    let text = fs::read_to_string(&glue)?;
    fs::write(&glue, short_names::apply(&text, &names)?)?;
    Ok(())
}

/// Makes a part small, and brings its functions into an order that compresses well.
fn optimise_part(wasm: &Path, split: &Path, name: &str) -> Result<(), Failure> {
    let place = if name == "core" { wasm.to_owned() } else { wasm.with_file_name(format!("tabstore_{name}.wasm")) };
    let small = split.join(name).with_extension("small");
    wasm_opt(&split.join(name).with_extension("wasm"), &[], &small)?;
    fs::write(&place, order::name(&fs::read(&small)?)?)?;
    // No pass would make it smaller again. The levels say how it is written.
    wasm_tool(&place, &["--optimize-level=2", "--shrink-level=2", "--reorder-functions-by-name"], &small)?;
    fs::rename(&small, &place)?;
    Ok(())
}

/// Makes a wasm file small, with more passes.
fn wasm_opt(from: &Path, more: &[&str], to: &Path) -> Result<String, Failure> {
    // The compiler has already inlined enough: more inlining makes the file larger and nothing faster. The stack lies first and
    // grows down to 0, so no valid pointer is below 1024: additions of constants become offsets.
    let usual = ["-Oz", "--one-caller-inline-max-function-size=0", "--low-memory-unused"];
    wasm_tool(from, &[&usual, more].concat(), to)
}

/// Runs passes of binaryen on a wasm file. Gives what they print.
fn wasm_tool(from: &Path, passes: &[&str], to: &Path) -> Result<String, Failure> {
    let tool = root().join("pkg/node_modules/.bin/wasm-opt");
    let mut command = command(&tool.to_string_lossy(), &[]);
    command.args(WASM_FEATURES).args(passes).arg(from).arg("-o").arg(to);
    output(command)
}

fn same(left: &Path, right: &Path) -> Result<bool, Failure> {
    Ok(right.is_file() && fs::read(left)? == fs::read(right)?)
}

/// Builds the package and then www/: the console, which goes into the package too.
pub fn console(profile: Profile) -> Result<(), Failure> {
    package(profile)?;
    tools::npm_packages("www")?;
    say("Building the console (www/dist)");
    run(command_in(&root().join("www"), "npm", &["run", "--silent", "build"]))
}

/// Makes the tarball that `npm publish` would send, and returns its path.
pub fn pack(profile: Profile) -> Result<PathBuf, Failure> {
    console(profile)?;
    let folder = target().join("pack");
    fs::create_dir_all(&folder)?;
    say("Packing the npm tarball");
    let arguments = ["pack", "--silent", "--pack-destination", &folder.to_string_lossy()];
    let name = output(command_in(&root().join("pkg"), "npm", &arguments))?;
    let name = name.lines().last().unwrap_or_default().trim();
    Ok(folder.join(name))
}

/// Compares with other databases in a browser, or runs another measurement of `benches/browser`.
pub fn bench(arguments: &[String]) -> Result<(), Failure> {
    package(Profile::Release)?;
    let browser = tools::browser()?;
    tools::npm_packages("benches/browser")?;
    // The hand-overs are those of these tests.
    tools::npm_packages("tests/e2e")?;
    say("Measuring in a browser (some minutes)");
    let mut command = command_in(&root().join("benches/browser"), "npm", &["run", "--silent", "bench", "--"]);
    command.args(arguments).env("CHROME", browser.chromium);
    if arguments.iter().any(|argument| argument == "--profile") {
        command.arg("--wasm").arg(target().join("xtask/split/core.wasm"));
    }
    run(command)
}
