//! Remembers what pure functions of a text returned, with the feature `memo`. A simulation reads the same documents and shows the
//! same texts a million times; what ships has nothing to gain from it, and remembers nothing.

#[cfg(feature = "memo")]
use std::cell::RefCell;
#[cfg(feature = "memo")]
use std::collections::HashMap;
use std::convert::Infallible;

/// What one pure function returned for each text.
#[derive(Debug)]
pub struct Memo<T> {
    #[cfg(feature = "memo")]
    seen: RefCell<Seen<T>>,
    #[cfg(not(feature = "memo"))]
    nothing: std::marker::PhantomData<T>,
}

/// All is forgotten once the texts have more bytes: a guess, some ten times of what the documents of all simulated worlds have.
#[cfg(feature = "memo")]
const MOST_BYTES: usize = 64 << 20;

#[cfg(feature = "memo")]
#[derive(Debug)]
struct Seen<T> {
    returned: HashMap<Box<str>, T>,
    bytes: usize,
}

#[cfg(feature = "memo")]
impl<T> Seen<T> {
    fn nothing() -> Self {
        Self {
            returned: HashMap::new(),
            bytes: 0,
        }
    }
}

impl<T: Clone> Memo<T> {
    /// One that remembers nothing yet.
    pub fn empty() -> Self {
        Self {
            #[cfg(feature = "memo")]
            seen: RefCell::new(Seen::nothing()),
            #[cfg(not(feature = "memo"))]
            nothing: std::marker::PhantomData,
        }
    }

    /// What `make` returns, which must depend on the text alone.
    pub fn of(&self, text: &str, make: impl FnOnce() -> T) -> T {
        let made: Result<T, Infallible> = self.or_error(text, || Ok(make()));
        let Ok(made) = made;
        made
    }

    /// What `make` returns, which must depend on the text alone where it is no error. Errors are not remembered.
    ///
    /// # Errors
    ///
    /// Those of `make`.
    #[cfg(feature = "memo")]
    pub fn or_error<E>(&self, text: &str, make: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        if let Some(returned) = self.seen.borrow().returned.get(text) {
            return Ok(returned.clone());
        }
        // Not borrowed meanwhile: it may ask for the same of a part of the text.
        let made = make()?;
        let mut seen = self.seen.borrow_mut();
        if seen.bytes > MOST_BYTES {
            *seen = Seen::nothing();
        }
        seen.bytes += text.len();
        seen.returned.insert(text.into(), made.clone());
        Ok(made)
    }

    /// What `make` returns.
    ///
    /// # Errors
    ///
    /// Those of `make`.
    #[cfg(not(feature = "memo"))]
    pub fn or_error<E>(&self, _: &str, make: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        make()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn what_is_returned_for_a_text_is_what_the_function_returns_for_it() {
        let memo = Memo::empty();
        let made = Cell::new(0);
        let length = |text: &str| {
            made.set(made.get() + 1);
            text.len()
        };
        for text in ["a", "ab", "a"] {
            assert_eq!(memo.of(text, || length(text)), text.len());
        }
        let expected = if cfg!(feature = "memo") { 2 } else { 3 };
        assert_eq!(made.get(), expected);
    }

    #[test]
    fn an_error_is_not_remembered() {
        let memo = Memo::empty();
        assert_eq!(memo.or_error("a", || Err("refused")), Err("refused"));
        assert_eq!(memo.or_error::<&str>("a", || Ok(1)), Ok(1));
    }
}
