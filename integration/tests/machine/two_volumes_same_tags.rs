//! The outage that began it: a second volume has the tags of a member's, and the two programs that the agent replaces
//! each took what EC2 named first. Here both are refused, in whatever order they are named.

use quake_integration::ec2::Ec2;
use quake_integration::http::{Reply, Request};
use quake_integration::machine::{Facts, Kind, Lab, MachineBackend, OperatorOutput, Place};
use quake_integration::xml::Element;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What EC2 answers this instance, its volumes in the other order; counts the answers in which that changes anything.
fn turned(ec2: &Ec2, instance: &str, request: &Request, count: &AtomicUsize) -> Reply {
    let mut reply = ec2.answer(instance, request);
    let answer = String::from_utf8(reply.body.clone()).ok();
    let answer = answer.and_then(|text| Element::parse(&text));
    if let Some(mut answer) = answer.filter(|it| it.name == "DescribeVolumesResponse") {
        let volumes: Vec<Element> = answer.set("volumeSet").iter().rev().cloned().collect();
        count.fetch_add(usize::from(volumes.len() > 1), Ordering::Relaxed);
        answer.put(Element::of_children("volumeSet", volumes));
        reply.body = answer.write().into_bytes();
    }
    reply
}

/// Boots a control plane that has to refuse; what it said, without its own name.
fn refused(lab: &Lab, facts: &Facts, both: [&str; 2]) -> String {
    let machine = lab.container(facts, lab.baked());
    let status = machine.agent_fails(60).expect("it refuses");
    assert_eq!(status, 80, "{}", machine.said());
    let said = machine.console_of_agent();
    let verdict = "FAILED code=storage.volume-conflict phase=storage exit=80";
    assert_eq!(said.last().map(String::as_str), Some(verdict), "{said:?}");
    let reported = machine.said();
    let (console, fault) = (said.join("\n"), machine.fault());
    for volume in both {
        assert!(console.contains(volume), "the console names it: {console}");
        assert!(reported.contains(volume), "status names it: {reported}");
        assert!(machine.journal_says(volume, 1), "so does the journal");
        let place = format!("/mnt/master-{volume}");
        assert!(!machine.holds(&format!("findmnt {place}")), "{place}");
    }
    assert!(
        !machine.holds("ls /dev/disk/by-id/nvme-*"),
        "no device is there"
    );
    assert!(
        !machine.holds("systemctl is-active --quiet kubelet.service"),
        "nothing starts without its data"
    );
    fault.to_string().replace(&facts.instance, "i-self")
}

#[test]
fn two_volumes_same_tags() {
    let Some(lab) = Lab::open("two-volumes-same-tags", Kind::Containers) else {
        return;
    };
    let cluster = lab.cluster();
    let volumes = cluster.add_volumes();
    let other = cluster.add_volume("main", "a", &["a"]);
    let both = [volumes["main"].as_str(), other.as_str()];
    let first = refused(&lab, &cluster.launch("control-plane"), both);
    let facts = cluster.launch("control-plane");
    let (ec2, instance) = (Arc::clone(lab.vpc().ec2()), facts.instance.clone());
    let count = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&count);
    lab.vpc().interpose(Place::Aws, move |_, request| {
        Some(turned(&ec2, &instance, request, &counting))
    });
    let second = refused(&lab, &facts, both);
    lab.vpc().pass(Place::Aws);
    assert!(count.load(Ordering::Relaxed) > 0, "the order was another");
    assert_eq!(first, second, "the same answer for both orders");
    let ec2 = lab.vpc().ec2();
    assert_eq!(ec2.attached(), [], "nothing was attached");
    assert!(
        !ec2.calls(&facts.instance).contains_key("AttachVolume"),
        "nor asked for"
    );
}
