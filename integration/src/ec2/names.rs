//! Route 53 beside EC2, as the instances reach it.

use super::Ec2;
use crate::http::{Reply, Request};
use crate::proxy::forward;
use crate::zones;

impl Ec2 {
    /// The private address of an instance, as EC2 shows it.
    pub fn address_of(&self, instance: &str) -> String {
        let shown = self.call(
            "DescribeInstances",
            &[("InstanceId.1".to_owned(), instance)],
        );
        let reservations = shown.set("reservationSet").iter();
        let mut instances = reservations.flat_map(|one| one.set("instancesSet"));
        let found = instances.next().map(|one| one.text_of("privateIpAddress"));
        found.unwrap_or_default().to_owned()
    }

    /// Answers a request to Route 53.
    pub(super) fn answer_names(&self, request: &Request) -> Reply {
        // One at a time: a batch is judged by the records that it changes.
        let mut inner = self.inner();
        inner.names_asked += 1;
        if inner.names_asked <= self.rules.names_throttled {
            return zones::refusal(400, "Throttling", "Rate exceeded");
        }
        if self.rules.names_denied && request.method == "POST" {
            return zones::refusal(403, "AccessDenied", "User is not authorized");
        }
        let moto = self.moto.address();
        zones::misfit(moto, request).unwrap_or_else(|| forward(moto, request))
    }
}
