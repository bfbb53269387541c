//! The operator's commands on clusters of kops 1.32 and newer, with nothing but a copy of their state store: a directory in each
//! of the shapes that a copy has, and a bucket.

mod bucket;
mod node_documents;
mod rehearsal;
mod seeds;
mod whole_cluster;
