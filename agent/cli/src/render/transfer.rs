//! Bytes, rates and remaining times in words, the same on a terminal, in plain lines and in `status`.

use indicatif::DecimalBytes;
use quake_model::transfer::{Fetched, Transfer, asset_of};
use std::time::Duration;

/// An asset on its way: `12.00 MB of 110.00 MB, 56.10 MB/s, 2s left`, as far as it is known.
pub(crate) fn transfer_text(transfer: &Transfer) -> String {
    let done = DecimalBytes(transfer.done);
    let mut text = match transfer.total {
        Some(total) => format!("{done} of {}", DecimalBytes(total)),
        None => done.to_string(),
    };
    for piece in [rate_text(transfer.rate), left_text(transfer)] {
        if !piece.is_empty() {
            text.push_str(", ");
            text.push_str(&piece);
        }
    }
    text
}

/// A rate; empty where there is none.
pub(crate) fn rate_text(rate: Option<f64>) -> String {
    rate.map(|rate| format!("{}/s", DecimalBytes(rate as u64)))
        .unwrap_or_default()
}

/// How long it takes yet, in whole seconds; empty where that is not known.
pub(crate) fn left_text(transfer: &Transfer) -> String {
    let seconds = transfer.remaining_seconds().map(f64::ceil);
    let left = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    left.map(|left| format!("{} left", clock_text(left.as_secs())))
        .unwrap_or_default()
}

/// A time in its two largest units.
pub(crate) fn clock_text(seconds: u64) -> String {
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m{seconds:02}s"),
        (hours, minutes, _) => format!("{hours}h{minutes:02}m"),
    }
}

/// The line of an asset that came in: its size, time and rate, and its mirror if that is not the first.
pub(crate) fn fetched_text(fetched: &Fetched) -> String {
    let seconds = fetched.took_ms as f64 / 1000.0;
    let mut text = format!(
        "{} {} in {seconds:.2}s",
        asset_of(&fetched.step),
        DecimalBytes(fetched.bytes)
    );
    if fetched.rate().is_some() {
        text.push_str(&format!(", {}", rate_text(fetched.rate())));
    }
    if fetched.mirror > 1 {
        text.push_str(&format!(
            ", from mirror {}, {}",
            fetched.mirror, fetched.source
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::transfer::Transfers;

    fn fetched(took_ms: u64, mirror: usize) -> Fetched {
        Fetched {
            step: "assets:kubelet".into(),
            bytes: 110_000_000,
            took_ms,
            source: "https://two.example.com/kubelet".into(),
            mirror,
            requests: 14,
        }
    }

    #[test]
    fn an_asset_on_its_way_says_what_is_known() {
        let mut transfers = Transfers::default();
        transfers.report("assets:a", 0, 0, None);
        assert_eq!(transfer_text(&transfers.in_progress["assets:a"]), "0 B");
        transfers.report("assets:a", 1_000, 2_000_000, Some(200_000_000));
        let text = transfer_text(&transfers.in_progress["assets:a"]);
        assert_eq!(text, "2.00 MB of 200.00 MB, 2.00 MB/s, 1m39s left");
    }

    #[test]
    fn an_asset_that_came_in_names_its_mirror_only_if_it_is_not_the_first() {
        assert_eq!(
            fetched_text(&fetched(2_000, 1)),
            "kubelet 110.00 MB in 2.00s, 55.00 MB/s"
        );
        let second = "kubelet 110.00 MB in 0.00s, from mirror 2, https://two.example.com/kubelet";
        assert_eq!(fetched_text(&fetched(0, 2)), second);
    }

    #[test]
    fn times_are_short() {
        let texts = [59, 60, 3_599, 3_600].map(clock_text);
        assert_eq!(texts, ["59s", "1m00s", "59m59s", "1h00m"]);
    }
}
