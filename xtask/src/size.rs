//! `cargo xtask size`: the download of an app that imports the package.

use crate::files;
use crate::run::{Failure, command, output, root};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The limit of the core, gzip -9: 353 KB without the sharing among tabs, streams, live queries and Azure tables, 10 for the
/// first, 3 for the last and 15 for the others; 5 for filters by columns, 1 for other storages than IndexedDB, 2 for the log
/// in files and for reads of single rows; 8 less since what only modules call by its address left it, 6 less since loads
/// of rows did. The goal is 300 KB (`docs/design/measurements.md` has the bytes by part).
const BUDGET: u64 = 375 * 1024;

/// The modules that a page loads, and the one that its worker loads.
const ENTRIES: [&str; 2] = ["index.js", "worker.js"];

/// Entries that no other entry loads, and the modules that two of them wait for: their files, what they are, and their
/// limits, gzip -9.
const BESIDE: [(&str, &str, u64); 11] = [
    ("azure.js", "the tables of Azure", 8 * 1024),
    ("tabstore_azure.wasm", "their module", 60 * 1024),
    ("tablestore.js", "the protocol of Table Store", 4 * 1024),
    ("tabstore_tablestore.wasm", "its module", 45 * 1024),
    ("timeline.js", "timelines", 15 * 1024),
    ("remote.js", "a session of a server", 64 * 1024),
    ("sync.js", "copies of tables", 10 * 1024),
    ("shell.js", "the command line", 20 * 1024),
    ("schema.js", "typed tables", 12 * 1024),
    ("cloud.js", "connections to the service", 20 * 1024),
    ("react.js", "the hook for React", 3 * 1024),
];

/// The folder of the console.
const CONSOLE: &str = "console";

/// The wasm file of the core.
const WASM: &str = "tabstore_bg.wasm";

/// The apps that load a file of the package.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Every page that stores rows.
    Core,
    /// A page that uses the feature.
    FirstUse,
    /// An app with another entry, which contains the same code in another form.
    OtherEntry,
    /// A page with one more entry: its place among them.
    Beside(usize),
}

/// Prints the sizes; fails if the core or an entry beside it is over its budget.
pub fn check() -> Result<(), Failure> {
    let folder = root().join("pkg/dist");
    let files = list(&folder)?;
    let core = core(&folder)?;
    let (mut zipped_core, mut brotli_core, mut beside) = (0, 0, [None; BESIDE.len()]);
    for (file, (zipped, brotli)) in files.iter().zip(zipped(&files)?) {
        let name = files::relative(file, &folder);
        let raw = fs::metadata(file)?.len();
        let part = match &name {
            name if core.contains(name) => Part::Core,
            name if ["inline", "node", "global", "cli.js", "serve.js"].iter().any(|entry| name.contains(entry)) => {
                Part::OtherEntry
            }
            name => BESIDE.iter().position(|(file, ..)| file == name).map_or(Part::FirstUse, Part::Beside),
        };
        let note = match part {
            Part::Core => "",
            Part::FirstUse => "  (on first use)",
            Part::OtherEntry => "  (another entry)",
            Part::Beside(_) => "  (beside an entry)",
        };
        println!("{:>9.1} KB  {:>8.1} KB gzip  {:>8.1} KB brotli  {name}{note}", kb(raw), kb(zipped), kb(brotli));
        if part == Part::Core {
            zipped_core += zipped;
            brotli_core += brotli;
        }
        if let Part::Beside(entry) = part {
            beside[entry] = Some(zipped);
        }
    }
    println!("{:>22.1} KB gzip  {:>8.1} KB brotli is the core", kb(zipped_core), kb(brotli_core));
    println!("{:>22.1} KB gzip is its budget", kb(BUDGET));
    if zipped_core > BUDGET {
        return Err(Failure::new("the core is larger than its budget"));
    }
    for ((file, what, most), found) in BESIDE.into_iter().zip(beside) {
        let found = found.ok_or_else(|| Failure::new(format!("the file {file} is not there")))?;
        println!("{:>22.1} KB gzip of {:.1} KB are {what}", kb(found), kb(most));
        if found > most {
            return Err(Failure::new(format!("the file {file} is larger than its budget")));
        }
    }
    Ok(())
}

/// The files of the core: the wasm file, the entries, and all their static imports.
fn core(folder: &Path) -> Result<BTreeSet<String>, Failure> {
    let mut core = BTreeSet::from([WASM.to_owned()]);
    let mut entries: Vec<String> = ENTRIES.map(str::to_owned).to_vec();
    while let Some(name) = entries.pop() {
        let text = fs::read_to_string(folder.join(&name))?;
        // The bundler writes `from"./x.js"` and `import"./x.js"`. A dynamic import has a parenthesis.
        for start in ["from\"./", "import\"./"] {
            let names = text.split(start).skip(1).filter_map(|rest| rest.split_once('"'));
            entries.extend(names.map(|(name, _)| name.to_owned()).filter(|name| !core.contains(name)));
        }
        core.insert(name);
    }
    if core.len() < ENTRIES.len() + 2 || !folder.join(WASM).is_file() {
        return Err(Failure::new("the files of the core are not all there"));
    }
    Ok(core)
}

#[expect(clippy::cast_precision_loss, reason = "sizes of files, to one decimal")]
fn kb(bytes: u64) -> f64 {
    bytes as f64 / 1024.0
}

/// The JavaScript and wasm files below `folder`, sorted. No app loads those of the console, which has budgets of its own.
fn list(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let console = folder.join(CONSOLE);
    let all = files::below(folder, &["js", "wasm", "mjs", "cjs"])?;
    Ok(all.into_iter().filter(|file| !file.starts_with(&console)).collect())
}

/// The sizes of files after gzip -9 and after brotli. Node compresses them, because it is installed anyway.
fn zipped(files: &[PathBuf]) -> Result<Vec<(u64, u64)>, Failure> {
    let script = "const zlib = require('zlib'), { readFileSync } = require('fs');\
                  for (const file of process.argv.slice(1)) {\
                    const data = readFileSync(file);\
                    console.log(zlib.gzipSync(data, { level: 9 }).length, zlib.brotliCompressSync(data).length);\
                  }";
    let names: Vec<_> = files.iter().map(|file| file.to_string_lossy()).collect();
    let arguments: Vec<&str> = ["-e", script].into_iter().chain(names.iter().map(AsRef::as_ref)).collect();
    let sizes = output(command("node", &arguments))?;
    let both =
        |line: &str| line.split_once(' ').and_then(|(gzip, brotli)| Some((gzip.parse().ok()?, brotli.parse().ok()?)));
    let all: Option<Vec<_>> = sizes.lines().map(both).collect();
    all.filter(|all| all.len() == files.len()).ok_or_else(|| Failure::new(format!("node printed {sizes:?}")))
}
