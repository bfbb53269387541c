//! What else stands around the simulated machine: kops-controller, registries, sources of packages, programs, disks of its own.

use super::{Controller, SimHost};
use quake_model::facts::{DeviceContents, HostHealth, PodsSeen};
use std::collections::BTreeMap;
use std::time::Duration;

impl SimHost {
    /// Makes the state store take this long for every object from now on.
    pub fn slow_store(&self, takes: Duration) {
        self.lock().read_takes = takes;
    }

    /// In how many waves objects were read: a wave begins when nothing is being read.
    pub fn waves_of_reads(&self) -> u32 {
        self.lock().waves
    }

    /// Shows these pods to those who look for `name`; a pod that is not told of is up.
    pub fn show_pods(&self, name: &str, pods: PodsSeen) {
        self.lock().pods.insert(name.to_owned(), pods);
    }

    /// Lets a kops-controller answer.
    pub fn answer_bootstrap(&self, controller: Controller) {
        self.lock().controller = Some(controller);
    }

    /// Changes the kops-controller that answers, where there is one.
    pub fn change_bootstrap(&self, change: impl FnOnce(&mut Controller)) {
        self.lock().controller.as_mut().map(change);
    }

    /// Says what a look at the host's own disks and clock finds from now on.
    pub fn set_health(&self, health: HostHealth) {
        self.lock().health = health;
    }

    /// The objects of the state store whose locations begin so.
    pub fn objects_below(&self, start: &str) -> BTreeMap<String, Vec<u8>> {
        let world = self.lock();
        let below = world
            .objects
            .iter()
            .filter(|(place, _)| place.starts_with(start));
        below
            .map(|(place, bytes)| (place.clone(), bytes.clone()))
            .collect()
    }

    /// Keeps a server of kops-controller, or a component's health check, from answering, until it is let.
    pub fn silence(&self, url: &str) {
        self.lock().silent.insert(url.to_owned());
    }

    /// Lets it answer again.
    pub fn answer_again(&self, url: &str) {
        self.lock().silent.remove(url);
    }

    /// The servers of kops-controller that were asked, in their order.
    pub fn asked_bootstrap(&self) -> Vec<String> {
        self.lock().requested.clone()
    }

    /// Makes the metadata show a prefix only after so many looks.
    pub fn late_prefix(&self, after: u32) {
        self.lock().prefix_after = after;
    }

    /// Makes every registry lack an image.
    pub fn lack_image(&self, name: &str) {
        self.lock().unknown_images.insert(name.to_owned());
    }

    /// Makes every source lack a package.
    pub fn lack_package(&self, name: &str) {
        self.lock().unknown_packages.insert(name.to_owned());
    }

    /// Lets another program hold the package manager's lock for so many tries.
    pub fn hold_packages(&self, holder: &str, tries: u32) {
        self.lock().packages_held = Some((holder.to_owned(), tries));
    }

    /// Makes the next runs of a program fail.
    pub fn fail_commands(&self, program: &str, times: u32) {
        self.lock()
            .failing_commands
            .insert(program.to_owned(), times);
    }

    /// Makes the machine lack a program.
    pub fn lack_program(&self, program: &str) {
        self.lock().missing_programs.insert(program.to_owned());
    }

    /// Serves the key of a package source.
    pub fn serve_keyring(&self, url: &str, bytes: impl Into<Vec<u8>>) {
        self.lock().keyrings.insert(url.to_owned(), bytes.into());
    }

    /// Plugs in a block device that is no volume of EC2's, such as an instance's own disk.
    pub fn plug_device(&self, path: &str, contents: DeviceContents) {
        self.lock().devices.insert(path.to_owned(), contents);
    }

    /// What is on a block device that was plugged in.
    pub fn plugged_device(&self, path: &str) -> Option<DeviceContents> {
        self.lock().devices.get(path).cloned()
    }
}
