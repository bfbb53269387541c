//! Builds the tree from the parser's events, counting what it grows to.

use super::{
    Documents, Key, MAX_BYTES, MAX_DEPTH, MAX_NODES, MAX_TEXT, Place, Value, Yaml, fault_at,
};
use quake_model::fault::{Code, Fault};
use serde_saphyr::granit_parser::{ErrorKind, Event, Options, Parser, ScalarStyle, ScanError, Tag};
use std::collections::{HashMap, HashSet};

/// Reads the documents of a text; none where the text has none.
pub(super) fn grow(source: &str, text: &str, may: Documents) -> Result<Vec<Yaml>, Fault> {
    let mut tree = Tree::new(source, may);
    if text.len() > MAX_BYTES {
        return Err(tree.too_large((1, 1), &format!("{} bytes", text.len())));
    }
    let mut options = Options::default();
    options.set_emit_comments(false);
    options.flow_nesting_limit = MAX_DEPTH;
    options.block_nesting_limit = MAX_DEPTH;
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| syntax_fault(source, &error))?;
        tree.take(event, (span.start.line(), span.start.col() + 1))?;
    }
    Ok(tree.roots)
}

fn syntax_fault(source: &str, error: &ScanError) -> Fault {
    let marker = error.marker();
    let place = (marker.line().max(1), marker.col() + 1);
    let code = match error.kind() {
        ErrorKind::RecursionLimitExceeded | ErrorKind::InputByteLimitExceeded { .. } => {
            Code::ConfigYamlTooLarge
        }
        _ => Code::ConfigYamlSyntax,
    };
    fault_at(source, place, code, error.kind().to_string())
}

/// A list or map that is not closed yet.
struct Open {
    place: Place,
    anchor: usize,
    before: Size,
    inside: Inside,
}

enum Inside {
    List(Vec<Yaml>),
    Map {
        entries: Vec<(Key, Yaml)>,
        names: HashSet<String>,
        key: Option<Key>,
    },
}

/// What has been built, counted as if every alias were written out.
#[derive(Clone, Copy, Default)]
struct Size {
    nodes: usize,
    text: usize,
}

/// A tree while its events arrive.
struct Tree<'a> {
    source: &'a str,
    may: Documents,
    documents: usize,
    roots: Vec<Yaml>,
    open: Vec<Open>,
    anchors: HashMap<usize, (Yaml, Size)>,
    size: Size,
}

impl<'a> Tree<'a> {
    fn new(source: &'a str, may: Documents) -> Self {
        Self {
            source,
            may,
            documents: 0,
            roots: Vec::new(),
            open: Vec::new(),
            anchors: HashMap::new(),
            size: Size::default(),
        }
    }

    fn syntax(&self, place: Place, summary: impl Into<String>) -> Fault {
        fault_at(self.source, place, Code::ConfigYamlSyntax, summary)
    }

    fn too_large(&self, place: Place, what: &str) -> Fault {
        let summary = format!("the document is too large to be a configuration: {what}");
        fault_at(self.source, place, Code::ConfigYamlTooLarge, summary)
    }

