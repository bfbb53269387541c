//! Machines that really boot, with real units, a real runtime and a real etcd. Each case is a file; what it leaves is in
//! `target/integration/machine/<case>/`.

mod asset_mirrors;
mod clock_wrong;
mod control_plane_volumes;
mod describe_volumes_denied;
mod diagnosed;
mod disk_full;
mod first_boot_cloud_init;
mod first_boot_worker;
mod image;
mod image_imported;
mod kops_worker;
mod kubelet_crash_loop;
mod kubernetes_node;
mod metadata_refused;
mod network_configuration_gone;
mod nodeup_replaced;
mod power_cut;
mod reboot;
mod seeded_boot;
mod stopped_in_mid_attach;
mod store_unreachable;
mod tag_late;
mod two_volumes_same_tags;
mod user_data_truncated;
mod volume_attached_before;
