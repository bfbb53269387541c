//! How instances come to be.

use super::Ec2;
use std::time::Instant;

impl Ec2 {
    /// Launches an instance with these tags; its id.
    pub fn launch(&self, tags: &[(&str, &str)]) -> String {
        self.launch_at(tags, None)
    }

    /// The same at this private address, where there is one.
    ///
    /// # Panics
    ///
    /// As [`Ec2::launch`].
    pub fn launch_at(&self, tags: &[(&str, &str)], address: Option<&str>) -> String {
        let mut inner = self.inner();
        let id = self.moto.run_instance_at(tags, address);
        let id = id.expect("moto launches it");
        let shown = Instant::now() + self.rules.tags_after;
        inner.state.hide_tags(&id, shown);
        self.observe(&mut inner, true);
        id
    }
}
