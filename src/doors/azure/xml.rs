//! XML: a small tree for bodies that clients send, and texts for what the door writes.

use crate::azure::{AzureCode, AzureResult};
use quick_xml::Reader;
use quick_xml::events::Event;

/// How deep the elements of a body may be.
const DEPTH: usize = 8;
/// How many elements a body may have: more than the largest that is valid.
const ELEMENTS: usize = 1000;

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

impl Element {
    /// Reads a document.
    ///
    /// # Errors
    /// `InvalidXmlDocument`.
    pub(super) fn read(body: &[u8]) -> AzureResult<Self> {
        let text = std::str::from_utf8(body).ok();
        text.and_then(|text| Self::parse(text.trim_start_matches('\u{FEFF}'))).ok_or_else(wrong)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut reader = Reader::from_str(text);
        // The open elements, the document first.
        let mut open = vec![Self::default()];
        let mut count = 0;
        loop {
            let event = reader.read_event().ok()?;
            match &event {
                Event::Start(tag) | Event::Empty(tag) => {
                    count += 1;
                    if open.len() > DEPTH || count > ELEMENTS {
                        return None;
                    }
                    let element = Self { name: tag.local_name().as_ref().to_owned(), ..Self::default() };
                    if matches!(event, Event::Start(_)) {
                        open.push(element);
                    } else {
                        open.last_mut()?.children.push(element);
                    }
                }
                Event::End(_) => {
                    let element = open.pop()?;
                    open.last_mut()?.children.push(element);
                }
                Event::Text(text) => open.last_mut()?.text.push_str(&text.xml10_content()),
                Event::CData(text) => open.last_mut()?.text.push_str(&text.xml10_content()),
                Event::GeneralRef(reference) => {
                    let letter = match (reference.resolve_char_ref().ok()?, &*reference.xml10_content()) {
                        (Some(letter), _) => letter,
                        (None, "amp") => '&',
                        (None, "lt") => '<',
                        (None, "gt") => '>',
                        (None, "quot") => '"',
                        (None, "apos") => '\'',
                        // Nobody needs entities of a document's own, and they can be made to grow without end.
                        _ => return None,
                    };
                    open.last_mut()?.text.push(letter);
                }
                Event::DocType(_) => return None,
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
                Event::Eof => break,
            }
        }
        let (document, true) = (open.pop()?, open.is_empty()) else { return None };
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

/// The refusal of a document.
pub(super) fn wrong() -> crate::azure::AzureError {
    AzureCode::InvalidXmlDocument.into()
}

/// Writes an element with a text.
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
    out.extend(["</", name, ">"]);
}

/// The body for an error.
pub(super) fn error(code: AzureCode, message: &str) -> String {
    let mut out = String::from(DECLARATION);
    out.push_str("<Error>");
    element("Code", code.as_str(), &mut out);
    element("Message", message, &mut out);
    out.push_str("</Error>");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
