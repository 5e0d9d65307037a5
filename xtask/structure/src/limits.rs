//! The limits of each measure, and what exceeds them.

use crate::measures::{Measure, Part, Structure};
use std::fmt::Display;

/// The file of the limits.
pub const FILE: &str = "xtask/structure.txt";

/// How many of the new parts are named.
const NAMED: usize = 12;

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    pub key: String,
    /// No single number has to be higher.
    pub goal: usize,
    /// The ceiling of the highest number. At the goal or below it nothing fails.
    pub highest: usize,
    /// The ceiling of what all numbers have beyond the goal together.
    pub beyond: usize,
}

/// How a measure stands to its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Above,
    At,
    /// A ceiling can be lowered.
    Below,
}

impl Limit {
    pub fn standing(&self, measure: &Measure) -> Standing {
        let (highest, beyond) = (measure.highest().max(self.goal), measure.beyond(self.goal));
        let ceiling = self.highest.max(self.goal);
        if highest > ceiling || beyond > self.beyond {
            Standing::Above
        } else if highest < ceiling || beyond < self.beyond {
            Standing::Below
        } else {
            Standing::At
        }
    }

    /// The limit with its ceilings at today's numbers, where these are lower.
    fn lowered(&self, measure: &Measure) -> Self {
        Self {
            highest: self.highest.min(measure.highest().max(self.goal)),
            beyond: self.beyond.min(measure.beyond(self.goal)),
            ..self.clone()
        }
    }
}

/// Reads the file. Each measure has to have a line, and each line a measure.
///
/// # Errors
/// A line that cannot be read, is missing or has no measure.
pub fn parse(text: &str, measures: &[Measure]) -> Result<Vec<Limit>, String> {
    let limits: Vec<Limit> = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
        .map(|line| limit(line).ok_or_else(|| format!("{FILE}: not a limit: {line:?}")))
        .collect::<Result<_, _>>()?;
    if let Some(limit) = limits.iter().find(|limit| !measures.iter().any(|measure| measure.key == limit.key)) {
        return Err(format!("{FILE}: nothing measures {:?}", limit.key));
    }
    measures
        .iter()
        .map(|measure| {
            let limit = limits.iter().find(|limit| limit.key == measure.key).cloned();
            limit.ok_or_else(|| format!("{FILE}: {:?} has no limit", measure.key))
        })
        .collect()
}

fn limit(line: &str) -> Option<Limit> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [key @ .., goal, highest, beyond] = words.as_slice() else { return None };
    let number = |word: &str| word.parse().ok();
    Some(Limit { key: key.join(" "), goal: number(goal)?, highest: number(highest)?, beyond: number(beyond)? })
}

/// The text of the file with lowered ceilings. Comments stay.
///
/// # Errors
/// See [`parse`].
pub fn lowered(text: &str, measures: &[Measure]) -> Result<String, String> {
    let limits = parse(text, measures)?;
    let mut lines = Vec::new();
    for line in text.lines() {
        let found = limit(line)
            .filter(|_| !line.starts_with('#'))
            .and_then(|limit| limits.iter().zip(measures).find(|(known, _)| known.key == limit.key));
        lines.push(match found {
            Some((limit, measure)) => written(&limit.lowered(measure)),
            None => line.to_owned(),
        });
    }
    Ok(lines.join("\n") + "\n")
}

fn written(limit: &Limit) -> String {
    format!("{:<32}{:>6}{:>9}{:>8}", limit.key, limit.goal, limit.highest, limit.beyond)
}

/// What to say about a measure above its limit. `before` is the structure when the limits were last written, if it is known.
pub fn complaint(measure: &Measure, limit: &Limit, before: Option<&Structure>) -> String {
    let mut text = format!("{}: ", measure.key);
    if measure.highest() > limit.highest.max(limit.goal) {
        text += &format!("the highest is {}, the ceiling {}; ", measure.highest(), limit.highest);
    }
    if measure.beyond(limit.goal) > limit.beyond {
        text += &format!(
            "{} beyond the goal of {}, the ceiling {}; ",
            measure.beyond(limit.goal),
            limit.goal,
            limit.beyond
        );
    }
    let before = before.and_then(|before| before.measures.iter().find(|other| other.key == measure.key));
    let is_new = |part: &&Part| before.is_some_and(|before| !before.known.contains(&part.key));
    let parts = measure.values.iter().filter(|value| value.number > limit.goal).flat_map(|value| &value.parts);
    let new: Vec<&str> = parts.filter(is_new).map(|part| part.text.as_str()).collect();
    if !new.is_empty() {
        list(&mut text, "new since the limits were written:", &new);
    } else if measure.closing.is_empty() {
        let highest = measure.values.iter().take(3).map(|value| format!("{} {}", value.number, value.of));
        list(&mut text, "the highest are", &highest.collect::<Vec<_>>());
    } else {
        list(&mut text, "without these there would be no circle:", &measure.closing);
    }
    text
}

