//! Certificates, judged by openssl: those that a worker was given, and those that a control plane signed for itself.
