//! The numbers of passed and failed tests, read from the output of test programs.

/// The result of a suite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub passed: u64,
    pub failed: u64,
}

impl std::ops::AddAssign for Outcome {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

/// Adds up the closing lines of test programs: Cargo's and wasm-bindgen's, Node's, Vitest's, and our own `N passed, N
/// failed`. If ours is printed, it alone counts: it sums up the others.
#[derive(Debug, Default)]
pub struct Count {
    own: Option<Outcome>,
    others: Outcome,
}

impl Count {
    /// Reads one line.
    pub fn line(&mut self, line: &str) {
        let line = plain(line);
        let line = line.trim();
        if let Some(result) = line.strip_prefix("test result: ") {
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
        } else if let Some((passed, failed)) = line.split_once(" passed, ")
            && let (Ok(passed), Some(Ok(failed))) = (passed.parse(), failed.strip_suffix(" failed").map(str::parse))
        {
            let own = self.own.get_or_insert_default();
            *own += Outcome { passed, failed };
        }
    }

    /// The sum. A program counts as one failure if it failed without a failed test, or ran no test.
    pub fn outcome(&self, success: bool) -> Outcome {
        let mut outcome = self.own.unwrap_or(self.others);
        if outcome.failed == 0 && (!success || outcome.passed == 0) {
            outcome.failed = 1;
        }
        outcome
    }
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

    #[test]
    fn the_closing_lines_of_test_programs_are_understood() {
        let cargo = "test result: ok. 29 passed; 0 failed; 0 ignored; 0 measured; 5 filtered out; finished in 0.03s\n\
                     test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out";
        assert_eq!(count(cargo, false), Outcome { passed: 30, failed: 2 });
        assert_eq!(count("# tests 4\n# pass 3\n# fail 1\n# cancelled 0", false), Outcome { passed: 3, failed: 1 });
        assert_eq!(count("\u{2139} pass 3\n\u{2139} fail 0", true), Outcome { passed: 3, failed: 0 });
        let vitest = "\u{1b}[2m      Tests \u{1b}[22m \u{1b}[1m\u{1b}[31m1 failed\u{1b}[39m | 12 passed (13)";
        assert_eq!(count(vitest, false), Outcome { passed: 12, failed: 1 });
    }

    #[test]
    fn a_line_of_our_own_counts_alone() {
        assert_eq!(count("# pass 3\n3 passed, 0 failed\n4 passed, 1 failed", false), Outcome { passed: 7, failed: 1 });
    }

    #[test]
    fn silence_is_a_failure() {
        assert_eq!(count("", true), Outcome { passed: 0, failed: 1 });
        assert_eq!(count("5 passed, 0 failed", false), Outcome { passed: 5, failed: 1 });
    }
}
