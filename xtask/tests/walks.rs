//! The walks through the code in docs/architecture.md name files and functions that exist, and the lists of
//! docs/contributing/how-to.md name files that exist, five at most.

use std::path::Path;

/// Each file of the walks, with the function that is named after it.
fn named(text: &str) -> Vec<(String, String)> {
    let words: Vec<&str> = text.split('`').collect();
    // Every second part is code: a path, a space, and the function.
    words
        .windows(3)
        .filter(|part| part[0].starts_with("agent/") && part[0].ends_with(".rs"))
        .filter(|part| part[1].trim().is_empty())
        .map(|part| (part[0].to_owned(), part[2].to_owned()))
        .collect()
}

#[test]
fn every_function_of_the_walks_is_in_its_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = std::fs::read_to_string(root.join("docs/architecture.md")).expect("it can be read");
    let (_, walks) = page.split_once("## Two walks").expect("it has the section");
    let walks = walks.split("\n## ").next().unwrap_or_default();
    let named = named(walks);
    assert!(named.len() >= 20, "two walks of ten steps: {}", named.len());
    for (path, function) in named {
        let code = std::fs::read_to_string(root.join(&path)).unwrap_or_default();
        let is_there =
            code.contains(&format!("fn {function}(")) || code.contains(&format!("fn {function}<"));
        assert!(is_there, "{path} has no function {function}");
    }
}

/// How many files a port method or a step may touch.
const MOST: usize = 5;

#[test]
fn a_port_method_and_a_step_touch_at_most_five_files_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = root.join("docs/contributing/how-to.md");
    let page = std::fs::read_to_string(page).expect("it can be read");
    for title in ["## Add a method to a port", "## Add a step"] {
        let (_, list) = page.split_once(title).expect("it has the section");
        let list = list.split("\n## ").next().unwrap_or_default();
        let numbered = list.lines().filter(|line| {
            let number = line.split_once(". ").map(|(number, _)| number);
            number.is_some_and(|number| number.parse::<usize>().is_ok())
        });
        assert!(numbered.count() <= MOST, "{title}");
        let files = list.split('`').filter(|it| it.ends_with(".rs"));
        let files: Vec<&str> = files.filter(|it| it.starts_with("agent/")).collect();
        assert_eq!(files.len(), MOST, "{title}: {files:?}");
        for file in files {
            assert!(root.join(file).is_file(), "{title}: {file} does not exist");
        }
    }
}
