//! Secrets among the words of command lines, where a program's own flags tell of them.

use super::arguments::{Command, Of, words_after};
use super::credential_files::{find_communities, find_in_netrc, find_in_pgpass};
use super::harmless::{is_path, is_plain, is_reference};
use super::name::tells;
use super::opaque::is_odd;
use super::piped::is_piped;
use super::programs::PROGRAMS;
use super::quote::{closed, quoted};
use super::shape::{apart, run};
use super::vendor::is_start;
use std::ops::Range;
use std::sync::LazyLock;

/// The programs by the first byte of their names.
static BY_FIRST: LazyLock<Vec<Vec<&'static Command>>> = LazyLock::new(|| {
    let mut all = vec![Vec::new(); 128];
    for command in PROGRAMS {
        all[usize::from(command.program.as_bytes()[0])].push(command);
    }
    all
});

pub(super) fn find_in_commands(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let commands = BY_FIRST.get(usize::from(bytes[at]));
        let commands = commands.filter(|commands| !commands.is_empty() && is_word_start(bytes, at));
        if let Some(commands) = commands {
            let length = run(&bytes[at..bytes.len().min(at + 24)], is_of_program);
            let name = &bytes[at..at + length];
            // `command=program -f`, and not `comm=program`.
            let is_value = at > 0
                && bytes[at - 1] == b'='
                && !matches!(bytes.get(at + length), Some(b' ' | b'\\'));
            let mut named = commands
                .iter()
                .filter(|command| command.program.as_bytes() == name)
                .peekable();
            let is_named = named.peek().is_some() && !is_value;
            for command in named.filter(|_| is_named) {
                find_of(text, command, at + length, &mut found);
            }
            at += if is_named { length } else { 0 };
        }
        at += 1;
    }
    found.extend(find_in_netrc(text));
    found.extend(find_in_pgpass(text));
    found.extend(find_communities(text));
    found.retain(|place| is_secret(&text[place.clone()]));
    apart(found)
}

fn is_word_start(bytes: &[u8], at: usize) -> bool {
    is_start(bytes, at) && (at == 0 || !b"-_.".contains(&bytes[at - 1]))
}

fn is_of_program(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)
}

fn is_secret(words: &str) -> bool {
    let words = words.trim_matches(['"', '\'']);
    !words.is_empty()
        && !is_plain(words)
        && !is_reference(words)
        && !is_path(words)
        && !words.starts_with(['$', '<', '-', '|', '&'])
}

fn find_of(text: &str, command: &Command, from: usize, found: &mut Vec<Range<usize>>) {
    let words: Vec<Range<usize>> = words_after(text, from);
    let word = |at: usize| words.get(at).map(|place| &text[place.clone()]);
    let has = |sub: &str| words.iter().any(|place| text[place.clone()] == *sub);
    for (flag, of) in command.flags {
        match of {
            Of::Last
                if word(0).is_some_and(|first| first.starts_with('-') && first.contains(flag)) =>
            {
                let no_file = word(0).is_some_and(|first| first.contains('n'));
                let plain = words
                    .iter()
                    .filter(|word| !text[(*word).clone()].starts_with('-'));
                found.extend(plain.skip(if no_file { 1 } else { 2 }).take(1).cloned());
            }
            Of::At(place) if flag.is_empty() || has(flag) => {
                found.extend(plain_word(text, &words, flag, *place));
            }
            Of::Setting if has(flag) => {
                let sub = words.iter().position(|word| text[word.clone()] == **flag);
                let sub = sub.unwrap_or(0);
                if word(sub + 1).is_some_and(|name| tells(name.as_bytes()).is_some()) {
                    // `-n name -v value`
                    let mut behind = words.iter().skip(sub + 2);
                    found.extend(
                        behind
                            .find(|word| !text[(*word).clone()].starts_with('-'))
                            .cloned(),
                    );
                }
            }
            Of::Piped if is_piped(text, from, &words) => {
                found.extend(
                    words
                        .iter()
                        .find(|word| !text[(*word).clone()].starts_with(['-', '%']))
                        .map(|word| after(text, word.clone(), ':').unwrap_or_else(|| word.clone())),
                );
            }
            Of::Colon if has(flag) => {
                let secrets = words
                    .iter()
                    .filter_map(|word| after(text, word.clone(), ':'));
                found.extend(secrets.filter(|secret| is_odd(&text[secret.clone()])));
            }
            Of::Last | Of::At(_) | Of::Setting | Of::Colon | Of::Piped => {}
            of if command.needs.is_none_or(has) => {
                for (number, place) in words.iter().enumerate() {
                    let next = words.get(number + 1);
                    found.extend(value_of(text, (flag, *of), place, next));
                }
            }
            _ => {}
        }
    }
}

