//! Whether a command of a client stands in a packet that tcpdump or ngrep shows as text, or behind what a session's record puts
//! before it.

/// How far before a command its packet begins.
const NEAR: usize = 400;

/// Ports of FTP, POP3, IMAP and IRC, whose commands carry passwords.
const PORTS: [&str; 14] = [
    "21", "110", "143", "194", "6667", "6668", "6669", "ftp", "pop3", "imap", "imap2", "irc",
    "ircd", "nntp",
];

/// What a client, or who dissects what it sent, writes before its commands.
const PROMPTS: [&str; 4] = ["Request: ", "FTP: ", "POP: ", ">>> "];

/// Whether what begins here was sent to such a port, or ends the header of a packet.
pub(super) fn is_sent(text: &str, at: usize) -> bool {
    let near = &text[text.ceil_char_boundary(at.saturating_sub(NEAR))..at];
    PROMPTS.iter().any(|prompt| near.ends_with(prompt))
        || ends_header(near.as_bytes())
        || is_to_port(near)
}

/// `P.......`: the last eight bytes of a header of TCP, from its length and flags to the pointer that nobody sets.
fn ends_header(bytes: &[u8]) -> bool {
    bytes
        .last_chunk::<8>()
        .is_some_and(|last| last.starts_with(b"P.") && last.ends_with(b".."))
}

/// `IP 10.0.0.1.50918 > 10.0.0.2.21: Flags [P.]` and `T 10.0.0.1:50918 -> 10.0.0.2:21 [AP]`
fn is_to_port(near: &str) -> bool {
    let flags = near.rfind(": Flags [").max(near.rfind(" [AP]"));
    let Some((sender, receiver)) = flags.and_then(|flags| near[..flags].rsplit_once("> ")) else {
        return false;
    };
    let port = receiver.rsplit(['.', ':']).next().unwrap_or_default();
    sender.len() < near.len() && !receiver.contains([' ', '\n']) && PORTS.contains(&port)
}
