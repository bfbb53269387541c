//! The YAML reader: what it keeps, what it refuses, and that nothing makes it panic or linger.

use proptest::prelude::*;
use quake_formats::yaml::{MAX_BYTES, MAX_NODES, Value, Yaml, parse, parse_bytes};
use quake_model::fault::{Code, Fault};

fn good(text: &str) -> Yaml {
    parse("x.yaml", text).expect(text)
}

fn refused(text: &str) -> Fault {
    parse("x.yaml", text).expect_err("the text is refused")
}

fn place(fault: &Fault) -> (&str, &str) {
    let seen = |name| fault.evidence_named(name).unwrap_or_default();
    assert_eq!(seen("source"), "x.yaml");
    (seen("line"), seen("column"))
}

#[test]
fn scalars_keep_the_text_they_were_written_with() {
    let list = good("[1.10, 0755, 1e3, yes, '1.10', \"a\\nb\", 0x1F, 2001-01-01, -0]");
    let texts: Vec<_> = list.items().iter().filter_map(Yaml::text).collect();
    let wanted = [
        "1.10",
        "0755",
        "1e3",
        "yes",
        "1.10",
        "a\nb",
        "0x1F",
        "2001-01-01",
        "-0",
    ];
    assert_eq!(texts, wanted);
}

#[test]
fn null_is_written_in_five_ways_and_only_unquoted() {
    let list = good("- null\n- ~\n- Null\n- NULL\n-\n- 'null'\n- \"~\"\n- ''\n- !!str null\n");
    let nulls = list.items().iter().filter(|item| item.value == Value::Null);
    assert_eq!((nulls.count(), list.items().len()), (5, 9));
    assert_eq!(good("a:\nb: 1").entries()[0].1.value, Value::Null);
    assert_eq!(good("").value, Value::Null);
}

#[test]
fn booleans_are_true_and_false_unquoted() {
    let list = good("[true, false, True, FALSE, yes, 'true', on, 1]");
    let found: Vec<_> = list.items().iter().map(Yaml::boolean).collect();
    let (yes, no) = (Some(true), Some(false));
    assert_eq!(found, [yes, no, yes, no, None, None, None, None]);
}

#[test]
fn every_node_and_key_knows_its_line_and_column() {
    let root = good("# comment\nä: 1\nlist:\n- x\n-  {k: v}\n");
    let (key, value) = &root.entries()[0];
    assert_eq!(
        (key.line, key.column, value.line, value.column),
        (2, 1, 2, 4)
    );
    let list = root.get("list").expect("a list").items();
    assert_eq!((list[0].line, list[0].column), (4, 3));
    let (key, value) = &list[1].entries()[0];
    assert_eq!(
        (key.line, key.column, value.line, value.column),
        (5, 5, 5, 8)
    );
}

#[test]
fn block_texts_are_read_whole() {
    let root = good("manifest: |\n  [Service]\n  ExecStart=/bin/true\nnext: 1\n");
    assert_eq!(
        root.text_of("manifest"),
        Some("[Service]\nExecStart=/bin/true\n")
    );
}

#[test]
fn aliases_are_replaced_and_stand_at_their_own_place() {
    let root = good("a: &x {k: [1, 2]}\nb: *x\n");
    let (a, b) = (root.get("a").expect("a"), root.get("b").expect("b"));
    assert_eq!(a.get("k"), b.get("k"));
    assert_eq!((b.line, b.column), (2, 4));
}

#[test]
fn what_yaml_allows_and_a_configuration_does_not_need_is_refused_at_its_place() {
    for (text, wanted) in [
        ("a: 1\nb: 2\na: 3\n", ("3", "1")),
        ("a: &x {k: 1}\nb:\n  <<: *x\n", ("3", "3")),
        ("? [a]\n: 1\n", ("1", "3")),
        ("a: !ruby/object x\n", ("1", "17")),
        ("a: !!binary aGVsbG8=\n", ("1", "13")),
        ("a: !!set {}\n", ("1", "10")),
        ("a: 1\n---\nb: 2\n", ("3", "1")),
        ("a: *x\n", ("1", "4")),
        ("a: &x [*x]\n", ("1", "8")),
        ("&k a: 1\n*k : 2\n", ("2", "1")),
    ] {
        let fault = refused(text);
        assert_eq!(fault.code, Code::ConfigYamlSyntax, "{text}: {fault}");
        assert_eq!(place(&fault), wanted, "{text}: {fault}");
    }
}

#[test]
fn broken_yaml_is_refused_with_its_place() {
    for (text, line) in [
        ("a: [1, 2", "1"),
        ("a: 1\n  b: 2\n", "2"),
        ("a: \"open", "1"),
        ("a:\n\t- b", "2"),
        ("a: b: c", "1"),
        ("- a\nb: 1", "2"),
        ("}", "1"),
    ] {
        let fault = refused(text);
        assert_eq!(fault.code, Code::ConfigYamlSyntax, "{text}");
        assert_eq!(place(&fault).0, line, "{text}: {fault}");
    }
}

#[test]
fn empty_documents_after_the_first_do_no_harm() {
    for text in ["a: 1\n---\n", "---\na: 1\n...\n", "--- \na: 1\n---\n...\n"] {
        assert_eq!(good(text).text_of("a"), Some("1"), "{text}");
    }
}

#[test]
fn bytes_that_are_not_utf8_are_refused_at_their_place() {
    let fault = parse_bytes("x.yaml", b"a: 1\nb: \xff").expect_err("not UTF-8");
    assert_eq!(fault.code, Code::ConfigYamlSyntax);
    assert_eq!(place(&fault), ("2", "4"));
}

fn billion_laughs() -> String {
    let mut text = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for level in 1..12 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        text.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    text
}

fn long_text_repeated() -> String {
    let aliases = "- *a\n".repeat(50_000);
    format!("- &a {}\n{aliases}", "x".repeat(1 << 20))
}

#[test]
fn a_document_that_expands_without_bound_is_refused() {
    let cases = [
        ("billion laughs", billion_laughs()),
        ("a long text repeated", long_text_repeated()),
        ("deep flow lists", "[".repeat(200_000)),
        ("deep flow maps", "{a: ".repeat(200_000)),
        ("deep block lists", "- ".repeat(50_000)),
        ("many values", "- 1\n".repeat(MAX_NODES + 1)),
        ("a huge text", "x".repeat(MAX_BYTES + 1)),
    ];
    for (name, text) in cases {
        let fault = refused(&text);
        assert_eq!(fault.code, Code::ConfigYamlTooLarge, "{name}: {fault}");
        assert!(!place(&fault).0.is_empty(), "{name}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in ".{0,300}") {
        let _ = parse("x", &text);
    }

    #[test]
    fn no_yaml_like_text_makes_the_reader_panic(
        text in "([-?:,\\[\\]{}#&*!|>'\"%@`~<a1 \n\t]|: |- |\n  |--- |&a |\\*a |!!str ){0,80}"
    ) {
        if let Err(fault) = parse("x", &text) {
            prop_assert!(fault.evidence_named("line").is_some(), "{fault}");
            prop_assert!(fault.evidence_named("column").is_some(), "{fault}");
        }
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse_bytes("x", &bytes);
    }
}
