//! Whole boots on real block devices: the kernel's loop devices, in a mount namespace of their own. What is not
//! of the disks is simulated.

mod cut;
mod first;
mod foreign;
mod kills;
mod machine;
mod mkfs;
mod node;
mod places;
mod volume;
