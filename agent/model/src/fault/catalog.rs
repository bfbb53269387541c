//! The catalogue of faults: what a row says, and how a code is read and printed. The rows are in `catalog/table.rs`.

use super::Class;
use crate::phase::Phase;
use std::fmt;

/// What the catalogue says about a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The code as it is printed, `<area>.<condition>`.
    pub code: &'static str,
    /// The class, which decides retries and the exit status.
    pub class: Class,
    pub why: &'static str,
    /// What to do about it, in general.
    pub remedy: &'static str,
}

/// Writes the codes and their entries from one table.
macro_rules! catalogue {
    ($($variant:ident $code:literal $class:ident why $why:literal remedy $remedy:literal;)+) => {
        /// A stable name for one way to fail. Never renamed; printed as its row's `code`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(into = "String", from = "String")]
        pub enum Code {
            $(
                #[doc = concat!("`", $code, "`")]
                $variant,
            )+
            /// A code written by a newer agent.
            Unrecognised,
        }

        impl Code {
            /// Every code of this agent, in the catalogue's order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// This code's row.
            pub fn entry(self) -> Entry {
                match self {
                    $(Self::$variant => Entry {
                        code: $code,
                        class: Class::$class,
                        why: $why,
                        remedy: $remedy,
                    },)+
                    Self::Unrecognised => super::UNRECOGNISED,
                }
            }
        }
    };
}

mod table;

pub use table::Code;

/// The row of a code that a newer agent wrote.
const UNRECOGNISED: Entry = Entry {
    code: "boot.unrecognised",
    class: Class::Bug,
    why: "the fault was written by a newer agent",
    remedy: "read the record with the agent that wrote it",
};

impl Code {
    /// The code with this name; [`Code::Unrecognised`] for names of newer agents.
    pub fn from_name(name: &str) -> Self {
        let known = Self::ALL
            .iter()
            .copied()
            .find(|code| code.entry().code == name);
        known.unwrap_or(Self::Unrecognised)
    }

    /// The area in front of the dot: a phase's name, `addons`, `boot`, `dns` or `etcd`.
    pub fn area(self) -> &'static str {
        self.entry()
            .code
            .split_once('.')
            .map_or("boot", |(area, _)| area)
    }

    /// The phase that it is of; `None` where any phase may come to it, or none.
    pub fn phase(self) -> Option<Phase> {
        match self.area() {
            // Names are published at the beginning of the last phase.
            "dns" => Some(Phase::Ready),
            area => Phase::from_name(area),
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry().code)
    }
}

impl From<Code> for String {
    fn from(code: Code) -> Self {
        code.entry().code.to_owned()
    }
}

impl From<String> for Code {
    fn from(name: String) -> Self {
        Self::from_name(&name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_codes_share_a_name() {
        let names: BTreeSet<_> = Code::ALL.iter().map(|code| code.entry().code).collect();
        assert_eq!(names.len(), Code::ALL.len());
    }

    #[test]
    fn every_code_belongs_to_a_phase_the_add_ons_or_the_boot() {
        for code in Code::ALL {
            let is_beside = ["addons", "boot", "etcd"].contains(&code.area());
            assert!(is_beside || code.phase().is_some(), "{code}");
        }
    }

    #[test]
    fn a_code_is_read_back_from_its_name() {
        for code in Code::ALL {
            assert_eq!(Code::from_name(code.entry().code), *code);
        }
        assert_eq!(Code::from_name("storage.of-the-future"), Code::Unrecognised);
    }
}
