//! Answers in JSON, written by hand: their form is fixed, to the order of the names (2.3, 2.4).

use super::headers::Level;
use super::url::{self, Url};
use crate::azure::text::{append, split};
use crate::azure::{AzureError, EdmType, EdmValue, Entity, date_time};

/// What stands between the URL of an account and the name of what is described.
const METADATA: &str = "/$metadata#";

/// What the entities of an answer have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context<'c> {
    /// How much they say about themselves.
    pub(super) level: Level,
    /// The URL of the request.
    pub(super) url: &'c Url<'c>,
    /// The table, as the request names it.
    pub(super) table: &'c str,
    /// The chosen properties; all if there are none.
    pub(super) select: &'c [&'c str],
}

/// A JSON object that is being written.
struct Object<'o> {
    out: &'o mut String,
    separator: char,
}

impl<'o> Object<'o> {
    fn new(out: &'o mut String) -> Self {
        Self { out, separator: '{' }
    }

    /// Writes a name; its value follows.
    fn name(&mut self, name: &str) -> &mut String {
        self.out.push(self.separator);
        self.separator = ',';
        self.out.push('"');
        escape(name, self.out);
        self.out.push_str("\":");
        self.out
    }

    fn text(&mut self, name: &str, value: &str) {
        text(value, self.name(name));
    }

    /// Writes a property, with its type if a reader needs it. The names of stored ones are identifiers: nothing is escaped.
    fn property(&mut self, name: &str, value: &EdmValue<'_>, level: Level) {
        let out = &mut *self.out;
        let mut before = self.separator;
        if let Some(edm_type) = annotation(value, level) {
            out.push(before);
            before = ',';
            append(&["\"", name, "@odata.type\":\"", edm_type, "\""], out);
        }
        self.separator = ',';
        out.push(before);
        append(&["\"", name, "\":"], out);
        match value {
            EdmValue::Boolean(_) | EdmValue::Int32(_) => value.write_text(out),
            EdmValue::Double(number) if number.is_finite() => value.write_text(out),
            EdmValue::String(value) => text(value, out),
            _ => {
                out.push('"');
                // None of these texts has a character that JSON escapes.
                value.write_text(out);
                out.push('"');
            }
        }
    }

    fn end(mut self) {
        if self.separator == '{' {
            self.out.push('{');
            self.separator = ',';
        }
        self.out.push('}');
    }
}

