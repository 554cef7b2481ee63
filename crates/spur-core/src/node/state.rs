//! The states of a node: Slurm's numbers, names, flags, and the words and suffixes sinfo makes of them.
//!
//! A node's state is one number: a base state in the low four bits and flags in the bits above.

/// The bits that hold the base state.
const BASE: u32 = 0xf;

macro_rules! node_states {
    ($($variant:ident = $number:literal, $name:literal, $compact:literal;)*) => {
        /// What a node does, flags aside.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum NodeState {
            #[default]
            $($variant = $number,)*
        }

        impl NodeState {
            /// Every base state, by number.
            pub const ALL: &'static [NodeState] = &[$(NodeState::$variant,)*];

            /// The long name.
            pub fn name(self) -> &'static str {
                match self { $(NodeState::$variant => $name,)* }
            }

            /// The short name.
            pub fn compact(self) -> &'static str {
                match self { $(NodeState::$variant => $compact,)* }
            }

            /// The base state with this number.
            pub fn from_number(number: u32) -> Option<NodeState> {
                match number { $($number => Some(NodeState::$variant),)* _ => None }
            }
        }
    };
}

node_states! {
    Unknown = 0, "UNKNOWN", "UNK";
    Down = 1, "DOWN", "DOWN";
    Idle = 2, "IDLE", "IDLE";
    Allocated = 3, "ALLOCATED", "ALLOC";
    Error = 4, "ERROR", "ERR";
    Mixed = 5, "MIXED", "MIX";
    Future = 6, "FUTURE", "FUTR";
}

impl NodeState {
    /// Slurm's number.
    pub fn number(self) -> u32 {
        self as u32
    }
}

macro_rules! node_flags {
    ($($variant:ident = $number:literal, $name:literal;)*) => {
        /// What may be true of a node beside its base state.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum NodeFlag {
            $($variant = $number,)*
        }

        impl NodeFlag {
            /// Every flag, in the order in which `IDLE+DRAIN` strings list them.
            pub const ALL: &'static [NodeFlag] = &[$(NodeFlag::$variant,)*];

            /// The name after a `+` and in JSON.
            pub fn name(self) -> &'static str {
                match self { $(NodeFlag::$variant => $name,)* }
            }
        }
    };
}

node_flags! {
    Cloud = 0x80, "CLOUD";
    Completing = 0x400, "COMPLETING";
    Drain = 0x200, "DRAIN";
    DynamicFuture = 0x8_0000, "DYNAMIC_FUTURE";
    DynamicNorm = 0x400_0000, "DYNAMIC_NORM";
    InvalidReg = 0x40_0000, "INVALID_REG";
    Fail = 0x2000, "FAIL";
    Maintenance = 0x8000, "MAINTENANCE";
    PowerDown = 0x80_0000, "POWER_DOWN";
    PowerUp = 0x100_0000, "POWER_UP";
    PerfCtrs = 0x10, "PERFCTRS";
    PoweredDown = 0x1000, "POWERED_DOWN";
    RebootRequested = 0x1_0000, "REBOOT_REQUESTED";
    RebootIssued = 0x10_0000, "REBOOT_ISSUED";
    Reserved = 0x20, "RESERVED";
    Resume = 0x100, "RESUME";
    NotResponding = 0x800, "NOT_RESPONDING";
    Planned = 0x20_0000, "PLANNED";
    PoweringUp = 0x4000, "POWERING_UP";
    PoweringDown = 0x4_0000, "POWERING_DOWN";
}

impl NodeFlag {
    /// The bit Slurm uses.
    pub fn bit(self) -> u32 {
        self as u32
    }
}

/// A base state and its flags, as the one number that crosses the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeStatus(pub u32);

impl From<NodeState> for NodeStatus {
    fn from(base: NodeState) -> NodeStatus {
        NodeStatus(base.number())
    }
}

impl NodeStatus {
    /// The base state; a number nobody knows counts as unknown.
    pub fn base(self) -> NodeState {
        NodeState::from_number(self.0 & BASE).unwrap_or_default()
    }

