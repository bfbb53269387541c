//! XML as EC2's answers are: elements with either text or children. Texts stay as they are written.

use std::fmt::Write;

/// An element. Attributes are kept as text and mean nothing here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Element {
    pub name: String,
    /// Everything after the name in its tag, such as a namespace.
    pub attributes: String,
    /// The text of an element without children.
    pub text: String,
    pub children: Vec<Element>,
}

impl Element {
    /// An element with a text.
    pub fn of_text(name: &str, text: &str) -> Self {
        Self {
            name: name.to_owned(),
            text: text.to_owned(),
            ..Self::default()
        }
    }

    /// An element with children.
    pub fn of_children(name: &str, children: Vec<Element>) -> Self {
        Self {
            name: name.to_owned(),
            children,
            ..Self::default()
        }
    }

    /// Reads a document; `None` when it is not one.
    pub fn parse(document: &str) -> Option<Self> {
        let start = document.rfind("?>").map_or(0, |end| end + 2);
        let mut rest = &document[start..];
        element(&mut rest)
    }

    /// The first child of this name.
    pub fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    /// The text of the first child of this name; empty where there is none.
    pub fn text_of(&self, name: &str) -> &str {
        self.child(name).map_or("", |child| child.text.as_str())
    }

    /// The children of the first child of this name: what EC2 calls a set.
    pub fn set(&self, name: &str) -> &[Self] {
        self.child(name)
            .map_or(&[], |child| child.children.as_slice())
    }

    /// Puts a child in the place of the one of its name, or at the end.
    pub fn put(&mut self, child: Element) {
        match self.children.iter_mut().find(|old| old.name == child.name) {
            Some(old) => *old = child,
            None => self.children.push(child),
        }
    }

    /// The element as text.
    pub fn write(&self) -> String {
        let mut out = String::new();
        self.write_to(&mut out);
        out
    }

    fn write_to(&self, out: &mut String) {
        let name = &self.name;
        // Writing to a string cannot fail.
        let _ = write!(out, "<{name}{}>{}", self.attributes, self.text);
        self.children.iter().for_each(|child| child.write_to(out));
        let _ = write!(out, "</{name}>");
    }
}

fn element(rest: &mut &str) -> Option<Element> {
    *rest = rest.trim_start().strip_prefix('<')?;
    let (tag, after) = rest.split_once('>')?;
    *rest = after;
    let is_empty = tag.ends_with('/');
    let tag = tag.trim_end_matches('/').trim_end();
    let (name, attributes) = tag.split_at(tag.find(char::is_whitespace).unwrap_or(tag.len()));
    let mut found = Element {
        attributes: attributes.to_owned(),
        ..Element::of_text(name, "")
    };
    if is_empty {
        return Some(found);
    }
    let end = format!("</{name}>");
    loop {
        let (text, _) = rest.split_once('<')?;
        let after = &rest[text.len()..];
        if let Some(after) = after.strip_prefix(end.as_str()) {
            if found.children.is_empty() {
                text.clone_into(&mut found.text);
            }
            *rest = after;
            return Some(found);
        }
        *rest = after;
        found.children.push(element(rest)?);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_read_changed_and_written() {
        let text = "<?xml version=\"1.0\"?>\n<A xmlns=\"n\"><set>\n <item><id>1</id><e/></item>\n <item><id>2</id></item></set></A>";
        let mut read = Element::parse(text).unwrap();
        let ids: Vec<&str> = read
            .set("set")
            .iter()
            .map(|item| item.text_of("id"))
            .collect();
        assert_eq!(ids, ["1", "2"]);
        read.put(Element::of_text("set", "x"));
        assert_eq!(read.write(), "<A xmlns=\"n\"><set>x</set></A>");
    }

    #[test]
    fn what_is_cut_off_is_no_document() {
        assert_eq!(Element::parse("<A><b>1</b>"), None);
        assert_eq!(Element::parse("SlowDown"), None);
    }
}
