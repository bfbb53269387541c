//! Variables that stand for flags, on hosts whose units nobody edits.

use std::fmt;

/// Why a variable asks for nothing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WrongVariable {
    pub(super) name: &'static str,
    pub(super) why: String,
}

impl WrongVariable {
    /// What is wrong with the variable of this name, by what reading it came to.
    pub(super) fn of<E: fmt::Display>(name: &'static str) -> impl Fn(E) -> Self {
        move |error| Self {
            name,
            why: error.to_string(),
        }
    }
}

impl fmt::Display for WrongVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.why)
    }
}
