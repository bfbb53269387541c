//! Links, addresses and routes, read over rtnetlink.

use futures_util::TryStreamExt;
use nix::libc;
use quake_model::facts::{AddressFacts, LinkFacts, NetworkFacts, RouteFacts};
use quake_model::ports::{Condition, PortError};
use rtnetlink::packet_route::address::{AddressAttribute, AddressMessage};
use rtnetlink::packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use rtnetlink::packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteType, RouteVia,
};
use rtnetlink::{Handle, RouteMessageBuilder};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

/// The kernel answers a dump at once; this only keeps a broken socket from holding the boot up. It is
/// long: on a slow machine other work of this thread may come in between for many seconds.
const DEADLINE: Duration = Duration::from_secs(60);

/// Reads the network of this process's namespace: links by index, routes of the main table of both
/// families in the kernel's order, IPv4 first.
///
/// # Errors
///
/// `Denied` or `Io`; `TimedOut` when the kernel does not answer.
pub(super) async fn read_network() -> Result<NetworkFacts, PortError> {
    let (connection, handle, _) = rtnetlink::new_connection()
        .map_err(|error| super::attempt::os_error("open a netlink socket", &error))?;
    let driver = tokio::spawn(connection);
    let read = tokio::time::timeout(DEADLINE, read_tables(&handle)).await;
    driver.abort();
    match read {
        Ok(Ok(facts)) => Ok(facts),
        Ok(Err(error)) => Err(netlink_error(&error)),
        Err(_) => {
            let summary = "the kernel's network tables were not answered";
            Err(PortError::new(Condition::TimedOut, summary))
        }
    }
}

async fn read_tables(handle: &Handle) -> Result<NetworkFacts, rtnetlink::Error> {
    let links: Vec<LinkMessage> = handle.link().get().execute().try_collect().await?;
    let addresses: Vec<AddressMessage> = handle.address().get().execute().try_collect().await?;
    let four = RouteMessageBuilder::<Ipv4Addr>::new().build();
    let mut routes: Vec<RouteMessage> = handle.route().get(four).execute().try_collect().await?;
    let six = RouteMessageBuilder::<Ipv6Addr>::new().build();
    let more: Vec<RouteMessage> = handle.route().get(six).execute().try_collect().await?;
    routes.extend(more);
    Ok(assemble(&links, &addresses, &routes))
}

fn netlink_error(error: &rtnetlink::Error) -> PortError {
    let condition = match error {
        rtnetlink::Error::NetlinkError(message)
            if matches!(-message.raw_code(), libc::EPERM | libc::EACCES) =>
        {
            Condition::Denied
        }
        _ => Condition::Io,
    };
    PortError::new(condition, "read the kernel's network tables").because(error)
}

fn assemble(
    links: &[LinkMessage],
    addresses: &[AddressMessage],
    routes: &[RouteMessage],
) -> NetworkFacts {
    let mut links: Vec<LinkFacts> = links.iter().map(link_facts).collect();
    links.sort_by_key(|link| link.index);
    for message in addresses {
        let link = links
            .iter_mut()
            .find(|link| link.index == message.header.index);
        if let (Some(link), Some(address)) = (link, address_facts(message)) {
            link.addresses.push(address);
        }
    }
    let names = links
        .iter()
        .map(|link| (link.index, link.name.as_str()))
        .collect();
    let routes = routes.iter().filter(|route| is_main(route));
    let routes = routes
        .flat_map(|route| route_facts(route, &names))
        .collect();
    NetworkFacts { links, routes }
}

fn link_facts(message: &LinkMessage) -> LinkFacts {
    let mut facts = LinkFacts {
        index: message.header.index,
        name: String::new(),
        mac: String::new(),
        mtu: 0,
        up: message.header.flags.contains(LinkFlags::Up),
        addresses: Vec::new(),
    };
    for attribute in &message.attributes {
        match attribute {
            LinkAttribute::IfName(name) => facts.name.clone_from(name),
            LinkAttribute::Mtu(mtu) => facts.mtu = *mtu,
            // Six bytes are a hardware address; loopback has six zeros, tunnels have an IP address here.
            LinkAttribute::Address(bytes) if bytes.len() == 6 && bytes.iter().any(|b| *b != 0) => {
                let pairs: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                facts.mac = pairs.join(":");
            }
            _ => {}
        }
    }
    facts
}

