//! The instance metadata service, version 2 only: who this instance is, its user data, its role.

mod credentials;
mod instance;
mod service;
mod token;
mod user_data;

pub use credentials::ImdsCredentials;
pub use service::{Imds, MetadataEndpoint};
pub use user_data::{compress, decompress};
