//! A small HTTP client and server of our own: what is tested must not stand on the library that it uses.

mod client;
pub(crate) mod server;

pub use client::{Answer, Endpoint, get, get_with, send, send_by_tls};
pub use server::{Reply, Request, Server};
