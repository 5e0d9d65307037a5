//! The arguments of administrative operations: `contract-arguments.ts`.

use super::described::{Codec, DECLARATIONS, Field, Shape, administration, shape};
use super::{camel, lower_first};
use crate::run::Failure;
use std::fmt::Write as _;

/// The checks of single arguments, which pkg/src/codec/arguments.ts has.
const CHECKS: [(&str, &str); 4] = [("Amount", "amount"), ("Flag", "flag"), ("Integer", "integer"), ("Text", "text")];

pub fn render() -> Result<String, Failure> {
    let (mut objects, mut operations) = (String::new(), String::new());
    for declared in DECLARATIONS {
        let Shape::Arguments(fields) = declared.shape else { continue };
        let name = lower_first(declared.name);
        let fields = members(fields)?;
        let _ = write!(objects, "\n/** The argument {name}. */\nexport const {name} = object({fields});\n");
    }
    for operation in administration() {
        let Some(fields) = operation.arguments else { continue };
        let _ = writeln!(operations, "  {}: call({}),", lower_first(operation.name), members(fields)?);
    }
    Ok(format!(
        "import {{ amount, call, flag, integer, listOf, object, text }} from \"./arguments.js\";\n\
         {objects}\n\
         /** The arguments of those operations that applications give them to. */\n\
         export const ARGUMENTS = {{\n{operations}}};\n"
    ))
}

/// The checks of some arguments by their names, and the names of those that must be there.
fn members(fields: &[Field]) -> Result<String, Failure> {
    let (mut checks, mut needed) = (Vec::new(), String::new());
    for field in fields {
        let name = camel(field.name);
        let codec = match (field.codec.name(), field.codec.inner()) {
            ("Maybe", Some(inner)) => inner,
            _ => {
                let _ = write!(needed, ", {name:?}");
                field.codec
            }
        };
        checks.push(format!("{name}: {}", check(codec)?));
    }
    Ok(match checks.join(", ") {
        checks if checks.is_empty() => "{}".to_owned(),
        checks => format!("{{ {checks} }}{needed}"),
    })
}

fn check(codec: Codec) -> Result<String, Failure> {
    if let Some((_, check)) = CHECKS.iter().find(|(name, _)| *name == codec.0) {
        return Ok((*check).to_owned());
    }
    if let ("List", Some(inner)) = (codec.name(), codec.inner()) {
        return Ok(format!("listOf({})", check(inner)?));
    }
    if matches!(shape(codec.0), Some(Shape::Arguments(_))) {
        return Ok(lower_first(codec.0));
    }
    Err(Failure::new(format!(
        "nothing says how an argument {:?} is checked: add its check to pkg/src/codec/arguments.ts, and a line about it to CHECKS \
         in xtask/src/contract/arguments.rs",
        codec.0
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn field(name: &'static str, codec: &'static str) -> Field {
        Field { name, codec: Codec(codec) }
    }

    #[test]
    fn arguments_have_their_checks_and_those_without_maybe_must_be_there() {
        let all = [field("table_name", "Text"), field("prices", "Maybe<Prices>"), field("columns", "List<KeyColumn>")];
        assert_eq!(
            members(&all).unwrap(),
            "{ tableName: text, prices: prices, columns: listOf(keyColumn) }, \"tableName\", \"columns\""
        );
        assert_eq!(members(&[]).unwrap(), "{}");
    }

    #[test]
    fn an_argument_that_nobody_checks_is_refused_and_says_what_to_add() {
        let refused = members(&[field("colour", "Maybe<Colour>")]).unwrap_err().to_string();
        assert!(refused.contains("Colour") && refused.contains("CHECKS"), "{refused}");
    }
}
