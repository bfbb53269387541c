//! systemd.
