//! The shapes of the documents: which keys a map may have, of which kind, and the flag each becomes.
//!
//! Each kops generation has tables of its own, embedded in the binary and read once; they are data, so that a key of another
//! kops version is one more line and no code.

use super::node_path::PathKind;
use std::collections::BTreeMap;

/// What a value may be. Null is allowed everywhere and means absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// Any scalar, as it is written.
    Text,
    Integer,
    /// `true` or `false`.
    Boolean,
    Float,
    /// A duration as Go writes it, such as `1m0s`.
    Duration,
    /// A quantity of Kubernetes, such as `100m`.
    Quantity,
    /// A path of the node.
    Path(PathKind),
    Any,
    /// A map with the keys of the shape named.
    Shape(String),
    List(Box<Kind>),
    /// A map with free keys.
    Map(Box<Kind>),
    /// A map whose keys become names of files or directories.
    Named(Box<Kind>),
}

/// How a value becomes a flag of its component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FlagRule {
    /// The flag's name without dashes.
    pub(super) name: String,
    /// Whether a list becomes one flag for each item.
    pub(super) repeat: bool,
    /// The value that counts as not set.
    pub(super) empty: Option<String>,
    /// Whether an empty text is passed on.
    pub(super) keep_empty: bool,
}

/// One key of a shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) key: String,
    /// What its value may be.
    pub(super) kind: Kind,
    /// The flag it becomes, if it becomes one.
    pub(super) flag: Option<FlagRule>,
}

/// All shapes of a kops generation, by name.
#[derive(Debug, Default)]
pub(super) struct Schema {
    shapes: BTreeMap<String, Vec<Field>>,
}

impl Schema {
    /// The schema that tables make together.
    pub(super) fn of_tables(tables: &[&str]) -> Self {
        let mut schema = Self::default();
        for table in tables {
            schema.read(table);
        }
        schema
    }

    /// The keys of `shape`; none for a name that is no shape.
    pub(super) fn fields(&self, shape: &str) -> &[Field] {
        self.shapes.get(shape).map_or(&[], Vec::as_slice)
    }

    /// The key `key` of `shape`.
    pub(super) fn field(&self, shape: &str, key: &str) -> Option<&Field> {
        self.fields(shape).iter().find(|field| field.key == key)
    }

    /// The shape of the maps at `key` of `shape`, in however many lists.
    pub(super) fn shape_at(&self, shape: &str, key: &str) -> Option<&str> {
        let mut kind = &self.field(shape, key)?.kind;
        while let Kind::List(inner) = kind {
            kind = inner;
        }
        match kind {
            Kind::Shape(name) => Some(name),
            _ => None,
        }
    }

    fn read(&mut self, table: &str) {
        let mut shape = String::new();
        for line in table.lines().map(str::trim) {
            if let Some(name) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
                name.clone_into(&mut shape);
                self.shapes.entry(shape.clone()).or_default();
            } else if let Some(other) = line.strip_prefix("+ ") {
                let taken = self.fields(other).to_vec();
                self.shapes.entry(shape.clone()).or_default().extend(taken);
            } else if !line.starts_with('#')
                && let Some(field) = read_field(line)
            {
                self.shapes.entry(shape.clone()).or_default().push(field);
            }
        }
    }
}

fn read_field(line: &str) -> Option<Field> {
    let mut words = line.split_whitespace();
    let key = words.next()?.to_owned();
    let kind = read_kind(words.next()?);
    let flag = words.next().map(|flag| {
        let (name, repeat) = flag
            .strip_suffix(",repeat")
            .map_or((flag, false), |name| (name, true));
        let rest: Vec<&str> = words.collect();
        FlagRule {
            name: name.to_owned(),
            repeat,
            empty: rest
                .iter()
                .find_map(|word| word.strip_prefix("empty="))
                .map(str::to_owned),
            keep_empty: rest.contains(&"keep-empty"),
        }
    });
    Some(Field { key, kind, flag })
}

fn read_kind(word: &str) -> Kind {
    if let Some((holder, inner)) = word.split_once(':') {
        let inner = Box::new(read_kind(inner));
        return match holder {
            "list" => Kind::List(inner),
            "named" => Kind::Named(inner),
            _ => Kind::Map(inner),
        };
    }
    match word {
        "text" => Kind::Text,
        "int" => Kind::Integer,
        "bool" => Kind::Boolean,
        "float" => Kind::Float,
        "duration" => Kind::Duration,
        "quantity" => Kind::Quantity,
        "any" => Kind::Any,
        "file" => Kind::Path(PathKind::File),
        "directory" => Kind::Path(PathKind::Directory),
        "file-or-empty" => Kind::Path(PathKind::FileOrEmpty),
        "file-or-dash" => Kind::Path(PathKind::FileOrDash),
        shape => Kind::Shape(shape.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{current, legacy};
    use std::collections::BTreeSet;

    fn shapes_in(kind: &Kind) -> Option<&str> {
        match kind {
            Kind::Shape(name) => Some(name),
            Kind::List(inner) | Kind::Map(inner) | Kind::Named(inner) => shapes_in(inner),
            _ => None,
        }
    }

    #[test]
    fn every_shape_that_a_key_names_is_defined() {
        for schema in [&legacy::SCHEMA, &current::SCHEMA, &current::OBJECT_SCHEMA] {
            for (shape, fields) in &schema.shapes {
                for field in fields {
                    if let Some(name) = shapes_in(&field.kind) {
                        assert!(schema.shapes.contains_key(name), "{shape}.{}", field.key);
                    }
                }
            }
        }
    }

    #[test]
    fn no_shape_has_a_key_twice() {
        for schema in [&legacy::SCHEMA, &current::SCHEMA, &current::OBJECT_SCHEMA] {
            for (shape, fields) in &schema.shapes {
                let keys: BTreeSet<_> = fields.iter().map(|field| &field.key).collect();
                assert_eq!(keys.len(), fields.len(), "{shape}");
            }
        }
    }

    #[test]
    fn the_flag_column_is_read_whole() {
        let schema = &legacy::SCHEMA;
        let rule = |shape, key| {
            schema
                .field(shape, key)
                .and_then(|field| field.flag.clone())
        };
        let log_opt = rule("DockerConfig", "logOpt").expect("a flag");
        assert!(log_opt.repeat && log_opt.name == "log-opt");
        let verbosity = rule("KubeletConfigSpec", "logLevel").expect("a flag");
        assert_eq!(verbosity.empty.as_deref(), Some("0"));
        assert!(rule("KubeletConfigSpec", "resolvConf").is_some_and(|rule| rule.keep_empty));
        assert_eq!(rule("DockerConfig", "version"), None);
    }
}
