//! `cargo xtask mutants`: makes many small changes in the engine, one at a time, and names those that no test notices
//! (cargo-mutants). Results are kept below `target/mutants`, so an interrupted shard continues.

use crate::files;
use crate::run::{Failure, command, find, root, say, target};
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::Path;

/// The changed files if no file is named.
const FILES: [&str; 3] = ["src/engine/**/*.rs", "src/tablestore/**/*.rs", "src/format/**/*.rs"];

/// Tests that take long and find little more than the others.
const SKIPPED: [&str; 8] = [
    "compaction_agree_with_the_model",
    "r5_interleaved_clients_see_what_they_wrote",
    "r6_compare_and_set_and_increments_by_many_clients",
    "r4_r6_nothing_is_lost_or_counted_twice",
    "r7_t8_lives_with_indexes_and_transactions",
    "r7_no_money_is_lost_or_seen_on_its_way",
    "r4_no_money_is_lost_by_decisions",
    "memory_stays_within_the_options",
];

/// The exit codes of cargo-mutants after trying all: everything was caught, some were missed, or some timed out.
const COMPLETE: [i32; 3] = [0, 2, 3];

/// Runs a shard: `--shard k/n` (0/1 by default), then files or patterns.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    if find("cargo-mutants").is_none() {
        return Err(Failure::new("cargo-mutants is missing: cargo install --locked cargo-mutants"));
    }
    let (shard, files) = parse(arguments)?;
    let files = if files.is_empty() { FILES.map(str::to_owned).to_vec() } else { files };
    let name = format!("{}-{}", shard.replace('/', "-of-"), hash(&files));
    let folder = target().join("mutants").join(name);
    fs::create_dir_all(&folder)?;
    let code = code()?;
    let known = |file: &str| fs::read_to_string(folder.join(file)).is_ok_and(|known| known == code);
    if known("done") {
        say(format_args!("Shard {shard} was run on this code"));
        return report(&folder);
    }
    // Each shard has a part of every file.
    let mut words = vec!["mutants", "--package", "tabstore", "--no-shuffle", "--sharding", "round-robin"];
    words.extend(["--jobs", "1", "--timeout", "300"]);
    let output = folder.to_string_lossy();
    words.extend(["--shard", &shard, "--output", &output]);
    if known("begun") {
        say(format_args!("Shard {shard} goes on where it was interrupted"));
        words.push("--iterate");
    }
    fs::write(folder.join("begun"), &code)?;
    files.iter().for_each(|file| words.extend(["--file", file]));
    words.extend(["--", "--lib", "--test", "behaviour", "--test", "lives", "--"]);
    SKIPPED.iter().for_each(|test| words.extend(["--skip", test]));
    let mut mutants = command("cargo", &words);
    mutants.env("CARGO_PROFILE_DEV_OPT_LEVEL", "0").env("CARGO_PROFILE_DEV_DEBUG", "0").env("TABSTORE_SHARE", "10");
    let status = mutants.status()?;
    if !status.code().is_some_and(|code| COMPLETE.contains(&code)) {
        return Err(Failure::new(format!("cargo-mutants did not come to its end ({status})")));
    }
    fs::write(folder.join("done"), &code)?;
    report(&folder)
}

fn parse(arguments: &[String]) -> Result<(String, Vec<String>), Failure> {
    let (mut shard, mut files, mut rest) = ("0/1".to_owned(), Vec::new(), arguments.iter());
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--shard" => shard = rest.next().cloned().unwrap_or_default(),
            option if option.starts_with('-') => return Err(Failure::new(format!("unknown option {option}"))),
            file => files.push(file.to_owned()),
        }
    }
    let numbers = shard.split_once('/').and_then(|(k, n)| Some((k.parse::<u32>().ok()?, n.parse::<u32>().ok()?)));
    match numbers {
        Some((k, n)) if k < n => Ok((shard, files)),
        _ => Err(Failure::new(format!("--shard {shard:?} is none of 0/n to n-1/n"))),
    }
}

/// Reports the result of a shard. Fails if a mutant was missed.
fn report(folder: &Path) -> Result<(), Failure> {
    let lines = |file: &str| -> Vec<String> {
        let text = fs::read_to_string(folder.join("mutants.out").join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    };
    let missed = lines("missed.txt");
    missed.iter().for_each(|mutant| println!("missed: {mutant}"));
    let caught = lines("caught.txt").len() + lines("previously_caught.txt").len();
    let (late, unviable) = (lines("timeout.txt").len(), lines("unviable.txt").len());
    println!("{caught} caught, {} missed, {late} timed out, {unviable} do not compile", missed.len());
    if missed.is_empty() { Ok(()) } else { Err(Failure::new("some changes are noticed by no test")) }
}

/// A hash of the code: the changed files, and the tests.
fn code() -> Result<String, Failure> {
    let mut all = Vec::new();
    for folder in ["src", "tests/behaviour", "tests/lives", "fuzz"] {
        all.extend(files::below(&root().join(folder), &["rs"])?);
    }
    all.push(root().join("Cargo.lock"));
    all.sort();
    let contents = all.iter().map(fs::read).collect::<Result<Vec<_>, _>>()?;
    Ok(hash(&(all, contents)))
}

fn hash(of: &impl Hash) -> String {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
