//! Machines that really boot, with real units, a real runtime and a real etcd. Each case is a file; what it leaves is in
//! `target/integration/machine/<case>/`.

mod control_plane_volumes;
mod describe_volumes_denied;
mod first_boot_cloud_init;
mod first_boot_worker;
mod image;
mod power_cut;
mod stopped_in_mid_attach;
mod tag_late;
mod two_volumes_same_tags;
mod volume_attached_before;