/// The plain word that is so many behind a word, or behind the program.
fn plain_word(
    text: &str,
    words: &[Range<usize>],
    flag: &str,
    place: usize,
) -> Option<Range<usize>> {
    // A quote at the end of a text begins an empty word, which is no flag.
    let is_flag = |word: &Range<usize>| !flag.is_empty() && text[word.clone()] == *flag;
    let sub = words.iter().position(is_flag);
    let behind = words.iter().skip(sub.map_or(0, |sub| sub + 1));
    let plain = |place: &&Range<usize>| !text[(*place).clone()].starts_with('-');
    let mut behind = behind.filter(plain).skip(place);
    let secret = behind.next();
    // Routers say first how it is written: `md5 7 secret`.
    let is_kind = secret.is_some_and(|it| {
        let before = text[..it.start].trim_end();
        let is_of_router = ["md5", "key", "key-string"]
            .iter()
            .any(|word| before.ends_with(word));
        is_of_router && matches!(&text[it.clone()], "0" | "5" | "6" | "7")
    });
    let written = if is_kind { behind.next() } else { None };
    written.or(secret).cloned()
}

/// What one word of a command line, or the one behind it, gives a flag.
fn value_of(
    text: &str,
    (flag, of): (&str, Of),
    place: &Range<usize>,
    next: Option<&Range<usize>>,
) -> Option<Range<usize>> {
    let word = &text[place.clone()];
    let rest = match of {
        // `-su user:secret`
        Of::User if is_cluster(word, flag) => "",
        // `-kuuser:secret`
        Of::User if flag.len() == 2 => behind_cluster(word, &flag[1..])?,
        _ => word.strip_prefix(flag)?,
    };
    let value = match (rest.strip_prefix('='), rest.is_empty(), of) {
        (_, true, Of::Attached | Of::Either) if is_open(text, place) => {
            // `-p'secret'`
            let inner = quoted(&text.as_bytes()[place.end..])?;
            place.end + inner.start..place.end + inner.end
        }
        (_, true, Of::Attached) => return None,
        (_, true, _) => next?.clone(),
        (Some(value), _, _) => place.end - value.len()..place.end,
        (None, false, Of::Attached | Of::Either) => place.start + flag.len()..place.end,
        (None, false, Of::User) if flag.len() == 2 => place.end - rest.len()..place.end,
        (None, false, Of::Slash) if flag.is_empty() && !word.starts_with(['-', '@', '.']) => {
            place.clone()
        }
        (None, false, Of::Percent) if flag.len() == 2 => place.start + 2..place.end,
        (None, false, _) => return None,
    };
    match of {
        Of::User => {
            let (user, password) = text[value.clone()].split_once(':')?;
            if password.is_empty() {
                // `user:'password'`
                let inner = quoted(&text.as_bytes()[value.end..])?;
                return Some(value.end + inner.start..value.end + inner.end);
            }
            let is_id = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
            let ids = is_id(user) && is_id(password) && !user.is_empty();
            (!ids).then(|| value.start + user.len() + 1..value.end)
        }
        Of::Percent => after(text, value, '%'),
        Of::Pair => after(text, value, '='),
        Of::Comma => after(text, value.clone(), ',').or_else(|| behind_comma(text, value.end)),
        Of::Slash => after(text, value, '/'),
        Of::Source => text[value.clone()]
            .starts_with("pass:")
            .then(|| value.start + 5..value.end),
        _ => Some(value),
    }
}

/// What stands behind a flag of one letter, before which others may stand in the same word.
fn behind_cluster<'text>(word: &'text str, letter: &str) -> Option<&'text str> {
    let letters = word.strip_prefix('-')?;
    let (before, rest) = letters.split_once(letter)?;
    let is_cluster = before.len() < 4 && before.bytes().all(|b| b.is_ascii_alphabetic());
    is_cluster.then_some(rest)
}

/// Whether a word has several flags of one letter, of which this one is the last.
fn is_cluster(word: &str, flag: &str) -> bool {
    let letter = flag.strip_prefix('-').filter(|letter| letter.len() == 1);
    letter.is_some_and(|letter| {
        (3..=5).contains(&word.len())
            && word.ends_with(letter)
            && word
                .strip_prefix('-')
                .is_some_and(|letters| letters.bytes().all(|b| b.is_ascii_alphabetic()))
    })
}

/// Whether a text in quotes begins right behind a word that stands in none.
fn is_open(text: &str, word: &Range<usize>) -> bool {
    let before = text.as_bytes()[..word.start].last();
    let next = text.as_bytes().get(word.end);
    matches!(next, Some(b'"' | b'\'')) && !matches!(before, Some(b'"' | b'\''))
}

fn after(text: &str, value: Range<usize>, sign: char) -> Option<Range<usize>> {
    let (first, rest) = text[value.clone()].split_once(sign)?;
    (!first.is_empty() && !rest.is_empty()).then(|| value.end - rest.len()..value.end)
}

