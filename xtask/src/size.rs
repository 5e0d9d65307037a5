//! `cargo xtask size`: what an app that imports the package makes its users download.

use crate::run::{Failure, command, output, root};
use std::fs;
use std::path::{Path, PathBuf};

/// The most that the default entry may weigh, wasm and JavaScript, gzip -9, with the chunks that are loaded on first use. It
/// holds until the core is a module of its own, which is to weigh at most 300 KB (ARCHITECTURE.md says where the bytes go). Rows
/// that span blocks have taken some 10 KB, the care for full disks, damage and openings some 34: they have to be won back.
const BUDGET: u64 = 422 * 1024 + 512;

/// Prints the sizes; fails over the budget.
pub fn check() -> Result<(), Failure> {
    let folder = root().join("pkg/dist");
    let mut files = Vec::new();
    list(&folder, &mut files)?;
    let (mut total, mut total_brotli) = (0, 0);
    for file in files {
        let name = file.strip_prefix(&folder).unwrap_or(&file).to_string_lossy().into_owned();
        let raw = fs::metadata(&file)?.len();
        let (zipped, brotli) = zipped(&file)?;
        // The inline entries repeat the same code in another shape: an app loads one or the other.
        let other = name.contains("inline") || name.contains("node") || name.contains("global");
        println!(
            "{:>9.1} KB  {:>8.1} KB gzip  {:>8.1} KB brotli  {name}{}",
            kb(raw),
            kb(zipped),
            kb(brotli),
            if other { "  (not counted)" } else { "" }
        );
        if !other {
            total += zipped;
            total_brotli += brotli;
        }
    }
    println!("{:>22.1} KB gzip  {:>8.1} KB brotli in all", kb(total), kb(total_brotli));
    println!("{:>22.1} KB gzip is the budget", kb(BUDGET));
    if total == 0 || total > BUDGET {
        return Err(Failure::new("the package is larger than its budget"));
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "sizes of files, to one decimal")]
fn kb(bytes: u64) -> f64 {
    bytes as f64 / 1024.0
}

/// The JavaScript and wasm files below `folder`, sorted.
fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            list(&entry, files)?;
        } else if entry.extension().is_some_and(|end| end == "js" || end == "wasm" || end == "mjs" || end == "cjs") {
            files.push(entry);
        }
    }
    Ok(())
}

/// What is left of a file by gzip -9 and by brotli. By Node, which is there anyway.
fn zipped(file: &Path) -> Result<(u64, u64), Failure> {
    let script = "const zlib = require('zlib'), data = require('fs').readFileSync(process.argv[1]);\
                  console.log(zlib.gzipSync(data, { level: 9 }).length, zlib.brotliCompressSync(data).length)";
    let sizes = output(command("node", &["-e", script, &file.to_string_lossy()]))?;
    let both = sizes.trim().split_once(' ').and_then(|(gzip, brotli)| Some((gzip.parse().ok()?, brotli.parse().ok()?)));
    both.ok_or_else(|| Failure::new(format!("node printed {sizes:?}")))
}
