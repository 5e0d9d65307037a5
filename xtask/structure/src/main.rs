//! `cargo xtask structure`: what uses what in the code, and how large its parts are, against the limits in
//! `xtask/structure.txt`.
//!
//! It reads the sources as text, so it sees what a reader sees: names, paths, and the calls of a type's own methods. Types that
//! only the compiler knows, and what macros expand to beyond their own words, it does not see.

mod calls;
mod circles;
#[path = "../../src/files.rs"]
mod files;
mod limits;
mod measures;
mod names;
mod scripts;
mod sizes;
mod sources;
mod tokens;
mod tree;
mod types;
mod uses;

use limits::{FILE, Limit, Standing};
use measures::{Measure, Structure, TypeLine, Value};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

const HELP: &str = "cargo xtask structure [--circles] [--lower]

  --circles  name the files of each circle, and edges without which there would be none
  --lower    lower the ceilings in xtask/structure.txt to today's numbers
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns whether all limits hold.
fn run(arguments: &[String]) -> Result<bool, String> {
    if let Some(unknown) = arguments.iter().find(|argument| !["--circles", "--lower"].contains(&argument.as_str())) {
        return Err(format!("unknown argument {unknown:?}\n\n{HELP}"));
    }
    let has = |option: &str| arguments.iter().any(|argument| argument == option);
    let root = root();
    let structure = of(sources::in_folder(&root)?, &root)?;
    let file = root.join(FILE);
    let mut text = fs::read_to_string(&file).map_err(|error| format!("{FILE}: {error}"))?;
    if has("--lower") {
        text = limits::lowered(&text, &structure.measures)?;
        fs::write(&file, &text).map_err(|error| format!("{FILE}: {error}"))?;
    }
    let limits = limits::parse(&text, &structure.measures)?;
    print(&structure, &limits);
    if has("--circles") {
        structure.measures.iter().for_each(print_circles);
    }
    Ok(judge(&structure, &limits, &root))
}

/// The project's top folder.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}

fn of(all: tree::Sources, root: &Path) -> Result<Structure, String> {
    let (rust, scripts) = sources::by_language(all);
    // Node reads the one part while we read the other.
    thread::scope(|scope| {
        let script_graph = scope.spawn(|| scripts::graph(&scripts, root));
        measures::measure(&rust, &scripts, || {
            script_graph.join().unwrap_or_else(|_| Err("imports.mjs panicked".to_owned()))
        })
    })
}

fn print(structure: &Structure, limits: &[Limit]) {
    println!("{:<29}{:>5}{:>7}{:>9}{:>9}{:>8}{:>9}", "", "goal", "above", "highest", "ceiling", "beyond", "ceiling");
    for (measure, limit) in structure.measures.iter().zip(limits) {
        let (highest, beyond) = (measure.highest(), measure.beyond(limit.goal));
        println!(
            "{:<29}{:>5}{:>7}{highest:>9}{:>9}{beyond:>8}{:>9}",
            measure.key,
            limit.goal,
            measure.above(limit.goal),
            limit.highest,
            limit.beyond
        );
    }
    println!("\n{:<29}{:>9}{:>10}{:>8}{:>7}{:>8}", "type", "methods", "of traits", "fields", "files", "circle");
    for TypeLine { name, methods, of_traits, fields, files, circle } in &structure.types {
        let circle = circle.map_or(String::new(), |files| files.to_string());
        println!("{name:<29}{methods:>9}{of_traits:>10}{fields:>8}{files:>7}{circle:>8}");
    }
    println!("\nfiles that touch the most fields of a large type, and the longest functions:");
    for Value { of, number, .. } in structure.touching() {
        println!("{number:>6}  {of}");
    }
    structure.longest.iter().for_each(|function| println!("        {function}"));
    println!();
    for (what, lengths) in [("Rust", &structure.rust_files), ("TypeScript", &structure.script_files)] {
        let at = |hundredths| sizes::percentile(lengths, hundredths);
        let most = lengths.last().copied().unwrap_or_default();
        println!("{} files of {what}: median {} lines, p90 {}, longest {most}", lengths.len(), at(50), at(90));
    }
}

fn print_circles(measure: &Measure) {
    if !measure.closing.is_empty() {
        println!("\n{}:", measure.key);
        measure.values.iter().for_each(|value| println!("  {} files: {}", value.number, value.of));
        println!("  without these there would be no circle:");
        measure.closing.iter().for_each(|edge| println!("    {edge}"));
    }
}

/// Says what exceeds its limit, and which ceilings can be lowered.
fn judge(structure: &Structure, limits: &[Limit], root: &Path) -> bool {
    let all = || structure.measures.iter().zip(limits);
    let standing = |standing| all().filter(move |(measure, limit)| limit.standing(measure) == standing);
    let above: Vec<_> = standing(Standing::Above).collect();
    if !above.is_empty() {
        let before = sources::when_written(root, FILE).and_then(|sources| of(sources, root).ok());
        for (measure, limit) in &above {
            println!("\nfailed: {}", limits::complaint(measure, limit, before.as_ref()));
        }
    }
    let lower: Vec<&str> = standing(Standing::Below).map(|(measure, _)| measure.key).collect();
    if !lower.is_empty() {
        println!("\nlower than the ceiling: {}. Keep it: `cargo xtask structure --lower`", lower.join("; "));
    }
    above.is_empty()
}
