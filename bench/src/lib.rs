//! Worlds to measure the choice of etcd's volumes on, and the choices that earlier agents made of them.

pub mod legacy;
pub mod orders;
pub mod product;
pub mod worlds;
