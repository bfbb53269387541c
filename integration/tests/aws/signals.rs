//! What a node tells its Auto Scaling group, which moto plays; hooks, which moto does not know, are answered here.

use crate::lab::{BUCKET, KEY, Lab, objects};
use quake_integration::agent::run_command;
use quake_integration::http::{Reply, Request};
use quake_integration::moto::Moto;
use quake_integration::proxy::{Service, forward, refusal};
use quake_integration::skip::{SetUpError, is_root, unless_missing};
use std::io;
use std::sync::{Arc, Mutex};

/// What is not real on these nodes. Their cloud is.
const SIMULATED: &str = "disks,kernel,units,probes";

const GROUP: &str = "workers.demo.quake.example";

/// A cluster whose spec nobody can read, with one instance in its group; the instance's id.
fn broken_cluster() -> Result<(Moto, String), SetUpError> {
    if !is_root() {
        let what = "network namespaces can be made by root alone";
        return Err(SetUpError::Missing(what.to_owned()));
    }
    let moto = Moto::start()?;
    let failed = |error: io::Error| SetUpError::Failed(error.to_string());
    for (key, bytes) in objects(&[]) {
        moto.put_object(BUCKET, &key, &bytes).map_err(failed)?;
    }
    let spec = format!("{KEY}/cluster.spec");
    moto.put_object(BUCKET, &spec, b"spec: [").map_err(failed)?;
    let instance = launch(&moto).map_err(failed)?;
    Ok((moto, instance))
}

fn launch(moto: &Moto) -> io::Result<String> {
    let name = [("LaunchConfigurationName", "workers")];
    let image = [("ImageId", "ami-12c6146b"), ("InstanceType", "t3.medium")];
    moto.call_autoscaling(
        "CreateLaunchConfiguration",
        &[name, [image[0]], [image[1]]].concat(),
    )?;
    let mut group = vec![("AutoScalingGroupName", GROUP), name[0]];
    group.extend([("MinSize", "1"), ("MaxSize", "1"), ("DesiredCapacity", "1")]);
    group.extend([
        ("AvailabilityZones.member.1", "us-east-1a"),
        ("Tags.member.1.Key", "KubernetesCluster"),
        ("Tags.member.1.Value", KEY),
        ("Tags.member.1.PropagateAtLaunch", "true"),
    ]);
    moto.call_autoscaling("CreateAutoScalingGroup", &group)?;
    member(moto, "InstanceId")
}

/// What Auto Scaling shows of the group's one instance.
fn member(moto: &Moto, field: &str) -> io::Result<String> {
    let answer = moto.call_autoscaling("DescribeAutoScalingInstances", &[])?;
    let open = format!("<{field}>");
    let value = answer
        .split_once(&open)
        .and_then(|(_, rest)| rest.split_once('<'));
    let value = value.map(|(value, _)| value.to_owned());
    value.ok_or_else(|| io::Error::other(format!("no {field} in {answer}")))
}

#[test]
fn a_node_that_fails_for_good_is_unhealthy_to_its_group_and_abandons_its_launch() {
    let Some((moto, instance)) = unless_missing(broken_cluster()) else {
        return;
    };
    let server = moto.address();
    let hooks = Arc::new(Mutex::new(Vec::new()));
    let requested = Arc::clone(&hooks);
    let lab = Lab::with_aws(move |request| {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        if !body.contains("Action=CompleteLifecycleAction") {
            return forward(server, request);
        }
        requested.lock().expect("nobody panics with it").push(body);
        Reply::new(
            200,
            "<CompleteLifecycleActionResponse><CompleteLifecycleActionResult/></CompleteLifecycleActionResponse>",
        )
    });
    let Some(mut lab) = unless_missing(lab) else {
        return;
    };
    lab.add_instance(&instance, "workers", &[]);
    let health = || {
        member(&moto, "HealthStatus")
            .expect("moto shows it")
            .to_uppercase()
    };

    let quiet = run_command(lab.boot(SIMULATED, &["--exit-when-ready"]));
    assert_eq!(
        (quiet.status, health().as_str()),
        (78, "HEALTHY"),
        "{}",
        quiet.text()
    );

    let mut command = lab.boot(SIMULATED, &["--exit-when-ready"]);
    command.env("QUAKE_AGENT_ON_FATAL", "abandon:launch,set-unhealthy");
    let reported = run_command(command);
    assert_eq!(
        (reported.status, health().as_str()),
        (78, "UNHEALTHY"),
        "{}",
        reported.text()
    );
    let hooks = hooks.lock().expect("nobody panics with it");
    assert_eq!(hooks.len(), 1, "{hooks:?}");
    for part in [
        format!("AutoScalingGroupName={GROUP}"),
        "LifecycleHookName=launch".to_owned(),
        "LifecycleActionResult=ABANDON".to_owned(),
        format!("InstanceId={instance}"),
    ] {
        assert!(hooks[0].contains(&part), "{part} in {hooks:?}");
    }
    assert_eq!(
        lab.leaks(&[&reported.stdout, &reported.stderr]),
        Vec::<String>::new()
    );
}

#[test]
fn a_signal_that_iam_refuses_names_its_statement_and_changes_no_status() {
    let Some((moto, instance)) = unless_missing(broken_cluster()) else {
        return;
    };
    let server = moto.address();
    let lab = Lab::with_aws(move |request: &Request| {
        let is_signal = String::from_utf8_lossy(&request.body).contains("Action=SetInstanceHealth");
        match is_signal {
            true => refusal(Service::Ec2, 403, "AccessDenied", "no policy allows it"),
            false => forward(server, request),
        }
    });
    let Some(mut lab) = unless_missing(lab) else {
        return;
    };
    lab.add_instance(&instance, "workers", &[]);
    let arguments = ["--exit-when-ready", "--on-fatal", "set-unhealthy"];
    let ended = run_command(lab.boot(SIMULATED, &arguments));
    assert_eq!(ended.status, 78, "{}", ended.text());
    let summary = ended.summary();
    let warnings = summary["warnings"].as_array().expect("there are some");
    let warning = warnings
        .iter()
        .find(|warning| warning["code"] == "boot.signal-denied");
    let warning = warning.expect("it is a warning");
    let remedy = warning["remedy"].as_str().unwrap_or_default();
    assert!(remedy.contains("autoscaling:SetInstanceHealth"), "{remedy}");
}
