//! XML: a small tree for bodies that clients send, and texts for what the door writes.

use crate::azure::text::split;
use crate::azure::{AzureCode, AzureResult};

/// How deep the elements of a body may be.
const DEPTH: usize = 8;
/// How many elements a body may have: more than the largest that is valid.
const ELEMENTS: usize = 1000;

/// What stands between the parts of a tag.
const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];
/// What no name has, among others. It is looked for so that broken tags do not pass for names.
const NO_NAME: [char; 6] = ['<', '&', '/', '=', '"', '\''];

/// The line in front of every document.
pub(super) const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>";

/// An element of a body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Element {
    /// Its name, without a prefix.
    pub(super) name: String,
    /// Its text; that of its children is not in it.
    pub(super) text: String,
    /// Its children.
    pub(super) children: Vec<Self>,
}

/// Gates of [`Module::Access`](crate::modules::Module::Access).
impl Element {
    /// Reads a document.
    ///
    /// # Errors
    /// `InvalidXmlDocument`.
    pub(super) fn read(body: &[u8]) -> AzureResult<Self> {
        let text = std::str::from_utf8(body).ok();
        text.and_then(|text| Self::parse(text.trim_start_matches('\u{FEFF}'))).ok_or_else(wrong)
    }

    /// Attributes and prefixes mean nothing here. There is no document type: nobody needs entities of a document's own, and they
    /// can be made to grow without end.
    fn parse(text: &str) -> Option<Self> {
        // The open elements with their whole names, the document first.
        let mut open = vec![("", Self::default())];
        let (mut count, mut rest) = (0, text);
        while let Some((before, markup)) = rest.split_once('<') {
            push_text(before, &mut open.last_mut()?.1.text)?;
            rest = if let Some(behind) = markup.strip_prefix("!--") {
                split(behind, "-->")?.1
            } else if let Some(behind) = markup.strip_prefix("![CDATA[") {
                let (data, behind) = split(behind, "]]>")?;
                push_lines(data, &mut open.last_mut()?.1.text);
                behind
            } else if let Some(behind) = markup.strip_prefix('?') {
                split(behind, "?>")?.1
            } else if let Some(behind) = markup.strip_prefix('/') {
                let (name, behind) = behind.split_once('>')?;
                let (start, element) = open.pop()?;
                if name.trim_end_matches(BLANKS) != start {
                    return None;
                }
                open.last_mut()?.1.children.push(element);
                behind
            } else {
                let (tag, behind) = markup.split_at_checked(end_of_tag(markup)?)?;
                let (tag, is_empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
                let name = tag.split(BLANKS).next()?;
                count += 1;
                if open.len() > DEPTH || count > ELEMENTS || name.is_empty() || name.contains(NO_NAME) {
                    return None;
                }
                let local = name.split_once(':').map_or(name, |(_, local)| local);
                let element = Self { name: local.to_owned(), ..Self::default() };
                if is_empty {
                    open.last_mut()?.1.children.push(element);
                } else {
                    open.push((name, element));
                }
                behind.strip_prefix('>')?
            };
        }
        push_text(rest, &mut open.last_mut()?.1.text)?;
        let ((_, document), true) = (open.pop()?, open.is_empty()) else { return None };
        let mut roots = document.children.into_iter();
        match (roots.next(), roots.next(), document.text.trim().is_empty()) {
            (Some(root), None, true) => Some(root),
            _ => None,
        }
    }

    /// The children, if the element has the name and each child is one of `names`, once.
    ///
    /// # Errors
    /// `InvalidXmlDocument`.
    pub(super) fn fields<const N: usize>(&self, names: [&str; N]) -> AzureResult<[Option<&Self>; N]> {
        let mut fields = [None; N];
        for child in &self.children {
            let at = names.iter().position(|name| *name == child.name).ok_or_else(wrong)?;
            let field = fields.get_mut(at).ok_or_else(wrong)?;
            if field.replace(child).is_some() {
                return Err(wrong());
            }
        }
        Ok(fields)
    }

    /// The text without the blanks around it.
    ///
    /// # Errors
    /// `InvalidXmlDocument` if there are elements in it.
    pub(super) fn value(&self) -> AzureResult<&str> {
        if self.children.is_empty() { Ok(self.text.trim()) } else { Err(wrong()) }
    }
}

/// Where a tag ends: a `>` outside the quotes of its attributes.
fn end_of_tag(markup: &str) -> Option<usize> {
    let mut quote = None;
    markup.bytes().position(|byte| {
        match (quote, byte) {
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(first), _) if first == byte => quote = None,
            _ => {}
        }
        quote.is_none() && byte == b'>'
    })
}

