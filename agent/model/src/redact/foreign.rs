//! Passwords behind their names in other languages, which have letters that names in code have not.

use super::harmless::is_plain;
use super::marks::Marks;
use super::shape::{apart, run};
use super::word::length_of_word;
use std::ops::Range;
use std::sync::LazyLock;

/// No password is longer.
const LONGEST: usize = 256;

static MARKS: LazyLock<Marks> = LazyLock::new(|| {
    Marks::of([
        "contraseña",
        "Contraseña",
        "пароль",
        "Пароль",
        "密码",
        "密碼",
        "口令",
        "パスワード",
        "비밀번호",
        "hasło",
        "Hasło",
        "lösenord",
        "Lösenord",
        "jelszó",
        "Jelszó",
        "κωδικός",
        "şifre",
        "Şifre",
        "סיסמה",
    ])
});

/// The word behind a colon or an equals sign.
pub(super) fn find_foreign(text: &str) -> Vec<Range<usize>> {
    let found = MARKS.places_in(text).filter_map(|(at, _, mark)| {
        let rest = &text[at + mark.len()..];
        let said = rest.strip_prefix(['"', '\'']).unwrap_or(rest);
        let said = said.strip_prefix(' ').unwrap_or(said);
        let value = said.strip_prefix([':', '=', '：'])?;
        let signs = run(value.as_bytes(), |b| b" \"'\\".contains(&b)).min(4);
        let value = &value[signs..];
        let start = text.len() - value.len();
        let value = &value[..value.floor_char_boundary(LONGEST)];
        let place = start..start + length_of_word(value.as_bytes());
        let words = text.get(place.clone())?;
        (words.len() >= 4 && words.is_ascii() && !is_plain(words)).then_some(place)
    });
    apart(found.collect())
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn passwords_are_masked_whatever_they_are_called() {
        for (text, scrubbed) in [
            ("contraseña: hunter", "contraseña: ***"),
            ("{\"密码\": \"hunter\"}", "{\"密码\": \"***\"}"),
            ("Пароль=hunter;", "Пароль=***;"),
            ("senha=hunter", "senha=***"),
        ] {
            assert_eq!(scrub(text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn what_is_said_of_them_stays() {
        for text in [
            "пароль: неверный",
            "contraseña",
            "密码: ",
            "la contraseña no es válida",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