fn address_facts(message: &AddressMessage) -> Option<AddressFacts> {
    // On a point-to-point link `Address` is the peer's and `Local` is ours; elsewhere both are ours, and
    // IPv6 gives only `Address`.
    let local = message
        .attributes
        .iter()
        .find_map(|attribute| match attribute {
            AddressAttribute::Local(address) => Some(address),
            _ => None,
        });
    let any = message
        .attributes
        .iter()
        .find_map(|attribute| match attribute {
            AddressAttribute::Address(address) => Some(address),
            _ => None,
        });
    let address = local.or(any)?.to_string();
    Some(AddressFacts {
        address,
        prefix: message.header.prefix_len,
    })
}

fn is_main(message: &RouteMessage) -> bool {
    let table = message
        .attributes
        .iter()
        .find_map(|attribute| match attribute {
            RouteAttribute::Table(table) => Some(*table),
            _ => None,
        });
    table.unwrap_or(u32::from(message.header.table)) == u32::from(RouteHeader::RT_TABLE_MAIN)
}

/// A route by each interface it leaves by: one, or one for each next hop of a multipath route. A route
/// that leaves by none (`blackhole`, `unreachable`) has no facts.
fn route_facts(message: &RouteMessage, names: &BTreeMap<u32, &str>) -> Vec<RouteFacts> {
    if message.header.kind != RouteType::Unicast {
        return Vec::new();
    }
    let destination = destination_of(message);
    let by = |index: u32, attributes: &[RouteAttribute]| RouteFacts {
        destination: destination.clone(),
        gateway: gateway_of(attributes),
        interface: names
            .get(&index)
            .map_or_else(|| format!("if{index}"), ToString::to_string),
    };
    let mut facts = Vec::new();
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Oif(index) => facts.push(by(*index, &message.attributes)),
            RouteAttribute::MultiPath(hops) => {
                facts.extend(
                    hops.iter()
                        .map(|hop| by(hop.interface_index, &hop.attributes)),
                );
            }
            _ => {}
        }
    }
    facts
}

fn destination_of(message: &RouteMessage) -> String {
    let prefix = message.header.destination_prefix_length;
    let address = message
        .attributes
        .iter()
        .find_map(|attribute| match attribute {
            RouteAttribute::Destination(address) => address_text(address),
            _ => None,
        });
    match address {
        Some(address) if prefix > 0 => format!("{address}/{prefix}"),
        _ => "default".to_owned(),
    }
}

fn gateway_of(attributes: &[RouteAttribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Gateway(address) => address_text(address),
        // An IPv4 route by an IPv6 next hop.
        RouteAttribute::Via(RouteVia::Inet6(address)) => Some(address.to_string()),
        RouteAttribute::Via(RouteVia::Inet(address)) => Some(address.to_string()),
        _ => None,
    })
}

