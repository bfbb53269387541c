//! Prefixes and types, as a local server plays EC2.

use super::*;
use crate::aws::testing::{aws_at, ec2_error};
use quake_http::testing::Reply;
use quake_model::ports::Meter;

const TYPES: &str = "<DescribeInstanceTypesResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\"><requestId>R</requestId><instanceTypeSet><item><instanceType>m5.large</instanceType><networkInfo><maximumNetworkInterfaces>3</maximumNetworkInterfaces><ipv4AddressesPerInterface>10</ipv4AddressesPerInterface></networkInfo></item></instanceTypeSet></DescribeInstanceTypesResponse>";

#[tokio::test]
async fn a_type_is_asked_for_by_its_name_once() {
    let (aws, calls, server) = aws_at(|_| Reply::text(200, TYPES)).await;
    let found = Ec2::new(aws).describe_type("m5.large").await;
    let wanted = EniCapacity {
        interfaces: 3,
        addresses_per_interface: 10,
    };
    assert_eq!(found, Ok(wanted));
    assert_eq!(calls.calls()["ec2:DescribeInstanceTypes"], 1);
    let bodies = server.seen().into_iter().map(|seen| seen.body);
    assert!(
        bodies
            .filter(|body| body.contains("Action=DescribeInstanceTypes"))
            .all(|body| body.contains("InstanceType.1=m5.large"))
    );
}

#[tokio::test]
async fn a_type_of_which_ec2_says_nothing_is_missing() {
    let (aws, _calls, _server) = aws_at(|_| {
        Reply::text(
            200,
            "<DescribeInstanceTypesResponse><instanceTypeSet/></DescribeInstanceTypesResponse>",
        )
    })
    .await;
    let found = Ec2::new(aws).describe_type("x9.huge").await;
    let condition = found.map_err(|error| error.condition);
    assert_eq!(condition, Err(Condition::Missing));
}

#[tokio::test]
async fn one_prefix_is_asked_for_on_the_interface() {
    let (aws, calls, server) = aws_at(|_| {
        Reply::text(200, "<AssignIpv6AddressesResponse><networkInterfaceId>eni-1</networkInterfaceId></AssignIpv6AddressesResponse>")
    })
    .await;
    assert_eq!(Ec2::new(aws).assign_prefix("eni-1").await, Ok(()));
    assert_eq!(calls.calls()["ec2:AssignIpv6Addresses"], 1);
    let mut bodies = server.seen().into_iter().map(|seen| seen.body);
    let body = bodies
        .find(|body| body.contains("Action=AssignIpv6Addresses"))
        .expect("EC2 was asked");
    for part in ["NetworkInterfaceId=eni-1", "Ipv6PrefixCount=1"] {
        assert!(body.contains(part), "{part} in {body}");
    }
}

#[tokio::test]
async fn a_prefix_that_is_denied_names_its_statement() {
    let (aws, _calls, _server) =
        aws_at(|_| ec2_error(403, "UnauthorizedOperation", "You are not authorized")).await;
    let error = Ec2::new(aws).assign_prefix("eni-1").await.unwrap_err();
    assert_eq!(error.condition, Condition::Denied);
    let remedy = error.remedy.unwrap_or_default();
    assert!(
        remedy.contains("allow ec2:AssignIpv6Addresses on arn:"),
        "{remedy}"
    );
    assert!(remedy.contains("\"Sid\":\"QuakeAssignPrefix\""), "{remedy}");
}
