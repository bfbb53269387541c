//! The agent's own block in `/etc/hosts`, for a cluster without a name service.
//!
//! Whatever else is in the file stays, byte for byte: etcd-manager and kops keep blocks of their own there. So the marks are
//! ours, unlike those of kops (1.32 and newer), where the agent takes kops' block over.

use quake_model::item::HostRecord;
use std::collections::BTreeSet;

const BEGIN: &str = "# Begin host entries managed by quake-agent - do not edit";
const END: &str = "# End host entries managed by quake-agent";

/// Whether a line is one of the marks around the agent's own block.
pub fn is_own_block(line: &str) -> bool {
    matches!(line.trim(), BEGIN | END)
}

/// The text of `/etc/hosts` with these records in the agent's block; without records, with no such block.
///
/// A block stays where it is, and one that is new goes last. Names that a line outside the block gives already are left to it:
/// a resolver takes the first line, and two that differ would be a riddle. Of a block whose end is missing only the mark is taken
/// out, for nobody knows which lines were in it. Made of its own outcome it changes nothing.
pub fn hosts_text(found: &str, records: &[HostRecord]) -> String {
    let (before, after) = around(found, [BEGIN, END]);
    let elsewhere: BTreeSet<&str> = [before.as_str(), after.as_str()]
        .into_iter()
        .flat_map(str::lines)
        .flat_map(names_of)
        .collect();
    let lines: BTreeSet<String> = records
        .iter()
        .filter(|record| !elsewhere.contains(record.name.as_str()))
        .map(|record| format!("{}\t{}\n", record.address, record.name))
        .collect();
    if lines.is_empty() {
        return before + &after;
    }
    let gap = if before.is_empty() || before.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let lines: String = lines.into_iter().collect();
    format!("{before}{gap}{BEGIN}\n{lines}{END}\n{after}")
}

/// The names that a line gives.
fn names_of(line: &str) -> impl Iterator<Item = &str> {
    let entry = line.split('#').next().unwrap_or_default();
    entry.split_whitespace().skip(1)
}

/// What stands before and after the first whole block; later blocks and lone marks are taken out.
pub(crate) fn around(found: &str, [begin, end]: [&str; 2]) -> (String, String) {
    let mut sides = (String::new(), None::<String>);
    let mut open: Option<String> = None;
    for line in found.split_inclusive('\n') {
        let side = sides.1.as_mut().unwrap_or(&mut sides.0);
        match (line.trim(), open.take()) {
            (mark, unclosed) if mark == begin => {
                side.push_str(&unclosed.unwrap_or_default());
                open = Some(String::new());
            }
            (mark, Some(_)) if mark == end => drop(sides.1.get_or_insert_default()),
            (mark, None) if mark == end => {}
            (_, Some(mut inside)) => {
                inside.push_str(line);
                open = Some(inside);
            }
            (_, None) => side.push_str(line),
        }
    }
    let (mut before, after) = sides;
    let mut after = after.unwrap_or_default();
    if let Some(unclosed) = open {
        let side = if after.is_empty() {
            &mut before
        } else {
            &mut after
        };
        side.push_str(&unclosed);
    }
    (before, after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OTHERS: &str = "127.0.0.1 localhost\r\n\n# Begin host entries managed by etcd-manager[etcd] - do not edit\n10.0.0.2 etcd-b.internal.c.k8s.local\n# End host entries managed by etcd-manager[etcd]\n";

    fn records(names: &[&str]) -> Vec<HostRecord> {
        let record = |name: &&str| HostRecord {
            name: (*name).to_owned(),
            address: "10.0.0.1".to_owned(),
        };
        names.iter().map(record).collect()
    }

    #[test]
    fn the_block_is_added_last_and_all_else_stays_as_it_is() {
        let text = hosts_text(OTHERS, &records(&["etcd-a.internal.c.k8s.local"]));
        assert_eq!(
            text,
            format!("{OTHERS}{BEGIN}\n10.0.0.1\tetcd-a.internal.c.k8s.local\n{END}\n")
        );
    }

    #[test]
    fn a_block_is_renewed_where_it_stands() {
        let old = format!("a\n{BEGIN}\n10.0.0.7 gone\n{END}\nb");
        let text = hosts_text(&old, &records(&["x", "y", "x"]));
        assert_eq!(
            text,
            format!("a\n{BEGIN}\n10.0.0.1\tx\n10.0.0.1\ty\n{END}\nb")
        );
        assert_eq!(hosts_text(&old, &[]), "a\nb");
    }

    #[test]
    fn a_name_of_somebody_elses_line_is_left_to_it() {
        let names = records(&["etcd-b.internal.c.k8s.local"]);
        assert_eq!(hosts_text(OTHERS, &names), OTHERS);
        let commented = "# 10.0.0.3 x\n";
        assert!(hosts_text(commented, &records(&["x"])).contains("10.0.0.1\tx"));
    }

    #[test]
    fn of_a_block_without_an_end_only_the_mark_goes() {
        let text = hosts_text(&format!("a\n{BEGIN}\n10.0.0.5 b\n"), &records(&["x"]));
        assert_eq!(
            text,
            format!("a\n10.0.0.5 b\n{BEGIN}\n10.0.0.1\tx\n{END}\n")
        );
    }

    proptest! {
        #[test]
        fn made_of_its_own_outcome_it_changes_nothing(
            parts in proptest::collection::vec(
                prop_oneof![
                    Just(BEGIN.to_owned()), Just(END.to_owned()), Just("10.0.0.1 a".to_owned()),
                    Just("10.9.9.9 b # c".to_owned()), Just(String::new()), Just("  ".to_owned()),
                ],
                0..9,
            ),
            closed in any::<bool>(),
            names in proptest::collection::vec("[a-d]", 0..4),
        ) {
            let mut found = parts.join("\n");
            if closed {
                found.push('\n');
            }
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let records = records(&names);
            let once = hosts_text(&found, &records);
            prop_assert_eq!(&hosts_text(&once, &records), &once);
            let marks = once.lines().filter(|line| is_own_block(line)).count();
            prop_assert!(marks == 0 || marks == 2, "{}", once);
            let foreign = |text: &str| -> Vec<String> {
                let lines = text.lines().filter(|line| !is_own_block(line) && !line.contains("10.0.0.1"));
                lines.map(str::to_owned).collect()
            };
            if !parts.iter().any(|part| is_own_block(part)) {
                prop_assert_eq!(foreign(&once), foreign(&found));
            }
        }
    }
}
