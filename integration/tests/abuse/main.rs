//! Who can reach the agent without being trusted, and what they try: each case ends in the state that is stated for it.

mod endpoint;
mod locks;
mod mirrors;
#[path = "../assets/node.rs"]
mod node;
mod region;
mod several;
mod slow;
mod threads;
mod wire;
