use super::*;

fn status(state: AddonState, failures: u32, next_at: Option<u64>) -> AddonStatus {
    AddonStatus {
        name: "coredns.addons.k8s.io".to_owned(),
        state,
        failures,
        next_at: next_at.map(Timestamp),
        ..AddonStatus::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_try_that_was_cut_off_is_repeated_after_the_shortest_pause() {
    let now = Timestamp(1_000_000);
    let rows = [
        (status(AddonState::Applied, 0, None), None),
        (status(AddonState::WaitingForApi, 0, None), None),
        (
            status(AddonState::Applying, 0, None),
            Some((0, Some(AGAIN.floor))),
        ),
        (
            status(AddonState::Applying, 4, None),
            Some((4, Some(AGAIN.floor))),
        ),
        (
            status(AddonState::Failed, 2, Some(now.0 + 7_000)),
            Some((2, Some(Duration::from_secs(7)))),
        ),
        // A clock that was set back makes no pause longer than the longest.
        (
            status(AddonState::Failed, 1, Some(now.0 + 90_000_000)),
            Some((1, Some(AGAIN.cap))),
        ),
    ];
    for (status, expected) in rows {
        let reported = BTreeMap::from([(status.name.clone(), status.clone())]);
        let found = retries(&reported, now).remove(&status.name);
        let found = found.map(|retry| {
            let pause = retry.next.map(|next| next - Instant::now());
            (retry.failures, pause)
        });
        assert_eq!(found, expected, "{status:?}");
    }
}
