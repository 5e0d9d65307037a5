//! Times that the gate may take: all of it, and what each suite took when its times were kept.

use crate::run::{Failure, root};
use std::fmt::Write as _;
use std::fs;

/// The gate's longest time on a clean clone with two quiet cores, in seconds. Above it the gate says which suite grew.
pub const SECONDS: f64 = 900.0;

/// A suite has grown if it takes so many times as long as the kept time, and so many seconds longer.
const GROWN: (f64, f64) = (1.2, 10.0);

const FILE: &str = "xtask/times.txt";

/// What to say about the times of suites, when all of them took `total` seconds.
pub fn verdict(total: f64, suites: &[(String, f64)]) -> String {
    let kept = fs::read_to_string(root().join(FILE)).unwrap_or_default();
    told(total, suites, &parse(&kept))
}

fn told(total: f64, suites: &[(String, f64)], kept: &[(String, f64)]) -> String {
    let mut text = format!("{total:.0} s of a budget of {SECONDS:.0} s");
    if total <= SECONDS {
        return text;
    }
    let before = |name: &str| kept.iter().find(|(kept, _)| kept == name).map_or(0.0, |(_, seconds)| *seconds);
    let mut grown: Vec<(f64, &str, f64)> = suites
        .iter()
        .map(|(name, seconds)| (*seconds - before(name), name.as_str(), *seconds))
        .filter(|(more, _, seconds)| *more > GROWN.1 && *seconds > GROWN.0 * (seconds - more))
        .collect();
    grown.sort_by(|a, b| b.0.total_cmp(&a.0));
    text.push_str(": over the budget");
    for (more, name, seconds) in &grown {
        let _ = write!(text, "\n    grew: {name}, from {:.0} s to {seconds:.0} s", seconds - more);
    }
    if grown.is_empty() {
        text.push_str("\n    no suite has grown: the machine is slower or busier than the one whose times were kept");
    }
    text
}

/// Keeps the times of suites, for later runs to compare.
pub fn keep(suites: &[(String, f64)]) -> Result<(), Failure> {
    let mut text =
        "# Seconds of each suite of the gate on a clean clone, two quiet cores: `cargo xtask test --keep-times`\n"
            .to_owned();
    for (name, seconds) in suites {
        let _ = writeln!(text, "{name} {seconds:.0}");
    }
    Ok(fs::write(root().join(FILE), text)?)
}

fn parse(text: &str) -> Vec<(String, f64)> {
    let line = |line: &str| {
        let (name, seconds) = line.split_once(' ')?;
        Some((name.to_owned(), seconds.parse().ok()?))
    };
    text.lines().filter(|line| !line.starts_with('#')).filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(times: &[(&str, f64)]) -> Vec<(String, f64)> {
        times.iter().map(|(name, seconds)| ((*name).to_owned(), *seconds)).collect()
    }

    #[test]
    fn above_the_budget_it_says_what_grew() {
        let kept = parse("# a comment\nnative 100\nwasm 50\ne2e 300\n");
        assert_eq!(kept, times(&[("native", 100.0), ("wasm", 50.0), ("e2e", 300.0)]));
        let now = times(&[("native", 105.0), ("wasm", 110.0), ("e2e", 700.0)]);
        assert_eq!(told(899.0, &now, &kept), "899 s of a budget of 900 s");
        let over = told(915.0, &now, &kept);
        assert!(
            over.contains("over the budget\n    grew: e2e, from 300 s to 700 s\n    grew: wasm, from 50 s to 110 s"),
            "{over}"
        );
        assert!(!over.contains("native"), "{over}");
        assert!(told(915.0, &kept, &kept).contains("no suite has grown"));
    }
}
