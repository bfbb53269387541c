//! What may happen in one step of the model.

/// How a call of `AttachVolume` ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reply {
    /// EC2 accepted it.
    Accepted,
    /// EC2 said that it cannot be.
    Refused,
    /// It had its effect, and the reply was lost.
    LostDone,
    /// It never reached EC2, and the agent does not know.
    LostUndone,
    /// The agent gave up on it, and it is still on its way.
    Delayed,
}

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Move {
    /// An agent observes and decides to take a volume; its intent is recorded.
    Choose(u8, u8),
    /// An agent observes and decides to take a volume, after `VolumeInUse` and in the same pass.
    ChooseAgain(u8, u8),
    /// An agent observes that a volume is its own, and begins to mount a device for its slot.
    Adopt(u8, u8),
    /// An agent describes the volume once more, and it is free (or it is not).
    Recheck(u8, u8, bool),
    /// An agent calls `AttachVolume`.
    Ask(u8, u8, Reply),
    /// After `VolumeInUse` an agent looks at what it holds: something (or nothing, and the intent is cleared).
    LookBack(u8, bool),
    /// An agent clears an intent that it made in this pass and whose only call was refused.
    Withdraw(u8),
    /// An agent clears its intent: reads that cannot be older than its last call show nothing held.
    Forget(u8),
    /// An agent clears its intent: one view shows nothing held.
    ForgetOnView(u8),
    /// An agent makes a filesystem.
    Format(u8, u8),
    /// An agent mounts a device.
    Mount(u8, u8),
    /// An agent writes the marker.
    Mark(u8, u8),
    /// An agent is killed, and starts again.
    Crash(u8),
    /// An instance is rebooted; its devices have swapped names or not.
    Reboot(u8, bool),
    /// An instance is terminated, and another launched.
    Kill(u8),
    /// An attachment that EC2 accepted comes to nothing.
    Fails(u8),
    /// EC2 has attached a volume.
    Attached(u8),
    /// An instance is gone, and its volumes are on their way off.
    Gone(u8),
    /// A volume is free again.
    Released(u8),
    /// A call that its agent gave up on reaches EC2.
    Arrives(u8),
    /// The tags of an instance are there.
    TagInstance(u8),
    /// The tags of a volume are there.
    TagVolume(u8),
}

impl Move {
    /// The agent whose own step it is; `None` for what EC2, chance or an operator does.
    pub fn agent(self) -> Option<usize> {
        match self {
            Self::Choose(agent, _)
            | Self::ChooseAgain(agent, _)
            | Self::Adopt(agent, _)
            | Self::Recheck(agent, ..)
            | Self::Ask(agent, ..)
            | Self::LookBack(agent, _)
            | Self::Withdraw(agent)
            | Self::Forget(agent)
            | Self::ForgetOnView(agent)
            | Self::Format(agent, _)
            | Self::Mount(agent, _)
            | Self::Mark(agent, _) => Some(usize::from(agent)),
            Self::Crash(_)
            | Self::Reboot(..)
            | Self::Kill(_)
            | Self::Fails(_)
            | Self::Attached(_)
            | Self::Gone(_)
            | Self::Released(_)
            | Self::Arrives(_)
            | Self::TagInstance(_)
            | Self::TagVolume(_) => None,
        }
    }

    /// Whether it is a fault, which stops when faults stop.
    pub fn is_fault(self) -> bool {
        match self {
            Self::Crash(_) | Self::Reboot(..) | Self::Kill(_) | Self::Fails(_) => true,
            Self::Ask(_, _, reply) => {
                matches!(reply, Reply::LostDone | Reply::LostUndone | Reply::Delayed)
            }
            _ => false,
        }
    }
}