    fn take(&mut self, event: Event<'_>, place: Place) -> Result<(), Fault> {
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                Ok(())
            }
            Event::Scalar(text, style, anchor, tag) => {
                let quoted = self.is_text(style, tag.as_deref(), place)?;
                self.scalar(&text, quoted, anchor, place)
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.collection_tag(tag.as_deref(), "seq", place)?;
                self.start(place, anchor, Inside::List(Vec::new()))
            }
            Event::MappingStart(_, anchor, tag) => {
                self.collection_tag(tag.as_deref(), "map", place)?;
                let (entries, names, key) = (Vec::new(), HashSet::new(), None);
                let inside = Inside::Map {
                    entries,
                    names,
                    key,
                };
                self.start(place, anchor, inside)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Alias(anchor) => self.alias(anchor, place),
            Event::UnresolvedAlias(name) => {
                Err(self.syntax(place, format!("the alias *{name} names no anchor")))
            }
            _ => Ok(()),
        }
    }

    /// Whether a scalar is a text whatever it looks like.
    fn is_text(&self, style: ScalarStyle, tag: Option<&Tag>, place: Place) -> Result<bool, Fault> {
        let plain = style == ScalarStyle::Plain;
        match tag.map(Tag::to_string).as_deref() {
            None => Ok(!plain),
            Some("!" | "!!str" | "tag:yaml.org,2002:str") => Ok(true),
            Some(
                "!!int"
                | "!!bool"
                | "!!float"
                | "!!null"
                | "tag:yaml.org,2002:int"
                | "tag:yaml.org,2002:bool"
                | "tag:yaml.org,2002:float"
                | "tag:yaml.org,2002:null",
            ) if plain => Ok(false),
            Some(other) => Err(self.syntax(place, format!("the tag {other} is not supported"))),
        }
    }

    fn collection_tag(&self, tag: Option<&Tag>, kind: &str, place: Place) -> Result<(), Fault> {
        let Some(tag) = tag.map(Tag::to_string) else {
            return Ok(());
        };
        if tag == format!("!!{kind}") || tag == format!("tag:yaml.org,2002:{kind}") {
            return Ok(());
        }
        Err(self.syntax(place, format!("the tag {tag} is not supported")))
    }

    fn count(&mut self, by: Size, place: Place) -> Result<(), Fault> {
        self.size.nodes = self.size.nodes.saturating_add(by.nodes);
        self.size.text = self.size.text.saturating_add(by.text);
        if self.size.nodes > MAX_NODES {
            return Err(self.too_large(place, &format!("more than {MAX_NODES} values")));
        }
        if self.size.text > MAX_TEXT {
            return Err(self.too_large(place, &format!("more than {MAX_TEXT} bytes of text")));
        }
        Ok(())
    }

    fn scalar(
        &mut self,
        text: &str,
        quoted: bool,
        anchor: usize,
        place: Place,
    ) -> Result<(), Fault> {
        let nodes = 1;
        let size = Size {
            nodes,
            text: text.len(),
        };
        self.count(size, place)?;
        if self.takes_key() {
            return self.key(text, quoted, place);
        }
        let null = !quoted && matches!(text, "" | "~" | "null" | "Null" | "NULL");
        let text = text.to_owned();
        let value = if null {
            Value::Null
        } else {
            Value::Scalar { text, quoted }
        };
        let (line, column) = place;
        let node = Yaml {
            line,
            column,
            value,
        };
        self.remember(anchor, &node, size)?;
        self.place(node)
    }

    fn takes_key(&self) -> bool {
        let last = self.open.last().map(|open| &open.inside);
        matches!(last, Some(Inside::Map { key: None, .. }))
    }

    fn key(&mut self, text: &str, quoted: bool, place: Place) -> Result<(), Fault> {
        if text == "<<" && !quoted {
            return Err(self.syntax(place, "merge keys (<<) are not read; write the keys out"));
        }
        let mut is_new = true;
        if let Some(Open {
            inside: Inside::Map { names, key, .. },
            ..
        }) = self.open.last_mut()
        {
            is_new = names.insert(text.to_owned());
            let (line, column) = place;
            *key = Some(Key {
                name: text.to_owned(),
                line,
                column,
            });
        }
        // Made only where it is needed: a fault goes through the redactor, and a document has thousands of keys.
        match is_new {
            true => Ok(()),
            false => Err(self.syntax(place, format!("the key {text:?} is given twice"))),
        }
    }

    fn start(&mut self, place: Place, anchor: usize, inside: Inside) -> Result<(), Fault> {
        if self.takes_key() {
            return Err(self.syntax(place, "a key must be a text, not a list or a map"));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(self.too_large(place, &format!("nested more than {MAX_DEPTH} deep")));
        }
        let before = self.size;
        self.count(Size { nodes: 1, text: 0 }, place)?;
        self.open.push(Open {
            place,
            anchor,
            before,
            inside,
        });
        Ok(())
    }

    fn end(&mut self) -> Result<(), Fault> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let value = match open.inside {
            Inside::List(items) => Value::List(items),
            Inside::Map { entries, .. } => Value::Map(entries),
        };
        let (line, column) = open.place;
        let node = Yaml {
            line,
            column,
            value,
        };
        let size = Size {
            nodes: self.size.nodes - open.before.nodes,
            text: self.size.text - open.before.text,
        };
        self.remember(open.anchor, &node, size)?;
        self.place(node)
    }

    /// Keeps a copy of an anchored node; the copy counts like any other node.
    fn remember(&mut self, anchor: usize, node: &Yaml, size: Size) -> Result<(), Fault> {
        if anchor == 0 {
            return Ok(());
        }
        self.count(size, (node.line, node.column))?;
        self.anchors.insert(anchor, (node.clone(), size));
        Ok(())
    }

    fn alias(&mut self, anchor: usize, place: Place) -> Result<(), Fault> {
        if self.takes_key() {
            return Err(self.syntax(place, "a key must be a text, not an alias"));
        }
        let Some((_, size)) = self.anchors.get(&anchor) else {
            return Err(self.syntax(place, "an alias stands inside its own anchor"));
        };
        self.count(*size, place)?;
        let node = self.anchors.get(&anchor).map(|(node, _)| node.clone());
        // The alias is where the operator must look, not the anchor.
        let (line, column) = place;
        node.map_or(Ok(()), |node| {
            self.place(Yaml {
                line,
                column,
                ..node
            })
        })
    }

    fn place(&mut self, node: Yaml) -> Result<(), Fault> {
        let second = self.documents > 1 && self.may == Documents::One;
        match self.open.last_mut().map(|open| &mut open.inside) {
            None if !second => self.roots.push(node),
            None if node.is_empty() => {}
            None => {
                let place = (node.line, node.column);
                let summary = "a second document starts here, and only one is read";
                return Err(self.syntax(place, summary));
            }
            Some(Inside::List(items)) => items.push(node),
            Some(Inside::Map { entries, key, .. }) => {
                if let Some(key) = key.take() {
                    entries.push((key, node));
                }
            }
        }
        Ok(())
    }
}
