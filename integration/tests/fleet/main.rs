//! Several machines in one region. Each case is a file; what it leaves is in `target/integration/fleet/<case>/`.

mod etcd_data_lost;
mod etcd_quorum_replaced;
mod volume_held;
mod volume_race;
