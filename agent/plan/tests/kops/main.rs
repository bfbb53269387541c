//! The newer kops dialect over the conformance data: real clusters' configurations, and what a real nodeup made of them.

mod corpus;
mod expected;
mod lists;
mod meaning;
mod os_release;
mod pem;
mod rendered;
mod support;
