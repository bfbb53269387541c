//! The cluster's API server: `kube`'s requests and watches over the agent's own connections (docs/adr/0020).
//!
//! | part | what it knows |
//! |---|---|
//! | `client` | the connection, kept from one call to the next |
//! | `api` | which request each method of the port is |
//! | `served` | what the server says that it serves |
//! | `refusal` | what an answer other than the wanted one means |
//! | `redactor` | how much of such an answer may be shown |

mod api;
mod api_error_redactor;
mod client;
mod refusal;
mod served;

pub use client::ClusterClient;

#[cfg(test)]
mod tests;
