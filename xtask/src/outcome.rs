//! The numbers of passed, failed and skipped tests and the names of the failed ones, read from the output of test programs.

use std::fmt;

/// The result of a suite.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub passed: u64,
    pub failed: u64,
    /// Those that said by name that they cannot run here.
    pub skipped: u64,
    /// The names of those that failed, as far as they were told.
    pub names: Vec<String>,
}

impl Outcome {
    /// One failure.
    pub const FAILURE: Self = Self { passed: 0, failed: 1, skipped: 0, names: Vec::new() };

    /// A check that counts as one test.
    pub fn of(success: bool) -> Self {
        if success { Self { passed: 1, ..Self::default() } } else { Self::FAILURE }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 { write!(f, ", {} skipped", self.skipped) } else { Ok(()) }
    }
}

impl std::ops::AddAssign for Outcome {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.names.extend(other.names);
    }
}

/// Adds up the closing lines of test programs: Cargo's and wasm-bindgen's, Node's, Vitest's, and our own `N passed, N
/// failed`, perhaps with `, N skipped`. If ours is printed, it alone counts: it sums up the others.
#[derive(Debug, Default)]
pub struct Count {
    own: Option<Outcome>,
    others: Outcome,
    failed: Vec<String>,
}

impl Count {
    /// Reads one line.
    pub fn line(&mut self, line: &str) {
        let line = plain(line);
        let line = line.trim();
        if let Some(name) = failed(line) {
            // Vitest tells a name twice.
            if !self.failed.iter().any(|told| told == name) {
                self.failed.push(name.to_owned());
            }
        } else if let Some(result) = line.strip_prefix("test result: ") {
            // `ok. 29 passed; 0 failed; 0 ignored; ...`
            self.others.passed += before(result, " passed").unwrap_or(0);
            self.others.failed += before(result, " failed").unwrap_or(0);
        } else if let Some(rest) = line.strip_prefix("# ").or_else(|| line.strip_prefix("\u{2139} ")) {
            // Node prints `# pass 3` as TAP and `ℹ pass 3` for people.
            let number = |word| rest.strip_prefix(word).and_then(|number| number.parse::<u64>().ok()).unwrap_or(0);
            self.others.passed += number("pass ");
            self.others.failed += number("fail ") + number("cancelled ");
        } else if let Some(rest) = line.strip_prefix("Tests ") {
            // Vitest: `Tests  1 failed | 12 passed (13)`
            self.others.passed += before(rest, " passed").unwrap_or(0);
            self.others.failed += before(rest, " failed").unwrap_or(0);
        } else if let Some(outcome) = own(line) {
            *self.own.get_or_insert_default() += outcome;
        }
    }

    /// The sum. A program counts as one failure if it failed without a failed test, or ran no test.
    pub fn outcome(&self, success: bool) -> Outcome {
        let mut outcome = self.own.clone().unwrap_or_else(|| self.others.clone());
        outcome.names.clone_from(&self.failed);
        if outcome.failed == 0 && (!success || outcome.passed == 0) {
            outcome.failed = 1;
        }
        outcome
    }
}

/// The name of a failed test: our own programs and Vitest print `FAIL  name`, Cargo `---- name stdout ----`.
fn failed(line: &str) -> Option<&str> {
    let cargo = || line.strip_prefix("---- ")?.strip_suffix(" stdout ----");
    line.strip_prefix("FAIL ").or_else(cargo).map(str::trim)
}

/// Reads a closing line of our own.
fn own(line: &str) -> Option<Outcome> {
    let (passed, rest) = line.split_once(" passed, ")?;
    let (failed, skipped) = match rest.split_once(", ") {
        Some((failed, skipped)) => (failed, skipped.strip_suffix(" skipped")?),
        None => (rest, "0"),
    };
    let number = |text: &str| text.parse().ok();
    Some(Outcome {
        passed: number(passed)?,
        failed: number(failed.strip_suffix(" failed")?)?,
        skipped: number(skipped)?,
        names: Vec::new(),
    })
}

/// The number right before `word`.
fn before(line: &str, word: &str) -> Option<u64> {
    let (head, _) = line.split_once(word)?;
    head.rsplit(' ').next()?.parse().ok()
}

/// The text without colours.
fn plain(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            // `ESC [ ... letter`
            characters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            plain.push(character);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(output: &str, success: bool) -> Outcome {
        let mut count = Count::default();
        output.lines().for_each(|line| count.line(line));
        count.outcome(success)
    }

    fn some(passed: u64, failed: u64) -> Outcome {
        Outcome { passed, failed, ..Outcome::default() }
    }

    #[test]
    fn the_closing_lines_of_test_programs_are_understood() {
        let cargo = "test result: ok. 29 passed; 0 failed; 0 ignored; 0 measured; 5 filtered out; finished in 0.03s\n\
                     test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out";
        assert_eq!(count(cargo, false), some(30, 2));
        assert_eq!(count("# tests 4\n# pass 3\n# fail 1\n# cancelled 0", false), some(3, 1));
        assert_eq!(count("\u{2139} pass 3\n\u{2139} fail 0", true), some(3, 0));
        let vitest = "\u{1b}[2m      Tests \u{1b}[22m \u{1b}[1m\u{1b}[31m1 failed\u{1b}[39m | 12 passed (13)";
        assert_eq!(count(vitest, false), some(12, 1));
    }

    #[test]
    fn a_line_of_our_own_counts_alone() {
        assert_eq!(count("# pass 3\n3 passed, 0 failed\n4 passed, 1 failed", false), some(7, 1));
        let skips = count("3 passed, 0 failed, 2 skipped\n4 passed, 0 failed\n1 passed, 0 failed, 0 skipped", true);
        assert_eq!(skips, Outcome { passed: 8, skipped: 2, ..Outcome::default() });
        assert_eq!(skips.to_string(), "8 passed, 0 failed, 2 skipped");
        assert_eq!(some(8, 1).to_string(), "8 passed, 1 failed");
    }

    #[test]
    fn the_names_of_failed_tests_are_kept() {
        let own = "ok    one (0.1 s)\nFAIL  two: it holds (1.5 s)\n      Error: no\n1 passed, 1 failed";
        assert_eq!(count(own, false).names, ["two: it holds (1.5 s)"]);
        let cargo = "---- engine::tests::three stdout ----\ntest result: FAILED. 1 passed; 1 failed;";
        assert_eq!(count(cargo, false).names, ["engine::tests::three"]);
        let vitest =
            "\u{1b}[41m FAIL \u{1b}[49m a.test.ts > four\n FAIL  a.test.ts > four\nTests  1 failed | 2 passed (3)";
        let outcome = count(vitest, false);
        assert_eq!(outcome, Outcome { names: vec!["a.test.ts > four".to_owned()], ..some(2, 1) });
        let mut sum = count(own, false);
        sum += outcome;
        assert_eq!(sum.names, ["two: it holds (1.5 s)", "a.test.ts > four"]);
    }

    #[test]
    fn silence_is_a_failure() {
        assert_eq!(count("", true), some(0, 1));
        assert_eq!(count("5 passed, 0 failed", false), some(5, 1));
    }
}