/// Adds some lines below what they are.
fn list(text: &mut String, what: &str, lines: &[impl Display]) {
    *text += what;
    lines.iter().take(NAMED).for_each(|line| *text += &format!("\n    {line}"));
    if lines.len() > NAMED {
        *text += &format!("\n    and {} more", lines.len() - NAMED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measures::Value;

    fn measure(numbers: &[(&str, usize)]) -> Measure {
        let value = |(of, number): &(&str, usize)| {
            let parts = (0..*number).map(|at| Part { key: format!("{of}::{at}"), text: format!("{of}::{at} in a.rs") });
            Value { of: (*of).to_owned(), number: *number, parts: parts.collect() }
        };
        Measure::new("methods of a type", numbers.iter().map(value).collect())
    }

    const TEXT: &str = "# A comment.\nmethods of a type                    3        7       6\n";

    fn only(text: &str, measure: &Measure) -> Limit {
        parse(text, std::slice::from_ref(measure)).unwrap().remove(0)
    }

    #[test]
    fn a_number_above_its_ceiling_names_what_came() {
        let before = measure(&[("Engine", 7), ("Instance", 5), ("Small", 2)]);
        let limit = only(TEXT, &before);
        assert_eq!(limit.standing(&before), Standing::At);
        let before = Structure {
            measures: vec![before],
            types: vec![],
            longest: vec![],
            rust_files: vec![],
            script_files: vec![],
        };
        let grown = measure(&[("Engine", 7), ("Instance", 6), ("Small", 3)]);
        assert_eq!(limit.standing(&grown), Standing::Above);
        assert_eq!(
            complaint(&grown, &limit, Some(&before)),
            "methods of a type: 7 beyond the goal of 3, the ceiling 6; new since the limits were written:\n    Instance::5 in a.rs"
        );
        let grown = measure(&[("Engine", 8), ("Instance", 4)]);
        assert_eq!(limit.standing(&grown), Standing::Above, "one number may not grow at the cost of others");
        assert!(complaint(&grown, &limit, Some(&before)).contains("highest is 8, the ceiling 7; new since"));
        assert!(complaint(&grown, &limit, None).ends_with("the highest are\n    8 Engine\n    4 Instance"));
    }

    #[test]
    fn what_is_within_the_goal_may_grow() {
        let limit = only("methods of a type 60 60 0", &measure(&[]));
        assert_eq!(limit.standing(&measure(&[("Engine", 60), ("Instance", 12)])), Standing::At);
        assert_eq!(limit.standing(&measure(&[("Engine", 61)])), Standing::Above);
    }

    #[test]
    fn a_lower_number_lowers_the_ceiling() {
        let now = measure(&[("Engine", 5), ("Instance", 4)]);
        assert_eq!(only(TEXT, &now).standing(&now), Standing::Below);
        let lowered = lowered(TEXT, std::slice::from_ref(&now)).unwrap();
        assert_eq!(lowered, "# A comment.\nmethods of a type                    3        5       3\n");
        assert_eq!(only(&lowered, &now).standing(&now), Standing::At);
        let higher = measure(&[("Engine", 9)]);
        assert_eq!(super::lowered(&lowered, std::slice::from_ref(&higher)).unwrap(), lowered, "it never rises");
    }

    #[test]
    fn each_measure_has_a_limit_and_each_limit_a_measure() {
        let measures = [measure(&[])];
        assert!(parse("# nothing\n", &measures).unwrap_err().contains("has no limit"));
        assert!(
            parse(&format!("{TEXT}weight 1 2 3\n"), &measures).unwrap_err().contains("nothing measures \"weight\"")
        );
        assert!(parse("methods of a type 1 two 3", &measures).unwrap_err().contains("not a limit"));
    }
}