/// Appends text with references in it.
/// A gate of [`Module::Access`](crate::modules::Module::Access).
fn push_text(text: &str, out: &mut String) -> Option<()> {
    let mut parts = text.split('&');
    push_lines(parts.next()?, out);
    for part in parts {
        let (name, behind) = part.split_once(';')?;
        out.push(match name {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            _ => letter(name.strip_prefix('#')?)?,
        });
        push_lines(behind, out);
    }
    Some(())
}

/// The letter of a number: decimal, or hexadecimal behind an `x`. No document has the letter 0.
fn letter(number: &str) -> Option<char> {
    let (digits, radix) = number.strip_prefix('x').map_or((number, 10), |digits| (digits, 16));
    if digits.is_empty() {
        return None;
    }
    let code = digits.chars().try_fold(0_u32, |code, digit| {
        // No letter has so large a number, and this one times the radix still fits.
        (code <= 0x11_0000).then(|| Some(code * radix + digit.to_digit(radix)?))?
    });
    char::from_u32(code?).filter(|letter| *letter != '\0')
}

/// Appends text whose lines end as XML says: `\r\n` and `\r` are `\n`.
fn push_lines(text: &str, out: &mut String) {
    let mut lines = text.split('\r');
    out.push_str(lines.next().unwrap_or_default());
    for line in lines {
        out.push('\n');
        out.push_str(line.strip_prefix('\n').unwrap_or(line));
    }
}

/// The refusal of a document.
pub(super) fn wrong() -> crate::azure::AzureError {
    AzureCode::InvalidXmlDocument.into()
}

/// Writes an element with a text. Attributes may follow its name.
pub(super) fn element(name: &str, text: &str, out: &mut String) {
    out.extend(["<", name, ">"]);
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // XML has no other control characters at all.
            '\0'..='\x08' | '\x0B' | '\x0C' | '\x0E'..='\x1F' => out.push('?'),
            '\r' => out.push_str("&#13;"),
            _ => out.push(letter),
        }
    }
    out.extend(["</", name.split(' ').next().unwrap_or_default(), ">"]);
}

