//! Warm pools: what an instance has ready before it is needed, and telling its group that it has.

use crate::builders::Context;
use quake_model::fault::Fault;
use quake_model::item::{Item, LifecycleHook};
use std::collections::BTreeSet;

/// The hook that kops makes for a group with a warm pool (`upup/pkg/fi/nodeup/command.go`, kops v1.36.2).
const HOOK: &str = "kops-warmpool";

/// Images that are pulled while the instance warms up, and the hook, which waits for it both then and when it is put to use.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    let config = &context.config.whole;
    let mut items = Vec::new();
    if context.is_warming() {
        let names: BTreeSet<&str> = config.texts("warmPoolImages").into_iter().collect();
        let images = names.into_iter().map(str::to_owned);
        items.extend(images.map(|name| Item::PulledImage { name }));
    }
    if config.is_set("EnableLifecycleHook") {
        items.push(Item::LifecycleHook(LifecycleHook {
            group: format!("{}.{}", context.boot.instance_group, context.config.cluster),
            name: HOOK.to_owned(),
        }));
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::Lifecycle;
    use crate::builders::sample::Sample;

    const KEYS: &str = "EnableLifecycleHook: true\nwarmPoolImages: [b, a, b]\n";

    #[test]
    fn images_are_pulled_only_while_the_instance_warms_up() {
        let mut sample = Sample::worker(KEYS);
        let hook = "lifecycle-hook/kops-warmpool";
        assert_eq!(sample.subjects(build), [hook]);
        sample.machine.lifecycle = Lifecycle::Warming;
        let wanted = ["pulled-image/a", "pulled-image/b", hook];
        assert_eq!(sample.subjects(build), wanted);
    }

    #[test]
    fn the_hook_is_of_the_instance_groups_own_scaling_group() {
        let items = Sample::worker(KEYS).items(build);
        let Some(Item::LifecycleHook(hook)) = items.last() else {
            panic!("the hook is the last item")
        };
        assert_eq!(hook.group, "nodes.c.example.com");
    }

    #[test]
    fn a_group_without_a_pool_waits_for_nothing() {
        let mut sample = Sample::worker("");
        sample.machine.lifecycle = Lifecycle::Warming;
        assert_eq!(sample.subjects(build), [""; 0]);
    }
}