    /// Whether the flag is up.
    pub fn has(self, flag: NodeFlag) -> bool {
        self.0 & flag.bit() != 0
    }

    /// The same with one flag more.
    pub fn with(self, flag: NodeFlag) -> NodeStatus {
        NodeStatus(self.0 | flag.bit())
    }

    /// The same without this flag.
    pub fn without(self, flag: NodeFlag) -> NodeStatus {
        NodeStatus(self.0 & !flag.bit())
    }

    /// The flags that are up.
    pub fn flags(self) -> impl Iterator<Item = NodeFlag> {
        NodeFlag::ALL.iter().copied().filter(move |flag| self.has(*flag))
    }

    /// The extended word, as `sinfo -o %T` prints it (there in lower case): `MIXED*`, `DRAINED`.
    pub fn name(self) -> String {
        self.word(|long, _| long)
    }

    /// The compact word, as `sinfo -o %t` prints it (there in lower case): `MIX*`, `DRAIN`.
    pub fn compact(self) -> String {
        self.word(|_, short| short)
    }

    /// Base and every flag: `IDLE+DRAIN`, as `scontrol show node` prints it.
    pub fn complete(self) -> String {
        self.names().join("+")
    }

    /// Base and every flag, as the `state` array of JSON has them.
    pub fn names(self) -> Vec<&'static str> {
        std::iter::once(self.base().name()).chain(self.flags().map(NodeFlag::name)).collect()
    }

    /// Settles which of base and flags gets the word. `pick` chooses between a long and a short name.
    ///
    /// The order is Slurm's, found by asking it about every pair of flags on every base state.
    fn word(self, pick: fn(&'static str, &'static str) -> &'static str) -> String {
        use NodeFlag::*;
        let base = self.base();
        let busy = matches!(base, NodeState::Allocated | NodeState::Mixed);
        let plain = || pick(base.name(), base.compact());
        let star = if self.has(NotResponding) { "*" } else { "" };
        if self.has(InvalidReg) {
            return pick("INVAL", "INVAL").into();
        }
        if self.has(Maintenance) && !self.has(Drain) && !busy && base != NodeState::Down {
            return format!("{}{star}", pick("MAINT", "MAINT"));
        }
        if (self.has(RebootIssued) || self.has(RebootRequested)) && !busy {
            let suffix = if self.has(RebootIssued) { "^" } else { star };
            return format!("{}{suffix}", pick("REBOOT", "BOOT"));
        }
        if self.has(Drain) {
            let draining = busy || self.has(Completing);
            let word = if draining { pick("DRAINING", "DRNG") } else { pick("DRAINED", "DRAIN") };
            return format!("{word}{}", self.suffix());
        }
        if self.has(Fail) {
            let failing = base == NodeState::Allocated || self.has(Completing);
            let word = if failing { pick("FAILING", "FAILG") } else { pick("FAIL", "FAIL") };
            return format!("{word}{star}");
        }
        match base {
            NodeState::Down => format!("{}{}", plain(), self.suffix()),
            NodeState::Allocated => {
                let suffix = match self.suffix() {
                    "" if self.has(Completing) => "+",
                    suffix => suffix,
                };
                format!("{}{suffix}", plain())
            }
            _ if self.has(Completing) => pick("COMPLETING", "COMP").into(),
            NodeState::Idle if self.suffix().is_empty() => {
                if self.has(PerfCtrs) {
                    pick("PERFCTRS", "NPC").into()
                } else if self.has(Reserved) {
                    pick("RESERVED", "RESV").into()
                } else if self.has(Planned) {
                    pick("PLANNED", "PLND").into()
                } else {
                    plain().into()
                }
            }
            NodeState::Mixed if self.suffix().is_empty() && self.has(Planned) => {
                format!("{}-", plain())
            }
            NodeState::Idle | NodeState::Mixed | NodeState::Future => {
                format!("{}{}", plain(), self.suffix())
            }
            NodeState::Unknown | NodeState::Error if self.has(Resume) => {
                pick("RESUME", "RESM").into()
            }
            NodeState::Unknown => format!("{}{star}", plain()),
            NodeState::Error => "?".into(),
        }
    }

    /// The character after the word that tells of power, reboots and silence.
    fn suffix(self) -> &'static str {
        use NodeFlag::*;
        const SUFFIXES: &[(NodeFlag, &str)] = &[
            (Maintenance, "$"),
            (RebootIssued, "^"),
            (RebootRequested, "@"),
            (PoweringUp, "#"),
            (PoweringDown, "%"),
            (PoweredDown, "~"),
            (PowerDown, "!"),
            (NotResponding, "*"),
        ];
        SUFFIXES.iter().find(|(flag, _)| self.has(*flag)).map_or("", |(_, suffix)| suffix)
    }
}