/// The word behind a comma that ended another one, which may be in quotes.
fn behind_comma(text: &str, end: usize) -> Option<Range<usize>> {
    let rest = text[end..].strip_prefix(',')?.as_bytes();
    let word = || 0..run(rest, |b| b.is_ascii_graphic() && !b"\"'".contains(&b));
    let place = closed(rest).unwrap_or_else(word);
    (!place.is_empty()).then_some(end + 1 + place.start..end + 1 + place.end)
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn secrets_of_command_lines_are_masked() {
        for (text, scrubbed) in [
            (
                "sshpass -p 'hunter two' ssh a@b",
                "sshpass -p '***' ssh a@b",
            ),
            ("sshpass -phunter2 ssh a@b", "sshpass -p*** ssh a@b"),
            (
                "lftp -u me,hunter2 -e mirror h",
                "lftp -u me,*** -e mirror h",
            ),
            ("lftp -u \"me,hunter2\" h", "lftp -u \"me,***\" h"),
            ("lftp -u me,'hunter2' h", "lftp -u me,'***' h"),
            (
                "[\"lftp\",\"-u\",\"me,hunter2\"]",
                "[\"lftp\",\"-u\",\"me,***\"]",
            ),
            (
                "sqlplus -s me/hunter2@db @x.sql",
                "sqlplus -s me/*** @x.sql",
            ),
            (
                "/usr/bin/redis-cli -h r -a hunter2 ping",
                "/usr/bin/redis-cli -h r -a *** ping",
            ),
            (
                "curl --user me:hunter2 https://h/",
                "curl --user me:*** https://h/",
            ),
            (
                "curl -sku me:hunter2 https://h/ && curl -kume:hunter2 https://h/",
                "curl -sku me:*** https://h/ && curl -kume:*** https://h/",
            ),
            (
                "openssl rsa -in k -passin pass:hunter2",
                "openssl rsa -in k -passin pass:***",
            ),
            (
                "docker login -u me -p hunter2 r.io",
                "docker login -u me -p *** r.io",
            ),
            ("smbclient -U me%hunter2 //h/s", "smbclient -U me%*** //h/s"),
            (
                "smbclient -U CORP\\\\me%hunter2 //h/s",
                "smbclient -U CORP\\\\me%*** //h/s",
            ),
            ("redis-cli -a hun\\$ter\\!2 ping", "redis-cli -a *** ping"),
            (
                "ldapsearch -D cn=me -w hunter2 -b x",
                "ldapsearch -D cn=me -w *** -b x",
            ),
            (
                "ipmitool -H h -U me -P hunter2 power",
                "ipmitool -H h -U me -P *** power",
            ),
        ] {
            assert_eq!(scrub(text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn secrets_of_other_lines_are_masked() {
        for (text, scrubbed) in [
            (
                "kubectl create secret generic a --from-literal=b=hunter2",
                "kubectl create secret generic a --from-literal=b=***",
            ),
            (
                "aws configure set aws_secret_access_key hunter2",
                "aws configure set aws_secret_access_key ***",
            ),
            ("vault login hunter2", "vault login ***"),
            ("htpasswd -b f me hunter2", "htpasswd -b f me ***"),
            ("\"createUser me SHA hunter2\"", "\"createUser me SHA ***\""),
            (
                "command: [\"redis-cli\", \"-a\", \"hunter2\"]",
                "command: [\"redis-cli\", \"-a\", \"***\"]",
            ),
            (
                "- redis-cli\n- -a\n- hunter2\nnext: 1",
                "- redis-cli\n- -a\n- ***\nnext: 1",
            ),
            (
                "machine h login me password hunter2",
                "machine h login me password ***",
            ),
            ("db.local:5432:app:me:hunter2", "db.local:5432:app:me:***"),
            (
                "hunter2,me,1,\"system:masters\"",
                "***,me,1,\"system:masters\"",
            ),
            (
                "rocommunity hunter2 10.0.0.0/8",
                "rocommunity *** 10.0.0.0/8",
            ),
        ] {
            assert_eq!(scrub(text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn other_words_of_command_lines_stay() {
        for text in [
            "docker run -p 8080:80 -u 1000:1000 image",
            "mkdir -p /var/lib/etcd",
            "mysql -p -h db",
            "openssl rsa -passin env:KEY -in k",
            "vault login -method=aws",
            "kubectl get pods -w -A",
            "echo 1 | tee /proc/sys/net/ipv4/ip_forward",
            "redis-cli -a $PASSWORD ping",
            "curl -u $USER:$PASS https://h",
            "02:42:ac:11:00:02",
            "ip -p 1",
            "ps -p 1234",
            "fe80:1000:0000:0000:0000",
            "helm upgrade a b --set image.tag=1.2",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