/// The body for an error.
pub(super) fn error(code: AzureCode, message: &str) -> String {
    let mut out = String::from(DECLARATION);
    out.push_str("<m:error xmlns:m=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\">");
    element("m:code", code.as_str(), &mut out);
    element("m:message xml:lang=\"en-US\"", message, &mut out);
    out.push_str("</m:error>");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> AzureResult<Element> {
        Element::read(text.as_bytes())
    }

    #[test]
    fn a_document_is_read_with_all_that_xml_allows() {
        let text = "\u{FEFF}<?xml version='1.0'?><!-- x --><a:A xmlns:a='u' b='c'> <B>&lt;&#65;&#x1F600;<![CDATA[<&]]></B><C/></a:A>\n";
        let element = read(text).expect("a document");
        assert_eq!(element.name, "A");
        let [b, c, none] = element.fields(["B", "C", "D"]).expect("fields");
        assert_eq!(b.expect("there").value().expect("text"), "<A\u{1F600}<&");
        assert_eq!((c.expect("there").value().expect("text"), none), ("", None));
    }

    #[test]
    fn lines_end_as_xml_says_and_tags_may_have_blanks() {
        let text = "<a b='>' c=\"'>\"\r\n>x\r\ny\rz\n<![CDATA[\r\n\r]]>&#13;&#xd;<?p ?><!----></a\t>\r\n<!-- - -- -->";
        assert_eq!(read(text).expect("a document").text, "x\ny\nz\n\n\n\r\r");
        let text = "<p:a:b  c='&'/>";
        assert_eq!(read(text).expect("a document").name, "a:b");
    }

    #[test]
    fn broken_documents_are_refused() {
        let deep = "<a>".repeat(2000) + &"</a>".repeat(2000);
        let wide = format!("<a>{}</a>", "<b/>".repeat(2000));
        for text in [
            "",
            "x",
            "<a>",
            "</a>",
            "<a></b>",
            "<a/><b/>",
            "<a>&unknown;</a>",
            "<a>&#xD800;</a>",
            "<a>&#0;</a>",
            "<a>&#x110000;</a>",
            "<a>&#99999999999999999999;</a>",
            "<a>&#;</a>",
            "<a>&#x;</a>",
            "<a>&#+65;</a>",
            "<a>&#X41;</a>",
            "<a>&;</a>",
            "<a>& </a>",
            "<a/>&amp;",
            "<a b='></a>",
            "<a/b></a/b>",
            "<></>",
            "< a></ a>",
            "<p:a></a>",
            "<a><!-- </a>",
            "<a><? </a>",
            "<!DOCTYPE a><a/>",
            "<!doctype a><a/>",
            "<![INCLUDE[ <a/> ]]>",
            "<a/><",
            "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
            "<a",
            "<a><![CDATA[</a>",
            "text<a/>",
            &deep,
            &wide,
        ] {
            assert_eq!(read(text).expect_err("refused").code, AzureCode::InvalidXmlDocument, "{text:.40}");
        }
        assert!(Element::read(b"<a>\xFF</a>").is_err());
        let twice = read("<a><b/><b/></a>").expect("a document");
        assert!(twice.fields(["b"]).is_err() && twice.fields(["c"]).is_err() && twice.value().is_err());
    }

    /// Elements with any names and texts.
    fn element() -> impl Strategy<Value = Element> {
        let of = |children: Vec<Element>| {
            ("[A-Za-z_][A-Za-z0-9_.-]{0,8}", any::<String>()).prop_map(move |(name, text)| {
                // A text of blanks around children comes back; letters that XML does not have are written as others.
                let text = text.replace(|letter: char| letter < ' ' && !matches!(letter, '\t' | '\n' | '\r'), "?");
                Element { name, text, children: children.clone() }
            })
        };
        of(Vec::new()).prop_recursive(4, 20, 4, move |inner| prop::collection::vec(inner, 0..4).prop_flat_map(of))
    }

    /// Writes a tree in one of the many ways that XML has; `ways` chooses.
    fn write(element: &Element, ways: &mut impl Iterator<Item = u8>, out: &mut String) {
        let mut way = || ways.next().unwrap_or_default();
        let prefix = if way().is_multiple_of(2) { "" } else { "p:" };
        out.extend(["<", prefix, &element.name]);
        out.push_str([" ", "\n", "", " b = '>\"/'", " c=\"'&<\" d"][usize::from(way() % 5)]);
        if element.text.is_empty() && element.children.is_empty() && way().is_multiple_of(2) {
            out.push_str("/>");
            return;
        }
        out.push('>');
        for letter in element.text.chars() {
            match (letter, way() % 8) {
                (_, 0) => out.push_str(&format!("&#{};", u32::from(letter))),
                (_, 1) => out.push_str(&format!("&#x{:X};", u32::from(letter))),
                ('\r', _) => out.push_str("&#13;"),
                (_, 2) => out.push_str(&format!("<![CDATA[{letter}]]>")),
                (_, 3) => out.push_str(&format!("<!-- > -->{}<?x >?>", escaped(letter))),
                ('\n', 4) => out.push_str("\r\n"),
                _ => out.push_str(&escaped(letter)),
            }
        }
        element.children.iter().for_each(|child| write(child, ways, out));
        out.extend([
            "</",
            prefix,
            &element.name,
            ["", " ", "\r\n"][usize::from(ways.next().unwrap_or_default() % 3)],
            ">",
        ]);
    }

    fn escaped(letter: char) -> String {
        let names = [('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;"), ('\'', "&apos;")];
        names.iter().find(|(other, _)| *other == letter).map_or(letter.to_string(), |(_, name)| (*name).to_owned())
    }

    proptest! {
        #[test]
        fn a_tree_is_read_however_it_is_written(root in element(), ways in prop::collection::vec(any::<u8>(), 1..100)) {
            let mut text = DECLARATION.to_owned();
            write(&root, &mut ways.iter().copied().cycle(), &mut text);
            prop_assert_eq!(Element::read(text.as_bytes()), Ok(root), "{}", text);
        }

        #[test]
        fn a_text_that_the_door_writes_is_read_back(text in "[^\\x00-\\x08\\x0B\\x0C\\x0E-\\x1F]{0,20}") {
            let mut document = String::new();
            super::element("a", &text, &mut document);
            prop_assert_eq!(Element::read(document.as_bytes()).expect("a document").text, text);
        }

        #[test]
        fn no_change_of_a_document_panics(
            root in element(),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..5),
            ways in prop::collection::vec(any::<u8>(), 1..50),
        ) {
            let mut text = String::new();
            write(&root, &mut ways.iter().copied().cycle(), &mut text);
            let mut bytes = text.into_bytes();
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = if byte < 128 { b"<>&;/!-[]?'\"#x="[usize::from(byte % 15)] } else { byte };
            }
            let _ = Element::read(&bytes);
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..64), text in "[<>&;/!?a'\"#x=\\[\\]C-]{0,40}") {
            let _ = (Element::read(&bytes), Element::read(text.as_bytes()));
        }
    }
}
