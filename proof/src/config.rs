//! What one run explores: the shape of the cluster, how stale reads are, which faults happen, which rule is off.

/// One rule of the protocol switched off, to see that the explorer notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Variant {
    Whole,
    /// The reference as it is written: an intent is cleared after `VolumeInUse` and only then, by one look at what
    /// this instance holds.
    AsWritten,
    NoIntent,
    /// Any slot of the member may be taken first.
    NoOrder,
    /// After `VolumeInUse` another choice is made within the pass.
    SecondChoice,
    /// An intent is cleared as soon as one view shows nothing held.
    ClearOnOneView,
    /// An intent is cleared once its volume is mounted.
    ForgetOnMount,
    /// A device is taken by its name, in the order of the slots, not by its serial.
    MountByName,
    /// The next slot is taken in the same pass.
    TwoAttaches,
}

/// A second volume that is tagged for the first slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Duplicate {
    /// There is none.
    None,
    /// It is there from the start, and everyone sees it.
    Persistent,
    /// It is tagged at any moment.
    Late,
    /// Both it and its twin are tagged at any moment, independently.
    BothLate,
}

/// How often each fault may happen in one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Faults {
    /// An agent is killed, and starts again with its journal.
    pub crashes: u8,
    /// A reply of `AttachVolume` is lost: it had its effect, has it later, or never. Or an attachment that was
    /// accepted comes to nothing.
    pub losses: u8,
    /// An instance is terminated and replaced.
    pub kills: u8,
    /// An instance is rebooted: nothing is mounted, and the kernel may name its devices otherwise.
    pub reboots: u8,
}

impl Faults {
    /// Each fault so often.
    pub const fn each(times: u8) -> Self {
        Self {
            crashes: times,
            losses: times,
            kills: times,
            reboots: times,
        }
    }
}

/// Which violations end a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Judged {
    All,
    /// All that a state or a step breaks, whether or not the members are taken in the end.
    Safety,
    /// The same, but a second `AttachVolume` in a pass does not count.
    SafetyButCalls,
    /// Only those that endanger data: what is mounted or formatted.
    Data,
    /// Only whether the members are taken in the end.
    Liveness,
}

/// What one run explores.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Config {
    /// Its name in the table.
    pub name: String,
    /// The instance group of each member.
    pub members: Vec<u8>,
    /// How many etcd clusters each member is of: `main`, then `events`.
    pub clusters: usize,
    /// The instance group of each instance at the start.
    pub instances: Vec<u8>,
    /// By how many versions of an object a read of it may be stale.
    pub stale: usize,
    pub faults: Faults,
    /// Whether the tags of an instance come after it.
    pub late_tags: bool,
    /// Whether there is a duplicate.
    pub duplicate: Duplicate,
    pub variant: Variant,
    /// Whether a device that the kernel shows counts as attached here, whatever EC2 shows.
    pub serials_first: bool,
    /// Which violations end the run.
    pub judged: Judged,
}

impl Config {
    /// A cluster of one instance group, with no faults and fresh reads.
    pub fn new(instances: usize, members: usize, clusters: usize) -> Self {
        Self {
            name: format!("{instances} x {members} x {clusters}"),
            members: vec![0; members],
            clusters,
            instances: vec![0; instances],
            stale: 0,
            faults: Faults::default(),
            late_tags: false,
            duplicate: Duplicate::None,
            variant: Variant::Whole,
            serials_first: false,
            judged: Judged::All,
        }
    }

    /// An instance group for each member, with one instance.
    pub fn groups(members: u8, clusters: usize) -> Self {
        let all: Vec<u8> = (0..members).collect();
        Self {
            name: format!("{members} groups x 1 x {clusters}"),
            members: all.clone(),
            instances: all,
            ..Self::new(0, 0, clusters)
        }
    }

    /// The same with reads this stale.
    pub fn stale(self, stale: usize) -> Self {
        Self { stale, ..self }
    }

    /// The same with these faults.
    pub fn faults(self, faults: Faults) -> Self {
        Self { faults, ..self }
    }

    /// The same with a duplicate.
    pub fn duplicate(self, duplicate: Duplicate) -> Self {
        Self { duplicate, ..self }
    }

    /// The same with late tags.
    pub fn late_tags(self) -> Self {
        Self {
            late_tags: true,
            ..self
        }
    }

    /// The same with a rule off.
    pub fn variant(self, variant: Variant) -> Self {
        Self { variant, ..self }
    }

    /// The same with agents that believe their kernel before EC2.
    pub fn serials_first(self) -> Self {
        Self {
            serials_first: true,
            ..self
        }
    }

    /// The same, judged by these violations only.
    pub fn judged(self, judged: Judged) -> Self {
        Self { judged, ..self }
    }

    /// The same under another name.
    fn named(self, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..self
        }
    }

    /// The same under a name that says all of it.
    pub fn described(self) -> Self {
        let mut name = format!("{}, stale {}", self.name, self.stale);
        let faults = self.faults;
        let counts = [faults.crashes, faults.losses, faults.kills, faults.reboots];
        if counts != [0; 4] {
            let counts = counts.map(|count| count.to_string()).join("/");
            name.push_str(&format!(", faults {counts}"));
        }
        if self.late_tags {
            name.push_str(", late tags");
        }
        if self.duplicate != Duplicate::None {
            name.push_str(&format!(", {:?} duplicate", self.duplicate));
        }
        if self.serials_first {
            name.push_str(", serials first");
        }
        if self.variant != Variant::Whole {
            name = format!("{:?}: {name}", self.variant);
        }
        if self.judged != Judged::All {
            name.push_str(&format!(" [{:?}]", self.judged));
        }
        self.named(&name)
    }

    /// How many volumes there are.
    pub fn volumes(&self) -> usize {
        let duplicate = usize::from(self.duplicate != Duplicate::None);
        self.members.len() * self.clusters + duplicate
    }

    /// The duplicate, where there is one: the last volume.
    pub fn duplicate_volume(&self) -> Option<usize> {
        (self.duplicate != Duplicate::None).then(|| self.volumes() - 1)
    }

    /// The member that a volume is tagged for.
    pub fn member_of(&self, volume: usize) -> usize {
        self.slot_of(volume) / self.clusters
    }

    /// The etcd cluster that a volume is tagged for.
    pub fn cluster_of(&self, volume: usize) -> usize {
        self.slot_of(volume) % self.clusters
    }

    /// The slot that a volume is tagged for, by the number of its own volume.
    pub fn slot_of(&self, volume: usize) -> usize {
        match volume < self.members.len() * self.clusters {
            true => volume,
            false => 0,
        }
    }
}