/// The type that is written beside a value: only if JSON does not tell it.
fn annotation(value: &EdmValue<'_>, level: Level) -> Option<&'static str> {
    let needed = match value.edm_type() {
        EdmType::DateTime => "Edm.DateTime",
        EdmType::Int64 => "Edm.Int64",
        EdmType::Guid => "Edm.Guid",
        EdmType::Binary => "Edm.Binary",
        EdmType::Double if matches!(value, EdmValue::Double(number) if !number.is_finite()) => "Edm.Double",
        _ => return None,
    };
    (level != Level::None).then_some(needed)
}

/// Writes an entity that is an answer of its own.
pub(super) fn single(entity: &dyn Entity, context: &Context<'_>) -> String {
    let mut out = String::with_capacity(1024);
    let mut object = Object::new(&mut out);
    if context.level != Level::None {
        object.text("odata.metadata", &metadata(context, true));
    }
    members(object, entity, context);
    out
}

/// Writes the head of a page; entities follow.
pub(super) fn begin_page(context: &Context<'_>, out: &mut String) {
    let mut object = Object::new(out);
    if context.level != Level::None {
        object.text("odata.metadata", &metadata(context, false));
    }
    object.name("value").push('[');
}

/// Writes an entity of a page.
pub(super) fn in_page(entity: &dyn Entity, context: &Context<'_>, out: &mut String) {
    if !out.ends_with('[') {
        out.push(',');
    }
    members(Object::new(out), entity, context);
}

/// Writes the end of a page.
pub(super) fn end_page(out: &mut String) {
    out.push_str("]}");
}

/// The address of the description of what an answer has.
fn metadata(context: &Context<'_>, is_single: bool) -> String {
    let single = if is_single { "/@Element" } else { "" };
    let mut address = [&context.url.base, METADATA, context.table, single].concat();
    if !context.select.is_empty() {
        address.push_str("&$select=");
        address.push_str(&context.select.join(","));
    }
    address
}

/// Writes the members of an entity, and its end.
fn members(mut object: Object<'_>, entity: &dyn Entity, context: &Context<'_>) {
    let Context { level, url, table, select } = *context;
    let (partition_key, row_key) = (entity.partition_key(), entity.row_key());
    let time = date_time::format(entity.timestamp());
    if level == Level::Full {
        object.text("odata.type", &[&url.account, ".", table].concat());
        let link = url::of_entity(table, (partition_key, row_key));
        object.text("odata.id", &[&*url.base, "/", &link].concat());
        object.text("odata.etag", &date_time::etag_of(&time));
        object.text("odata.editLink", &link);
    } else if level == Level::Minimal {
        object.text("odata.etag", &date_time::etag_of(&time));
    }
    let is_chosen = |name: &str| select.is_empty() || select.contains(&name);
    if is_chosen("PartitionKey") {
        object.text("PartitionKey", partition_key);
    }
    if is_chosen("RowKey") {
        object.text("RowKey", row_key);
    }
    if is_chosen("Timestamp") {
        // Its type is written at the full level only. With a type, the service's own client would return another one.
        if level == Level::Full {
            object.text("Timestamp@odata.type", EdmType::DateTime.name());
        }
        object.text("Timestamp", &time);
    }
    if select.is_empty() {
        entity.properties(&mut |name, value| object.property(name, &value, level));
    }
    for name in select.iter().filter(|name| !["PartitionKey", "RowKey", "Timestamp"].contains(name)) {
        // No property has such a name, and a null would hide what the service itself says under it.
        if split(name, "odata.").is_some() {
            continue;
        }
        match entity.property(name) {
            Some(value) => object.property(name, &value, level),
            // V12: the one place where there is a null.
            None => object.name(name).push_str("null"),
        }
    }
    object.end();
}

/// Writes an answer about tables: all in `names`, or the only one.
pub(super) fn tables(names: &[String], is_single: bool, level: Level, url: &Url<'_>) -> String {
    let mut out = String::with_capacity(256);
    let mut object = Object::new(&mut out);
    if level != Level::None {
        let single = if is_single { "/@Element" } else { "" };
        object.text("odata.metadata", &[&url.base, METADATA, "Tables", single].concat());
    }
    let members = |object: &mut Object<'_>, name: &str| {
        if level == Level::Full {
            object.text("odata.type", &[&url.account, ".Tables"].concat());
            object.text("odata.id", &url.of_table(name));
            object.text("odata.editLink", &url::of_table(name));
        }
        object.text("TableName", name);
    };
    if is_single {
        names.iter().take(1).for_each(|name| members(&mut object, name));
        object.end();
        return out;
    }
    object.name("value").push('[');
    for (at, name) in names.iter().enumerate() {
        if at > 0 {
            object.out.push(',');
        }
        let mut one = Object::new(object.out);
        members(&mut one, name);
        one.end();
    }
    object.out.push(']');
    object.end();
    out
}

/// Writes an error, on one line. `message` is its text, with the lines about the request.
pub(super) fn error(error: &AzureError, message: &str) -> String {
    let mut out = String::with_capacity(256);
    append(&[r#"{"odata.error":{"code":""#, error.code.as_str(), r#"","message":{"lang":"en-US","value":"#], &mut out);
    text(message, &mut out);
    out.push_str("}}}");
    out
}

/// Writes a string.
fn text(value: &str, out: &mut String) {
    out.push('"');
    escape(value, out);
    out.push('"');
}

/// Writes the inside of a string.
fn escape(value: &str, out: &mut String) {
    let mut rest = value;
    // A loop over letters would take a third of a page's time. All that is escaped is ASCII, whose bytes no other letter has, or
    // a separator of lines or paragraphs: clients look for an error on one line, and end a line there.
    let is_special = |byte| byte < b' ' || matches!(byte, b'"' | b'\\' | 0xE2);
    while let Some((before, after)) = rest.bytes().position(is_special).and_then(|at| rest.split_at_checked(at)) {
        out.push_str(before);
        let mut letters = after.chars();
        match letters.next() {
            Some('\n') => out.push_str("\\n"),
            Some('\r') => out.push_str("\\r"),
            Some('\t') => out.push_str("\\t"),
            Some(letter @ ('"' | '\\')) => out.extend(['\\', letter]),
            Some(letter) if letter > ' ' && !matches!(letter, '\u{2028}' | '\u{2029}') => out.push(letter),
            // Below a blank there are 32.
            Some(letter) => {
                out.push_str(match letter {
                    ..'\x10' => "\\u000",
                    ..' ' => "\\u001",
                    _ => "\\u202",
                });
                out.push(char::from_digit(u32::from(letter) & 15, 16).unwrap_or('0'));
            }
            None => {}
        }
        rest = letters.as_str();
    }
    out.push_str(rest);
}
