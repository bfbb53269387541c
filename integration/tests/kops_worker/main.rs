//! A worker of kops (1.32 and newer), booted by the binary in a network namespace: beside it a metadata service at its real address,
//! and a kops-controller that checks what it is sent.

mod certificates;
mod conditions;
mod lab;
mod refusals;
mod worker;