fn address_text(address: &RouteAddress) -> Option<String> {
    match address {
        RouteAddress::Inet(address) => Some(address.to_string()),
        RouteAddress::Inet6(address) => Some(address.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtnetlink::packet_route::route::RouteNextHop;

    fn link(index: u32, name: &str, mac: &[u8]) -> LinkMessage {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.header.flags = LinkFlags::Up;
        message.attributes = vec![
            LinkAttribute::IfName(name.to_owned()),
            LinkAttribute::Address(mac.to_vec()),
            LinkAttribute::Mtu(9001),
        ];
        message
    }

    fn route(prefix: u8, attributes: Vec<RouteAttribute>) -> RouteMessage {
        let mut message = RouteMessage::default();
        message.header.destination_prefix_length = prefix;
        message.header.table = RouteHeader::RT_TABLE_MAIN;
        message.header.kind = RouteType::Unicast;
        message.attributes = attributes;
        message
    }

    fn inet(text: &str) -> RouteAddress {
        RouteAddress::Inet(text.parse().expect("a literal"))
    }

    #[test]
    fn a_route_without_a_prefix_is_the_default_route() {
        let links = [link(2, "ens5", &[2, 0, 0, 0, 0, 1]), link(1, "lo", &[0; 6])];
        let routes = [
            route(
                0,
                vec![
                    RouteAttribute::Gateway(inet("10.0.0.1")),
                    RouteAttribute::Oif(2),
                ],
            ),
            route(
                24,
                vec![
                    RouteAttribute::Destination(inet("10.0.0.0")),
                    RouteAttribute::Oif(2),
                ],
            ),
        ];
        let facts = assemble(&links, &[], &routes);
        let destinations: Vec<&str> = facts
            .routes
            .iter()
            .map(|r| r.destination.as_str())
            .collect();
        assert_eq!(destinations, ["default", "10.0.0.0/24"]);
        assert_eq!(facts.routes[0].gateway.as_deref(), Some("10.0.0.1"));
        let primary = facts.primary().expect("a primary link");
        assert_eq!(
            (primary.name.as_str(), primary.mac.as_str()),
            ("ens5", "02:00:00:00:00:01")
        );
        assert_eq!(facts.links[0].mac, "", "loopback has no hardware address");
    }

    #[test]
    fn routes_of_other_tables_and_routes_to_nowhere_are_left_out() {
        let mut other = route(0, vec![RouteAttribute::Oif(1)]);
        other.header.table = 0;
        other.attributes.push(RouteAttribute::Table(1000));
        let mut nowhere = route(8, vec![RouteAttribute::Destination(inet("10.0.0.0"))]);
        nowhere.header.kind = RouteType::BlackHole;
        assert_eq!(
            assemble(&[link(1, "a", &[])], &[], &[other, nowhere]).routes,
            []
        );
    }

    #[test]
    fn a_route_over_two_links_is_two_routes() {
        let hop = |index: u32, gateway: &str| {
            let mut hop = RouteNextHop::default();
            hop.interface_index = index;
            hop.attributes = vec![RouteAttribute::Gateway(inet(gateway))];
            hop
        };
        let hops = vec![hop(1, "10.0.0.1"), hop(2, "10.0.1.1")];
        let routes = [route(0, vec![RouteAttribute::MultiPath(hops)])];
        let facts = assemble(&[link(1, "a", &[]), link(2, "b", &[])], &[], &routes);
        let seen: Vec<(&str, Option<&str>)> = facts
            .routes
            .iter()
            .map(|route| (route.interface.as_str(), route.gateway.as_deref()))
            .collect();
        assert_eq!(seen, [("a", Some("10.0.0.1")), ("b", Some("10.0.1.1"))]);
    }

    #[test]
    fn an_address_is_our_end_of_a_link_between_two() {
        let mut message = AddressMessage::default();
        message.header.prefix_len = 32;
        let address = |text: &str| text.parse().expect("a literal");
        message.attributes = vec![
            AddressAttribute::Address(address("10.9.9.9")),
            AddressAttribute::Local(address("10.0.0.5")),
        ];
        let facts = address_facts(&message).expect("an address");
        assert_eq!((facts.address.as_str(), facts.prefix), ("10.0.0.5", 32));
    }

    #[tokio::test]
    async fn the_running_kernel_shows_its_loopback_link() {
        let facts = match read_network().await {
            Ok(facts) => facts,
            Err(error) => {
                println!("skipped: no netlink here: {error}");
                return;
            }
        };
        let loopback = facts
            .links
            .iter()
            .find(|link| link.name == "lo")
            .expect("a loopback link");
        assert_eq!((loopback.index, loopback.mac.as_str()), (1, ""));
        assert!(facts.links.is_sorted_by_key(|link| link.index));
    }
}
