//! Links, addresses and routes as the kernel shows them.

use serde::{Deserialize, Serialize};

/// How many addresses the network interfaces of an instance's type have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EniCapacity {
    pub interfaces: u32,
    /// IPv4 addresses of each.
    pub addresses_per_interface: u32,
}

/// An address of a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressFacts {
    /// The address, IPv4 or IPv6.
    pub address: String,
    /// The length of its prefix.
    pub prefix: u8,
}

/// A network interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkFacts {
    pub index: u32,
    /// Its name, such as `ens5`.
    pub name: String,
    /// Its hardware address, `02:00:…`; empty for links without one.
    pub mac: String,
    /// Its MTU in bytes.
    pub mtu: u32,
    pub up: bool,
    pub addresses: Vec<AddressFacts>,
}

/// A route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteFacts {
    /// Where it leads, `default` or a range.
    pub destination: String,
    /// The next hop, where there is one.
    pub gateway: Option<String>,
    /// The interface it leaves by.
    pub interface: String,
}

/// The node's network at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NetworkFacts {
    pub links: Vec<LinkFacts>,
    /// Routes of the main table.
    pub routes: Vec<RouteFacts>,
}

impl NetworkFacts {
    /// The interface of the default route; of several, the first.
    pub fn primary(&self) -> Option<&LinkFacts> {
        let route = self
            .routes
            .iter()
            .find(|route| route.destination == "default")?;
        self.links.iter().find(|link| link.name == route.interface)
    }
}