#[cfg(test)]
mod tests {
    use super::NodeFlag::*;
    use super::NodeState::*;
    use super::*;

    fn words(base: NodeState, flags: &[NodeFlag]) -> (String, String) {
        let status = flags.iter().fold(NodeStatus::from(base), |status, flag| status.with(*flag));
        (status.name(), status.compact())
    }

    #[test]
    fn words_are_those_of_sinfo() {
        let cases: &[(NodeState, &[NodeFlag], &str, &str)] = &[
            (Idle, &[], "IDLE", "IDLE"),
            (Idle, &[NotResponding], "IDLE*", "IDLE*"),
            (Idle, &[Planned], "PLANNED", "PLND"),
            (Idle, &[Reserved], "RESERVED", "RESV"),
            (Idle, &[Completing], "COMPLETING", "COMP"),
            (Idle, &[Completing, NotResponding], "COMPLETING", "COMP"),
            (Idle, &[Drain], "DRAINED", "DRAIN"),
            (Idle, &[Drain, NotResponding], "DRAINED*", "DRAIN*"),
            (Idle, &[Drain, Completing], "DRAINING", "DRNG"),
            (Idle, &[Maintenance], "MAINT", "MAINT"),
            (Idle, &[Maintenance, Drain], "DRAINED$", "DRAIN$"),
            (Idle, &[RebootRequested], "REBOOT", "BOOT"),
            (Idle, &[RebootIssued, Drain], "REBOOT^", "BOOT^"),
            (Idle, &[PoweredDown], "IDLE~", "IDLE~"),
            (Idle, &[PoweredDown, PowerDown], "IDLE~", "IDLE~"),
            (Idle, &[PoweringUp, PoweringDown], "IDLE#", "IDLE#"),
            (Idle, &[InvalidReg, Drain], "INVAL", "INVAL"),
            (Mixed, &[], "MIXED", "MIX"),
            (Mixed, &[Drain], "DRAINING", "DRNG"),
            (Mixed, &[Planned], "MIXED-", "MIX-"),
            (Mixed, &[Maintenance], "MIXED$", "MIX$"),
            (Mixed, &[Completing], "COMPLETING", "COMP"),
            (Allocated, &[Completing], "ALLOCATED+", "ALLOC+"),
            (Allocated, &[RebootRequested], "ALLOCATED@", "ALLOC@"),
            (Allocated, &[Fail], "FAILING", "FAILG"),
            (Down, &[NotResponding], "DOWN*", "DOWN*"),
            (Down, &[Completing], "DOWN", "DOWN"),
            (Down, &[Drain], "DRAINED", "DRAIN"),
            (Unknown, &[NotResponding], "UNKNOWN*", "UNK*"),
            (Future, &[], "FUTURE", "FUTR"),
        ];
        for (base, flags, name, compact) in cases {
            let told = words(*base, flags);
            assert_eq!((told.0.as_str(), told.1.as_str()), (*name, *compact), "{base:?} {flags:?}");
        }
    }

    #[test]
    fn the_complete_word_lists_every_flag() {
        let status = NodeStatus::from(Idle).with(NotResponding).with(Drain);
        assert_eq!(status.complete(), "IDLE+DRAIN+NOT_RESPONDING");
        assert_eq!(NodeStatus::from(Mixed).with(Cloud).complete(), "MIXED+CLOUD");
    }
}
