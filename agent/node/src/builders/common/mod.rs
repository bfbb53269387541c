//! Builders for the nodes of every kops generation: they read the spec with its items, and add to it.
//!
//! To add one: a file here, and a row in [`BUILDERS`].

mod kubelet_drop_ins;

use quake_model::spec::NodeSpec;

/// One concern: adds what the node must have.
type Builder = fn(&mut NodeSpec);

const BUILDERS: &[Builder] = &[kubelet_drop_ins::add];

/// Adds the items of all builders.
pub(crate) fn add(spec: &mut NodeSpec) {
    for builder in BUILDERS {
        builder(spec);
    }
}
