//! Who can reach the agent without being trusted, and what they try: each case ends in the state that is stated for it.

mod clock;
mod disk;
mod endpoint;
mod lies;
mod locks;
#[path = "../disks/machine.rs"]
mod machine;
mod memory;
mod mirrors;
mod names;
#[path = "../assets/node.rs"]
mod node;
mod region;
mod resolver;
mod several;
mod slow;
mod threads;
mod wire;
