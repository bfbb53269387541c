//! Backups of etcd, and the restore of one, for people and for programs.

mod backups;
mod restore;

pub(crate) use backups::{ListedStore, Verified, backups_json, backups_text};
pub(crate) use restore::{RestoreShown, restore_json, restore_text};

/// How long ago, in the largest two units.
fn age_text(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, minutes) => format!("{minutes}m"),
        (0, hours, minutes) => format!("{hours}h{minutes:02}m"),
        (days, hours, _) => format!("{days}d{hours:02}h"),
    }
}

#[cfg(test)]
mod tests {
    use super::age_text;

    #[test]
    fn ages_have_two_units_at_most() {
        let texts = [59, 900, 5_400, 864_000].map(age_text);
        assert_eq!(texts, ["59s", "15m", "1h30m", "10d00h"]);
    }
}
