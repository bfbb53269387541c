//! What a program writes for another that reads a secret: `echo secret | reader`.

use super::opaque::is_odd;
use super::pair::is_file_of_secret;
use std::ops::Range;

/// Programs that read a secret from another's output.
const READERS: [&str; 44] = [
    "sudo -S",
    "restic",
    "borg",
    "kopia",
    "gpg",
    "openssl",
    "cosign",
    "ansible",
    "zkCli",
    "-stdin",
    "chpasswd",
    "passwd --",
    "kinit",
    "cryptsetup",
    "--passphrase-fd",
    "realm join",
    "adcli",
    "zfs load-key",
    "mount -t davfs",
    "password_stdin",
    "encfs",
    "gocryptfs",
    "secret create",
    "smbpasswd",
    "ssh-add",
    "keyctl",
    "systemd-creds",
    "mkpasswd",
    "htpasswd -i",
    "base64",
    "saslpasswd",
    "secrets versions add",
    "secrets create",
    "clevis",
    "pass insert",
    "kubeseal",
    "age-encrypt",
    "mysql_config_editor",
    "vncpasswd",
    "htdigest",
    "keepassxc-cli",
    "lpass",
    "tarsnap-keygen",
    "secret set",
];

/// Programs of short names that read one, too, as the first word behind a pipe.
const SHORT_READERS: [&str; 4] = ["su", "runuser", "passwd", "login"];

/// How far a reader may stand behind what it reads.
const FARTHEST_READER: usize = 256;

/// How far the sign of a trace may stand before the end of a command's name.
const LONGEST_SIGN: usize = 16;

/// Whether what a program writes is read as a secret: behind a pipe, from a file, or on the next line of a trace. The program's
/// name ends at `from`, and these are the words behind it.
pub(super) fn is_piped(text: &str, from: usize, words: &[Range<usize>]) -> bool {
    is_read(text, from) || is_read_in_trace(text, from, words)
}

fn is_read(text: &str, from: usize) -> bool {
    let near = &text[from..text.floor_char_boundary(from + FARTHEST_READER)];
    let line = near.split('\n').next().unwrap_or_default();
    let behind = line.split_once('|').map_or("", |(_, behind)| behind);
    // `echo secret > /root/.password`
    let file = line.split_once('>').map_or("", |(_, behind)| behind);
    let file = file.trim_start_matches(['>', '|', ' ']);
    let file = file.split([' ', ';', '&', '"', '\'', '\\']).next();
    let file = file.and_then(|path| path.rsplit('/').next());
    if file.is_some_and(is_file_of_secret) {
        return true;
    }
    reads_secret(behind)
}

/// Whether a command reads a secret from what it is given.
pub(super) fn reads_secret(command: &str) -> bool {
    let decodes = command.contains("base64 -d") || command.contains("base64 --decode");
    let first = command.split_ascii_whitespace().next().unwrap_or_default();
    !decodes
        && (READERS.iter().any(|reader| command.contains(reader)) || SHORT_READERS.contains(&first))
}

/// Whether a shell that traces its commands shows a word, and a reader on the next line: it gives each part of a pipe a line of
/// its own.
fn is_read_in_trace(text: &str, from: usize, words: &[Range<usize>]) -> bool {
    let near = text.ceil_char_boundary(from.saturating_sub(LONGEST_SIGN));
    let before = text[near..from].rsplit_once(' ');
    if !before.is_some_and(|(before, _)| before.ends_with('+')) {
        return false;
    }
    let word = |place: &Range<usize>| &text[place.clone()];
    let behind = &text[from..text.floor_char_boundary(from + FARTHEST_READER)];
    let next = behind.split_once("+ ").map_or("", |(_, next)| next);
    let next = next.split(['\n', '\r']).next().unwrap_or_default();
    let next = next.split("\\n").next().unwrap_or_default();
    // `tee /etc/agent.psk`
    let writes = next.strip_prefix("tee ");
    let mut files = writes.into_iter().flat_map(str::split_whitespace);
    if files.any(|path| is_file_of_secret(path.rsplit('/').next().unwrap_or(path))) {
        return true;
    }
    // `/usr/sbin/program`
    let (program, _) = next.split_once(' ').unwrap_or((next, ""));
    let next = &next[program.rfind('/').map_or(0, |slash| slash + 1)..];
    let is_alone = match words {
        [_] | [_, _] if takes_input(next) => true,
        // Nobody ends a message so.
        [flag, only] => ["-n", "%s", "%s\\n"].contains(&word(flag)) && !word(only).contains(' '),
        [only] => is_odd(word(only)),
        _ => false,
    };
    is_alone && READERS.iter().any(|reader| next.starts_with(reader))
}

/// Whether a command says that it reads a secret from its input, so that whatever is written to it is one.
fn takes_input(command: &str) -> bool {
    const SIGNS: [&str; 8] = [
        "file=-",
        "file -",
        "-fd 0",
        "-fd=0",
        "fd:0",
        "stdin",
        "=- ",
        "/dev/fd/0",
    ];
    command.ends_with(" -") || SIGNS.iter().any(|sign| command.contains(sign))
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn what_another_program_reads_as_a_secret_is_masked() {
        for (text, scrubbed) in [
            ("echo hunter2 | sudo -S ls", "echo *** | sudo -S ls"),
            (
                "+ echo -n hunter\n+ cryptsetup luksOpen /dev/a b -",
                "+ echo -n ***\n+ cryptsetup luksOpen /dev/a b -",
            ),
            (
                "++ echo hunter2\\n++ cryptsetup luksOpen /dev/a b -",
                "++ echo ***\\n++ cryptsetup luksOpen /dev/a b -",
            ),
            (
                "echo hunter > /root/.password",
                "echo *** > /root/.password",
            ),
            (
                "+ echo 4fbebab6df81c5d6\n+ tee /etc/agent.psk",
                "+ echo ***\n+ tee /etc/agent.psk",
            ),
            (
                "+ printf %s 'an owl in 7 trees'\n+ /sbin/cryptsetup open --key-file=- /dev/a b",
                "+ printf %s '***'\n+ /sbin/cryptsetup open --key-file=- /dev/a b",
            ),
            (
                "++ echo 'an owl in trees'\n++ gpg --batch --passphrase-fd 0 -d a.gpg",
                "++ echo '***'\n++ gpg --batch --passphrase-fd 0 -d a.gpg",
            ),
        ] {
            assert_eq!(scrub(text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn what_is_told_to_people_stays() {
        for text in [
            "+ echo starting\n+ restic backup /srv",
            "+ echo -n 'all is well'\n+ restic backup /srv",
            "echo -n hunter2\ncryptsetup luksOpen /dev/a b",
            "+ echo 'opening the disk'\n+ cryptsetup open --key-file=/root/a /dev/a b",
            "echo done > /var/log/restic.log",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
