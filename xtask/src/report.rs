//! What became of tests: read from the reports of test programs, a line of JSON for each test.
//!
//! Rust's test programs print such lines (`--format json`), `tests/report.mjs` writes them for the programs in JavaScript.

use crate::run::{Failure, target};
use std::fmt;
use std::fs;
use std::path::PathBuf;

/// How many of the slowest tests are named.
const SLOWEST: usize = 10;

/// What became of one test.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    pub name: String,
    pub event: Event,
    pub seconds: f64,
    /// What it printed, if it failed.
    pub output: String,
}

impl Test {
    /// A line of a report that tells of it.
    pub fn line(&self) -> String {
        let event = match self.event {
            Event::Passed => "ok",
            Event::Failed => "failed",
            Event::Skipped => "ignored",
        };
        format!(r#"{{"type":"test","name":{:?},"event":"{event}","exec_time":{}}}"#, self.name, self.seconds)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Passed,
    Failed,
    /// It said by name that it cannot run here.
    Skipped,
}

/// The result of a suite.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    pub tests: Vec<Test>,
}

impl Outcome {
    /// One test that is no test program's: a check, or a program that failed as a whole.
    pub fn of(name: &str, success: bool) -> Self {
        let event = if success { Event::Passed } else { Event::Failed };
        Self { tests: vec![Test { name: name.to_owned(), event, seconds: 0.0, output: String::new() }] }
    }

    pub fn count(&self, event: Event) -> usize {
        self.tests.iter().filter(|test| test.event == event).count()
    }

    /// Adds what a program reported. It counts as one failure more if it failed without a failed test, or ran no test.
    pub fn add(&mut self, program: &str, tests: Vec<Test>, success: bool) {
        let has_failed = tests.iter().any(|test| test.event == Event::Failed);
        if (!success && !has_failed) || tests.is_empty() {
            self.tests.extend(Self::of(program, false).tests);
        }
        self.tests.extend(tests);
    }

    /// The slowest tests, slowest first.
    pub fn slowest(&self) -> Vec<&Test> {
        let mut tests: Vec<&Test> = self.tests.iter().collect();
        tests.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        tests.truncate(SLOWEST);
        tests
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.count(Event::Passed), self.count(Event::Failed))?;
        match self.count(Event::Skipped) {
            0 => Ok(()),
            skipped => write!(f, ", {skipped} skipped"),
        }
    }
}

impl std::ops::AddAssign for Outcome {
    fn add_assign(&mut self, other: Self) {
        self.tests.extend(other.tests);
    }
}

/// The file in which a program reports. It is empty at first.
pub fn file(program: &str) -> Result<PathBuf, Failure> {
    let folder = target().join("reports");
    fs::create_dir_all(&folder)?;
    let file = folder.join(program.replace('/', "-")).with_extension("jsonl");
    fs::write(&file, "")?;
    Ok(file)
}

/// The test that a line tells of, if it tells what became of one.
pub fn test(line: &str) -> Option<Test> {
    if field(line, "type")? != "test" {
        return None;
    }
    let event = match field(line, "event")?.as_str() {
        "ok" => Event::Passed,
        "failed" | "timeout" => Event::Failed,
        "ignored" => Event::Skipped,
        _ => return None,
    };
    let seconds = after(line, "exec_time").map_or(0.0, |rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        rest[..end].parse().unwrap_or(0.0)
    });
    Some(Test { name: field(line, "name")?, event, seconds, output: field(line, "stdout").unwrap_or_default() })
}

/// What stands behind the name of a field.
fn after<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(&format!("\"{name}\":"))?;
    Some(rest.trim_start())
}

/// The text of a field.
fn field(line: &str, name: &str) -> Option<String> {
    let mut rest = after(line, name)?.strip_prefix('"')?.chars();
    let mut text = String::new();
    loop {
        match rest.next()? {
            '"' => return Some(text),
            '\\' => match rest.next()? {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                'r' => text.push('\r'),
                'u' => {
                    let digits: String = rest.by_ref().take(4).collect();
                    text.push(u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32).unwrap_or('\u{fffd}'));
                }
                other => text.push(other),
            },
            other => text.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_test_programs_are_understood() {
        let rust = r#"{ "type": "test", "name": "a::b", "event": "failed", "exec_time": 1.25, "stdout": "no: \"x\"\n\u001b[0m" }"#;
        let expected =
            Test { name: "a::b".into(), event: Event::Failed, seconds: 1.25, output: "no: \"x\"\n\u{1b}[0m".into() };
        assert_eq!(test(rust), Some(expected));
        let ours = r#"{"type":"test","name":"R4: \"kills\"","event":"ok","exec_time":0.5}"#;
        assert_eq!(test(ours).unwrap().name, "R4: \"kills\"");
        assert_eq!(test(r#"{ "type": "test", "event": "ignored", "name": "c" }"#).unwrap().event, Event::Skipped);
    }

    #[test]
    fn other_lines_tell_of_no_test() {
        for line in [
            "",
            "running 3 tests",
            r#"{ "type": "suite", "event": "ok", "passed": 3 }"#,
            r#"{ "type": "test", "event": "started", "name": "a" }"#,
        ] {
            assert_eq!(test(line), None, "{line}");
        }
    }

    #[test]
    fn silence_is_a_failure() {
        let mut outcome = Outcome::default();
        outcome.add("program", Vec::new(), true);
        assert_eq!(outcome.to_string(), "0 passed, 1 failed");
        let passed = Outcome::of("a", true).tests;
        let mut outcome = Outcome::default();
        outcome.add("program", passed.clone(), false);
        assert_eq!(outcome.to_string(), "1 passed, 1 failed");
        let mut outcome = Outcome::default();
        outcome.add("program", passed, true);
        assert_eq!(outcome.to_string(), "1 passed, 0 failed");
    }
}
