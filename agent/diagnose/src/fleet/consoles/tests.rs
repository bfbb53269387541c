//! Consoles put together.

use super::*;
use base64::Engine as _;
use quake_model::boot::BootState;

fn view(id: &str, launched: u64, tags: &[(&str, &str)]) -> InstanceView {
    let tags = tags
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    InstanceView {
        instance_id: id.to_owned(),
        state: InstanceState::Running,
        launched: Timestamp(launched),
        zone: "us-test-1a".to_owned(),
        private_ip: String::new(),
        tags: tags.collect(),
        device_names: Vec::new(),
    }
}

fn node(id: &str, launched: u64) -> InstanceView {
    view(id, launched, &[("kops.k8s.io/instancegroup", "nodes")])
}

fn heard(instance: InstanceView, text: &str) -> Heard {
    let console = Ok(base64::engine::general_purpose::STANDARD.encode(text));
    Heard { instance, console }
}

fn ready(id: &str, elapsed: u64) -> Heard {
    let text =
        format!("quake-agent: READY instance={id} cluster=c role=worker elapsed_ms={elapsed}\r\n");
    heard(node(id, 1_000), &text)
}

fn ids(chosen: &Chosen) -> Vec<&str> {
    chosen
        .instances
        .iter()
        .map(|view| view.instance_id.as_str())
        .collect()
}

#[test]
fn the_newest_instances_are_read_and_the_others_counted() {
    let gone = |id: &str, state| InstanceView {
        state,
        ..node(id, 9)
    };
    let views = vec![
        node("i-1", 1),
        node("i-3", 3),
        node("i-2", 3),
        node("i-1", 1),
        gone("i-4", InstanceState::Terminated),
        gone("i-5", InstanceState::ShuttingDown),
        gone("i-6", InstanceState::Stopped),
    ];
    let wanted = |limit| Wanted {
        limit,
        ..Wanted::default()
    };
    let all = choose_instances(views.clone(), &wanted(9));
    assert_eq!(
        (ids(&all), all.omitted),
        (vec!["i-6", "i-2", "i-3", "i-1"], 0)
    );
    let some = choose_instances(views.clone(), &wanted(2));
    assert_eq!((ids(&some), some.omitted), (vec!["i-6", "i-2"], 2));
    let since = Wanted {
        since: Some(Timestamp(3)),
        ..wanted(9)
    };
    assert_eq!(ids(&choose_instances(views, &since)), ["i-6", "i-2", "i-3"]);
}

#[test]
fn a_group_is_named_by_kops_tag_or_by_the_scaling_groups_name() {
    let older = [
        ("KubernetesCluster", "c.example"),
        ("aws:autoscaling:groupName", "nodes.c.example"),
    ];
    let views = vec![node("i-1", 1), view("i-2", 1, &older), view("i-3", 1, &[])];
    let wanted = Wanted {
        instance_group: Some("nodes".to_owned()),
        limit: 9,
        since: None,
    };
    assert_eq!(ids(&choose_instances(views, &wanted)), ["i-1", "i-2"]);
}

#[test]
fn what_is_known_of_each_instance_is_told_apart() {
    let failed = "quake-agent: FAILED code=config.yaml-syntax phase=config exit=78";
    let bastion = view("i-6", 1, &[("k8s.io/role/bastion", "1")]);
    let all = [
        ready("i-1", 5_000),
        heard(node("i-2", 2), failed),
        heard(
            node("i-3", 3),
            "quake-agent: files done, 3 changed (at 4.0 s)\r\n",
        ),
        heard(node("i-4", 4), "[    0.0] Linux version 6\r\n"),
        heard(node("i-5", 5), ""),
        heard(bastion, "[    0.0] Linux version 6\r\n"),
        Heard {
            instance: node("i-7", 7),
            console: Err("ec2:GetConsoleOutput is denied".to_owned()),
        },
        Heard {
            instance: node("i-8", 8),
            console: ready("i-1", 1).console,
        },
    ];
    let report = fleet_of_consoles(&all, 3, Rows::All);
    let quiet = |them: &[Quiet]| {
        them.iter()
            .map(|quiet| quiet.instance.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (report.fleet.boots, report.fleet.ready, report.fleet.failed),
        (2, 1, 1)
    );
    assert_eq!(quiet(&report.in_progress), ["i-3"]);
    assert_eq!(
        report.in_progress[0].note,
        "files done, 3 changed (at 4.0 s)"
    );
    assert_eq!(quiet(&report.no_report), ["i-4"]);
    assert_eq!(quiet(&report.no_output), ["i-5"]);
    let unread: Vec<&str> = report
        .fleet
        .unreadable
        .iter()
        .map(|unread| unread.why.as_str())
        .collect();
    assert_eq!(
        unread,
        [
            "ec2:GetConsoleOutput is denied",
            "its last line is of the instance i-1"
        ]
    );
    assert_eq!(
        (report.instances, report.omitted, report.is_ready()),
        (8, 3, false)
    );
    assert_eq!(report.fleet.failures[0].code, "config.yaml-syntax");
    assert_eq!(
        report.fleet.durations[1].total.map(|whole| whole.p50_ms),
        Some(5_000)
    );
}

#[test]
fn a_row_has_what_the_console_and_the_tags_have() {
    let report = fleet_of_consoles(&[ready("i-1", 5_000)], 0, Rows::All);
    let row = &report.fleet.rows[0];
    assert_eq!(
        (row.instance.id.as_str(), row.instance_group.as_str()),
        ("i-1", "nodes")
    );
    assert_eq!(
        (row.result, row.ended_at),
        (BootState::Ready, Timestamp(6_000))
    );
    assert_eq!(row.cluster.as_deref(), Some("c"));
}

#[test]
fn a_cluster_is_ready_when_all_that_it_has_was_read_and_became_ready() {
    let both = [ready("i-1", 1), ready("i-2", 1)];
    assert!(fleet_of_consoles(&both, 0, Rows::NotReady).is_ready());
    assert!(
        !fleet_of_consoles(&both, 1, Rows::All).is_ready(),
        "one was left out"
    );
    assert!(
        !fleet_of_consoles(&[], 0, Rows::All).is_ready(),
        "there is none"
    );
    let [one, _] = both;
    let silent = heard(node("i-3", 1), "x");
    assert!(!fleet_of_consoles(&[one, silent], 0, Rows::All).is_ready());
}
