//! Administrative operations: `contract-administration.ts`.

use super::described::{Administrative, Again, administration};
use super::lower_first;

/// The properties, as the package tests them.
const HEAD: &str = "\
/** What is declared of an administrative operation. */
export const enum ADMIN {
  /** The part of a declaration that is its number. */
  NUMBER = 255,
  /** It may be done twice. */
  REPEATABLE = 256,
  /** The engine stores its answer with it, so the next engine can be asked for it. */
  ONCE = 512,
  /** It keeps its order while others wait for a retry. */
  ORDERED = 1024,
}

/** The administrative operations by their names: what is declared of each, added up. */
export const ADMINISTRATION = {
";

pub fn render() -> String {
    let lines: String =
        administration().iter().enumerate().map(|(number, operation)| line(number, operation)).collect();
    format!(
        "{HEAD}{lines}}};\n\n\
         /** The name of an administrative operation. */\n\
         export type AdminOperation = keyof typeof ADMINISTRATION;\n"
    )
}

fn line(number: usize, operation: &Administrative) -> String {
    let docs = operation.docs.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    let again = match operation.again {
        Again::Repeatable => " + ADMIN.REPEATABLE",
        Again::Once => " + ADMIN.ONCE",
        Again::Unrepeatable => "",
    };
    let order = if operation.is_ordered { " + ADMIN.ORDERED" } else { "" };
    format!("  /** {docs} */\n  {}: {number}{again}{order},\n", lower_first(operation.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declaration_is_its_number_and_what_it_says() {
        let of = |again, is_ordered| {
            let docs = &[" Two", " lines."];
            line(7, &Administrative { docs, name: "MakeTable", arguments: None, again, is_ordered })
        };
        let docs = "  /** Two lines. */\n";
        assert_eq!(of(Again::Once, true), format!("{docs}  makeTable: 7 + ADMIN.ONCE + ADMIN.ORDERED,\n"));
        assert_eq!(of(Again::Repeatable, false), format!("{docs}  makeTable: 7 + ADMIN.REPEATABLE,\n"));
        assert_eq!(of(Again::Unrepeatable, false), format!("{docs}  makeTable: 7,\n"));
    }

    #[test]
    fn the_names_are_unique_and_their_numbers_leave_room_for_the_rest() {
        let rendered = render();
        let mut names = rendered.lines().filter_map(|line| line.strip_suffix(',')?.trim().split_once(": "));
        let mut seen = std::collections::BTreeSet::new();
        assert!(names.all(|(name, _)| seen.insert(name)), "{rendered}");
        assert!((40..256).contains(&seen.len()), "{rendered}");
    }
}
