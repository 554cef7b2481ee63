//! Slurm's errors as one table: the number crosses the C API and REST, the text is what users search for.

macro_rules! slurm_errors {
    ($($variant:ident = $number:literal, $name:literal, $text:literal;)*) => {
        /// What a Slurm client can tell apart.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum SlurmError {
            $(#[doc = $text] $variant = $number,)*
        }

        impl SlurmError {
            /// Every row, in the order of the table.
            pub const ALL: &'static [SlurmError] = &[$(SlurmError::$variant,)*];

            /// The constant's name in Slurm's headers.
            pub fn name(self) -> &'static str {
                match self { $(SlurmError::$variant => $name,)* }
            }

            /// Slurm's text, as `slurm_strerror` gives it.
            pub fn text(self) -> &'static str {
                match self { $(SlurmError::$variant => $text,)* }
            }

            /// The row with this number.
            pub fn from_number(number: u32) -> Option<SlurmError> {
                match number { $($number => Some(SlurmError::$variant),)* _ => None }
            }
        }
    };
}

impl SlurmError {
    /// Slurm's number, as it crosses the wire.
    pub fn number(self) -> u32 {
        self as u32
    }
}

impl std::fmt::Display for SlurmError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.text())
    }
}

impl std::error::Error for SlurmError {}

slurm_errors! {
    UnexpectedMsgError = 1000, "SLURM_UNEXPECTED_MSG_ERROR", "Unexpected message received";
    CommunicationsConnectionError = 1001, "SLURM_COMMUNICATIONS_CONNECTION_ERROR", "Communication connection failure";
    CommunicationsSendError = 1002, "SLURM_COMMUNICATIONS_SEND_ERROR", "Message send failure";
    CommunicationsReceiveError = 1003, "SLURM_COMMUNICATIONS_RECEIVE_ERROR", "Message receive failure";
    CommunicationsShutdownError = 1004, "SLURM_COMMUNICATIONS_SHUTDOWN_ERROR", "Communication shutdown failure";
    ProtocolVersionError = 1005, "SLURM_PROTOCOL_VERSION_ERROR", "Incompatible versions of client and server code";
    ProtocolIoStreamVersionError = 1006, "SLURM_PROTOCOL_IO_STREAM_VERSION_ERROR", "I/O stream version number error";
    ProtocolAuthenticationError = 1007, "SLURM_PROTOCOL_AUTHENTICATION_ERROR", "Protocol authentication error";
    ProtocolInsaneMsgLength = 1008, "SLURM_PROTOCOL_INSANE_MSG_LENGTH", "Insane message length";
    MpiPluginNameInvalid = 1009, "SLURM_MPI_PLUGIN_NAME_INVALID", "Invalid MPI plugin name";
    MpiPluginPrelaunchSetupFailed = 1010, "SLURM_MPI_PLUGIN_PRELAUNCH_SETUP_FAILED", "MPI plugin's pre-launch setup failed";
    PluginNameInvalid = 1011, "SLURM_PLUGIN_NAME_INVALID", "Plugin initialization failed";
    UnknownForwardAddr = 1012, "SLURM_UNKNOWN_FORWARD_ADDR", "Can't find an address, check slurm.conf";
    CommunicationsMissingSocketError = 1013, "SLURM_COMMUNICATIONS_MISSING_SOCKET_ERROR", "Unexpected missing socket error";
    CommunicationsInvalidIncomingFd = 1014, "SLURM_COMMUNICATIONS_INVALID_INCOMING_FD", "Unable to process incoming file descriptor";
    CommunicationsInvalidOutgoingFd = 1015, "SLURM_COMMUNICATIONS_INVALID_OUTGOING_FD", "Unable to process outgoing file descriptor";
    CommunicationsInvalidFd = 1016, "SLURM_COMMUNICATIONS_INVALID_FD", "Unable to process incoming and outgoing file descriptors";
    SlurmctldCommunicationsConnectionError = 1800, "SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR", "Unable to contact slurm controller (connect failure)";
    SlurmctldCommunicationsSendError = 1801, "SLURMCTLD_COMMUNICATIONS_SEND_ERROR", "Unable to contact slurm controller (send failure)";
    SlurmctldCommunicationsReceiveError = 1802, "SLURMCTLD_COMMUNICATIONS_RECEIVE_ERROR", "Unable to contact slurm controller (receive failure)";
    SlurmctldCommunicationsShutdownError = 1803, "SLURMCTLD_COMMUNICATIONS_SHUTDOWN_ERROR", "Unable to contact slurm controller (shutdown failure)";
    SlurmctldCommunicationsBackoff = 1804, "SLURMCTLD_COMMUNICATIONS_BACKOFF", "Rate limit exceeded, please retry momentarily";
    SlurmctldCommunicationsHardDrop = 1805, "SLURMCTLD_COMMUNICATIONS_HARD_DROP", "Rate limit exceeded, please retry later";
    NoChangeInData = 1900, "SLURM_NO_CHANGE_IN_DATA", "Data has not changed since time specified";
    InvalidPartitionName = 2000, "ESLURM_INVALID_PARTITION_NAME", "Invalid partition name specified";
    DefaultPartitionNotSet = 2001, "ESLURM_DEFAULT_PARTITION_NOT_SET", "No partition specified or system default partition";
    AccessDenied = 2002, "ESLURM_ACCESS_DENIED", "Access/permission denied";
    JobMissingRequiredPartitionGroup = 2003, "ESLURM_JOB_MISSING_REQUIRED_PARTITION_GROUP", "User's group not permitted to use this partition";
    RequestedNodesNotInPartition = 2004, "ESLURM_REQUESTED_NODES_NOT_IN_PARTITION", "Requested nodes not in this partition";
    TooManyRequestedCpus = 2005, "ESLURM_TOO_MANY_REQUESTED_CPUS", "More processors requested than permitted";
    InvalidNodeCount = 2006, "ESLURM_INVALID_NODE_COUNT", "Node count specification invalid";
    ErrorOnDescToRecordCopy = 2007, "ESLURM_ERROR_ON_DESC_TO_RECORD_COPY", "Unable to create job record, try again";
    JobMissingSizeSpecification = 2008, "ESLURM_JOB_MISSING_SIZE_SPECIFICATION", "Job size specification needs to be provided";
    JobScriptMissing = 2009, "ESLURM_JOB_SCRIPT_MISSING", "Job script not specified";
    UserIdMissing = 2010, "ESLURM_USER_ID_MISSING", "Invalid user id";
    DuplicateJobId = 2011, "ESLURM_DUPLICATE_JOB_ID", "Duplicate job id";
    PathnameTooLong = 2012, "ESLURM_PATHNAME_TOO_LONG", "Pathname of a file, directory or other parameter too long";
    NotTopPriority = 2013, "ESLURM_NOT_TOP_PRIORITY", "Immediate execution impossible, insufficient priority";
    RequestedNodeConfigUnavailable = 2014, "ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE", "Requested node configuration is not available";
    RequestedPartConfigUnavailable = 2015, "ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE", "Requested partition configuration not available now";
    NodesBusy = 2016, "ESLURM_NODES_BUSY", "Requested nodes are busy";
    InvalidJobId = 2017, "ESLURM_INVALID_JOB_ID", "Invalid job id specified";
    InvalidNodeName = 2018, "ESLURM_INVALID_NODE_NAME", "Invalid node name specified";
    WritingToFile = 2019, "ESLURM_WRITING_TO_FILE", "I/O error writing script/environment to file";
    TransitionStateNoUpdate = 2020, "ESLURM_TRANSITION_STATE_NO_UPDATE", "Job can not be altered now, try again later";
    AlreadyDone = 2021, "ESLURM_ALREADY_DONE", "Job/step already completing or completed";
    InterconnectFailure = 2022, "ESLURM_INTERCONNECT_FAILURE", "Error configuring interconnect";
    BadDist = 2023, "ESLURM_BAD_DIST", "Task distribution specification invalid";
    JobPending = 2024, "ESLURM_JOB_PENDING", "Job is pending execution";
    BadTaskCount = 2025, "ESLURM_BAD_TASK_COUNT", "Task count specification invalid";
    InvalidJobCredential = 2026, "ESLURM_INVALID_JOB_CREDENTIAL", "Error generating job credential";
    InStandbyMode = 2027, "ESLURM_IN_STANDBY_MODE", "Slurm backup controller in standby mode";
    InvalidNodeState = 2028, "ESLURM_INVALID_NODE_STATE", "Invalid node state specified";
    InvalidFeature = 2029, "ESLURM_INVALID_FEATURE", "Invalid feature specification";
    InvalidAuthtypeChange = 2030, "ESLURM_INVALID_AUTHTYPE_CHANGE", "AuthType change requires restart of all Slurm daemons and commands to take effect";
    ActiveFeatureNotSubset = 2031, "ESLURM_ACTIVE_FEATURE_NOT_SUBSET", "Active features not subset of available features";
    InvalidSchedtypeChange = 2032, "ESLURM_INVALID_SCHEDTYPE_CHANGE", "SchedulerType change requires restart of the slurmctld daemon to take effect";
    InvalidSelecttypeChange = 2033, "ESLURM_INVALID_SELECTTYPE_CHANGE", "SelectType change requires restart of the slurmctld daemon to take effect";
    InvalidSwitchtypeChange = 2034, "ESLURM_INVALID_SWITCHTYPE_CHANGE", "SwitchType change requires restart of all Slurm daemons and jobs to take effect";
    Fragmentation = 2035, "ESLURM_FRAGMENTATION", "Immediate execution impossible, resources too fragmented for allocation";
    NotSupported = 2036, "ESLURM_NOT_SUPPORTED", "Requested operation not supported on this system";
    Disabled = 2037, "ESLURM_DISABLED", "Requested operation is presently disabled";
    Dependency = 2038, "ESLURM_DEPENDENCY", "Job dependency problem";
    BatchOnly = 2039, "ESLURM_BATCH_ONLY", "Only batch jobs are accepted or processed";
    LicensesUnavailable = 2040, "ESLURM_LICENSES_UNAVAILABLE", "Licenses currently unavailable";
    TakeoverNoHeartbeat = 2041, "ESLURM_TAKEOVER_NO_HEARTBEAT", "Unable to takeover, heartbeat file is missing";
    JobHeld = 2042, "ESLURM_JOB_HELD", "Job is in held state, pending scheduler release";
    InvalidCredTypeChange = 2043, "ESLURM_INVALID_CRED_TYPE_CHANGE", "CredType change requires restart of all Slurm daemons to take effect";
    InvalidTaskMemory = 2044, "ESLURM_INVALID_TASK_MEMORY", "Memory required by task is not available";
    InvalidAccount = 2045, "ESLURM_INVALID_ACCOUNT", "Invalid account or account/partition combination specified";
    InvalidParentAccount = 2046, "ESLURM_INVALID_PARENT_ACCOUNT", "Invalid parent account specified";
    SameParentAccount = 2047, "ESLURM_SAME_PARENT_ACCOUNT", "Account already child of parent account specified";
    InvalidLicenses = 2048, "ESLURM_INVALID_LICENSES", "Invalid license specification";
    NeedRestart = 2049, "ESLURM_NEED_RESTART", "The node configuration changes that were made require restart of the slurmctld daemon to take effect";
    AccountingPolicy = 2050, "ESLURM_ACCOUNTING_POLICY", "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)";
    InvalidTimeLimit = 2051, "ESLURM_INVALID_TIME_LIMIT", "Requested time limit is invalid (missing or exceeds some limit)";
    ReservationAccess = 2052, "ESLURM_RESERVATION_ACCESS", "Access denied to requested reservation";
    ReservationInvalid = 2053, "ESLURM_RESERVATION_INVALID", "Requested reservation is invalid";
    InvalidTimeValue = 2054, "ESLURM_INVALID_TIME_VALUE", "Invalid time specified";
    ReservationBusy = 2055, "ESLURM_RESERVATION_BUSY", "Requested reservation is in use";
    ReservationNotUsable = 2056, "ESLURM_RESERVATION_NOT_USABLE", "Requested reservation not usable now";
    InvalidWckey = 2057, "ESLURM_INVALID_WCKEY", "Invalid wckey specification";
    ReservationOverlap = 2058, "ESLURM_RESERVATION_OVERLAP", "Requested reservation overlaps with another reservation";
    PortsBusy = 2059, "ESLURM_PORTS_BUSY", "Required ports are in use";
    PortsInvalid = 2060, "ESLURM_PORTS_INVALID", "Requires more ports than can be reserved";
    PrologRunning = 2061, "ESLURM_PROLOG_RUNNING", "PrologSlurmctld is still running";
    NoSteps = 2062, "ESLURM_NO_STEPS", "Job steps can not be run on this cluster";
    MissingWorkDir = 2063, "ESLURM_MISSING_WORK_DIR", "Job cannot be submitted without the current working directory specified.";
    InvalidQos = 2066, "ESLURM_INVALID_QOS", "Invalid qos specification";
    QosPreemptionLoop = 2067, "ESLURM_QOS_PREEMPTION_LOOP", "QOS Preemption loop detected";
    NodeNotAvail = 2068, "ESLURM_NODE_NOT_AVAIL", "Required node not available (down, drained or reserved)";
    InvalidCpuCount = 2069, "ESLURM_INVALID_CPU_COUNT", "CPU count specification invalid";
    PartitionNotAvail = 2070, "ESLURM_PARTITION_NOT_AVAIL", "Required partition not available (inactive or drain)";
    CircularDependency = 2071, "ESLURM_CIRCULAR_DEPENDENCY", "Circular job dependency";
    InvalidGres = 2072, "ESLURM_INVALID_GRES", "Invalid generic resource (gres) specification";
    JobNotPending = 2073, "ESLURM_JOB_NOT_PENDING", "Job is no longer pending execution";
    QosThres = 2074, "ESLURM_QOS_THRES", "Requested account has breached requested QOS usage threshold";
    PartitionInUse = 2075, "ESLURM_PARTITION_IN_USE", "Partition is in use";
    StepLimit = 2076, "ESLURM_STEP_LIMIT", "Step limit reached for this job";
    JobSuspended = 2077, "ESLURM_JOB_SUSPENDED", "Job is current suspended, requested operation disabled";
    CanNotStartImmediately = 2078, "ESLURM_CAN_NOT_START_IMMEDIATELY", "Job can not start immediately";
    ReservationEmpty = 2080, "ESLURM_RESERVATION_EMPTY", "Reservation request lacks users, groups or accounts";
    InvalidArray = 2081, "ESLURM_INVALID_ARRAY", "Invalid job array specification";
    ReservationNameDup = 2082, "ESLURM_RESERVATION_NAME_DUP", "Duplicate reservation name";
    JobStarted = 2083, "ESLURM_JOB_STARTED", "Job has already started";
    JobFinished = 2084, "ESLURM_JOB_FINISHED", "Job has already finished";
    JobNotRunning = 2085, "ESLURM_JOB_NOT_RUNNING", "Job is not running";
    JobNotPendingNorRunning = 2086, "ESLURM_JOB_NOT_PENDING_NOR_RUNNING", "Job is not pending nor running";
    JobNotSuspended = 2087, "ESLURM_JOB_NOT_SUSPENDED", "Job is not suspended";
    JobNotFinished = 2088, "ESLURM_JOB_NOT_FINISHED", "Job is not finished";
    TriggerDup = 2089, "ESLURM_TRIGGER_DUP", "Duplicate event trigger";
    Internal = 2090, "ESLURM_INTERNAL", "Slurm internal error, contact system administrator";
    InvalidBurstBufferChange = 2091, "ESLURM_INVALID_BURST_BUFFER_CHANGE", "BurstBufferType change requires restart of slurmctld daemon to take effect";
    BurstBufferPermission = 2092, "ESLURM_BURST_BUFFER_PERMISSION", "Burst Buffer permission denied";
    BurstBufferLimit = 2093, "ESLURM_BURST_BUFFER_LIMIT", "Burst Buffer resource limit exceeded";
    InvalidBurstBufferRequest = 2094, "ESLURM_INVALID_BURST_BUFFER_REQUEST", "Burst Buffer request invalid";
    PrioResetFail = 2095, "ESLURM_PRIO_RESET_FAIL", "Changes to job priority are not persistent, change nice instead";
    CannotModifyCronJob = 2096, "ESLURM_CANNOT_MODIFY_CRON_JOB", "Cannot modify scrontab jobs through scontrol";
    InvalidNamespaceChange = 2097, "ESLURM_INVALID_NAMESPACE_CHANGE", "NamespaceType change requires restart of all Slurm daemons and commands to take effect";
    CannotCancelCronJob = 2098, "ESLURM_CANNOT_CANCEL_CRON_JOB", "Cannot cancel scrontab jobs without --cron flag.";
    InvalidMcsLabel = 2099, "ESLURM_INVALID_MCS_LABEL", "Invalid mcs_label specified";
    BurstBufferWait = 2100, "ESLURM_BURST_BUFFER_WAIT", "Waiting for burst buffer";
    PartitionDown = 2101, "ESLURM_PARTITION_DOWN", "Partition in DOWN state";
    DuplicateGres = 2102, "ESLURM_DUPLICATE_GRES", "Duplicate generic resource (gres) specification";
    RsvAlreadyStarted = 2104, "ESLURM_RSV_ALREADY_STARTED", "Reservation already started";
    SubmissionsDisabled = 2105, "ESLURM_SUBMISSIONS_DISABLED", "System submissions disabled";
    NotHetJob = 2106, "ESLURM_NOT_HET_JOB", "Job not heterogeneous job";
    NotHetJobLeader = 2107, "ESLURM_NOT_HET_JOB_LEADER", "Job not heterogeneous job leader";
    NotWholeHetJob = 2108, "ESLURM_NOT_WHOLE_HET_JOB", "Operation not permitted on individual component of heterogeneous job";
    CoreReservationUpdate = 2109, "ESLURM_CORE_RESERVATION_UPDATE", "Core-based reservation can not be updated";
    DuplicateStepId = 2110, "ESLURM_DUPLICATE_STEP_ID", "Duplicate job step id";
    InvalidCoreCnt = 2111, "ESLURM_INVALID_CORE_CNT", "Core count for reservation node list is not consistent!";
    X11NotAvail = 2112, "ESLURM_X11_NOT_AVAIL", "X11 forwarding not available";
    GroupIdMissing = 2113, "ESLURM_GROUP_ID_MISSING", "Invalid group id";
    BatchConstraint = 2114, "ESLURM_BATCH_CONSTRAINT", "Job --batch option is invalid or not a subset of --constraint";
    InvalidTres = 2115, "ESLURM_INVALID_TRES", "Invalid Trackable RESource (TRES) specification";
    InvalidTresBillingWeights = 2116, "ESLURM_INVALID_TRES_BILLING_WEIGHTS", "Invalid TRESBillingWeights specification";
    InvalidJobDefaults = 2117, "ESLURM_INVALID_JOB_DEFAULTS", "Invalid JobDefaults specification";
    ReservationMaint = 2118, "ESLURM_RESERVATION_MAINT", "Job can not start due to maintenance reservation.";
    InvalidGresType = 2119, "ESLURM_INVALID_GRES_TYPE", "Invalid GRES specification (with and without type identification)";
    RebootInProgress = 2120, "ESLURM_REBOOT_IN_PROGRESS", "Reboot already in progress";
    MultiKnlConstraint = 2121, "ESLURM_MULTI_KNL_CONSTRAINT", "Multiple KNL NUMA and/or MCDRAM constraints require use of a heterogeneous job";
    UnsupportedGres = 2122, "ESLURM_UNSUPPORTED_GRES", "Requested GRES option unsupported by configured SelectType plugin";
    InvalidNice = 2123, "ESLURM_INVALID_NICE", "Invalid --nice value";
    InvalidTimeMinLimit = 2124, "ESLURM_INVALID_TIME_MIN_LIMIT", "Invalid time-min specification (exceeds job's time or other limits)";
    Defer = 2125, "ESLURM_DEFER", "Immediate execution impossible. Individual job submission scheduling attempts deferred";
    ConfiglessDisabled = 2126, "ESLURM_CONFIGLESS_DISABLED", "ConfigLess mode is disabled in slurm configuration.";
    EnvironmentMissing = 2127, "ESLURM_ENVIRONMENT_MISSING", "Environment is missing in job";
    ReservationNoSkip = 2128, "ESLURM_RESERVATION_NO_SKIP", "Reservation given is not skipable, try deleting instead";
    ReservationUserGroup = 2129, "ESLURM_RESERVATION_USER_GROUP", "Reservations can't have users and groups specified, only one or the other";
    PartitionAssoc = 2130, "ESLURM_PARTITION_ASSOC", "Multiple partition job request not supported when a partition is set in the association";
    InStandbyUseBackup = 2131, "ESLURM_IN_STANDBY_USE_BACKUP", "Controller is in standby mode, try a different controller";
    BadThreadPerCore = 2132, "ESLURM_BAD_THREAD_PER_CORE", "Cannot request more threads per core than the job allocation";
    InvalidPrefer = 2133, "ESLURM_INVALID_PREFER", "Invalid preferred feature specification";
    InsufficientGres = 2134, "ESLURM_INSUFFICIENT_GRES", "Insufficient GRES available in allocation";
    InvalidContainerId = 2135, "ESLURM_INVALID_CONTAINER_ID", "Invalid container id specified";
    EmptyJobId = 2136, "ESLURM_EMPTY_JOB_ID", "JobID must not be an empty string";
    InvalidJobIdZero = 2137, "ESLURM_INVALID_JOB_ID_ZERO", "JobID can not be zero";
    InvalidJobIdNegative = 2138, "ESLURM_INVALID_JOB_ID_NEGATIVE", "JobID can not be a negative number";
    InvalidJobIdTooLarge = 2139, "ESLURM_INVALID_JOB_ID_TOO_LARGE", "JobID larger than acceptable range";
    InvalidJobIdNonNumeric = 2140, "ESLURM_INVALID_JOB_ID_NON_NUMERIC", "JobID includes unexpected non-numeric characters";
    EmptyJobArrayId = 2141, "ESLURM_EMPTY_JOB_ARRAY_ID", "Job Array ID must not be an empty string";
    InvalidJobArrayIdNegative = 2142, "ESLURM_INVALID_JOB_ARRAY_ID_NEGATIVE", "Job Array ID can not be a negative number";
    InvalidJobArrayIdTooLarge = 2143, "ESLURM_INVALID_JOB_ARRAY_ID_TOO_LARGE", "Job Array ID larger than acceptable range";
    InvalidJobArrayIdNonNumeric = 2144, "ESLURM_INVALID_JOB_ARRAY_ID_NON_NUMERIC", "Job Array ID includes unexpected non-numeric characters";
    EmptyHetJobComp = 2146, "ESLURM_EMPTY_HET_JOB_COMP", "HetJob component must not be an empty string";
    InvalidHetJobCompNegative = 2147, "ESLURM_INVALID_HET_JOB_COMP_NEGATIVE", "HetJob component can not be a negative number";
    InvalidHetJobCompTooLarge = 2148, "ESLURM_INVALID_HET_JOB_COMP_TOO_LARGE", "HetJob component larger than acceptable range";
    EmptyStepId = 2150, "ESLURM_EMPTY_STEP_ID", "StepID must not be an empty string";
    InvalidStepIdNegative = 2151, "ESLURM_INVALID_STEP_ID_NEGATIVE", "StepID can not be a negative number";
    InvalidStepIdTooLarge = 2152, "ESLURM_INVALID_STEP_ID_TOO_LARGE", "StepID larger than acceptable range";
    InvalidStepIdNonNumeric = 2153, "ESLURM_INVALID_STEP_ID_NON_NUMERIC", "StepID includes unexpected non-numeric characters";
    EmptyHetStep = 2154, "ESLURM_EMPTY_HET_STEP", "HetStep component must not be an empty string";
    InvalidHetStepZero = 2155, "ESLURM_INVALID_HET_STEP_ZERO", "HetStep component can not be zero";
    InvalidHetStepNegative = 2156, "ESLURM_INVALID_HET_STEP_NEGATIVE", "HetStep component can not be a negative number";
    InvalidHetStepTooLarge = 2157, "ESLURM_INVALID_HET_STEP_TOO_LARGE", "HetStep component larger than acceptable range";
    InvalidHetStepNonNumeric = 2158, "ESLURM_INVALID_HET_STEP_NON_NUMERIC", "HetStep component includes unexpected non-numeric characters";
    InvalidHetStepJob = 2159, "ESLURM_INVALID_HET_STEP_JOB", "HetJob can not Het step id";
    JobTimeoutKilled = 2160, "ESLURM_JOB_TIMEOUT_KILLED", "Job killed due hitting max wall clock limit";
    JobNodeFailKilled = 2161, "ESLURM_JOB_NODE_FAIL_KILLED", "Job killed due node failure";
    EmptyList = 2162, "ESLURM_EMPTY_LIST", "Empty list";
    GroupIdInvalid = 2163, "ESLURM_GROUP_ID_INVALID", "Invalid group ID";
    GroupIdUnknown = 2164, "ESLURM_GROUP_ID_UNKNOWN", "Unable to resolve group ID to group name";
    UserIdInvalid = 2165, "ESLURM_USER_ID_INVALID", "Invalid user ID";
    UserIdUnknown = 2166, "ESLURM_USER_ID_UNKNOWN", "Unable to resolve user ID to user name";
    InvalidAssoc = 2167, "ESLURM_INVALID_ASSOC", "Invalid or unknown association";
    NodeAlreadyExists = 2168, "ESLURM_NODE_ALREADY_EXISTS", "Node already exists in the node table";
    NodeTableFull = 2169, "ESLURM_NODE_TABLE_FULL", "Unable to add node, node table is full";
    InvalidRelativeQos = 2170, "ESLURM_INVALID_RELATIVE_QOS", "Invalid QOS specification, relative QOS can only be used in a single partition per cluster.";
    InvalidExtra = 2171, "ESLURM_INVALID_EXTRA", "Invalid extra constraints specification";
    JobSignalFailed = 2172, "ESLURM_JOB_SIGNAL_FAILED", "Cannot signal job";
    SignalJobsInvalid = 2173, "ESLURM_SIGNAL_JOBS_INVALID", "Invalid signal jobs request, at least one job id or filter is required.";
    ResCoresPerGpuUnique = 2174, "ESLURM_RES_CORES_PER_GPU_UNIQUE", "RestrictedCoresPerGPU: Not enough unique cores per GPU";
    ResCoresPerGpuTopo = 2175, "ESLURM_RES_CORES_PER_GPU_TOPO", "RestrictedCoresPerGPU: Missing core topology for GPUs";
    ResCoresPerGpuNo = 2176, "ESLURM_RES_CORES_PER_GPU_NO", "RestrictedCoresPerGPU: No GPUs configured on node";
    MaxPoweredNodes = 2177, "ESLURM_MAX_POWERED_NODES", "Max powered up nodes reached";
    RequestedTopoConfigUnavailable = 2178, "ESLURM_REQUESTED_TOPO_CONFIG_UNAVAILABLE", "Requested topology configuration is not available";
    PreemptionRequired = 2179, "ESLURM_PREEMPTION_REQUIRED", "Preemption is required but is disabled on this system";
    InvalidNodeStateTransition = 2180, "ESLURM_INVALID_NODE_STATE_TRANSITION", "Invalid node state transition";
    InvalidJobState = 2181, "ESLURM_INVALID_JOB_STATE", "Invalid job state";
    BreakEval = 2182, "ESLURM_BREAK_EVAL", "Break common_topo_choose_nodes";
    RetryEval = 2183, "ESLURM_RETRY_EVAL", "Remove nodes and retry eval_nodes";
    RetryEvalHint = 2184, "ESLURM_RETRY_EVAL_HINT", "Remove one node and retry eval_nodes";
    InvalidSluid = 2185, "ESLURM_INVALID_SLUID", "SLUID is invalid";
    EspankError = 3000, "ESPANK_ERROR", "Generic error";
    EspankBadArg = 3001, "ESPANK_BAD_ARG", "Bad argument";
    EspankNotTask = 3002, "ESPANK_NOT_TASK", "Not in task context";
    EspankEnvExists = 3003, "ESPANK_ENV_EXISTS", "Environment variable exists";
    EspankEnvNoexist = 3004, "ESPANK_ENV_NOEXIST", "No such environment variable";
    EspankNospace = 3005, "ESPANK_NOSPACE", "Buffer too small";
    EspankNotRemote = 3006, "ESPANK_NOT_REMOTE", "Valid only in remote context";
    EspankNoexist = 3007, "ESPANK_NOEXIST", "Id/PID does not exist on this node";
    EspankNotExecd = 3008, "ESPANK_NOT_EXECD", "Lookup by PID requested, but no tasks running";
    EspankNotAvail = 3009, "ESPANK_NOT_AVAIL", "Item not available from this callback";
    EspankNotLocal = 3010, "ESPANK_NOT_LOCAL", "Valid only in local or allocator context";
    EspankNodeFailure = 3011, "ESPANK_NODE_FAILURE", "Spank plugin failure, node failed";
    EspankJobFailure = 3012, "ESPANK_JOB_FAILURE", "Spank plugin failure, job failed";
    KillTaskFailed = 4001, "ESLURMD_KILL_TASK_FAILED", "Kill task failed";
    InvalidAcctFreq = 4003, "ESLURMD_INVALID_ACCT_FREQ", "Invalid accounting frequency requested";
    EslurmdInvalidJobCredential = 4004, "ESLURMD_INVALID_JOB_CREDENTIAL", "Invalid job credential";
    CredentialExpired = 4007, "ESLURMD_CREDENTIAL_EXPIRED", "Job credential expired";
    CredentialRevoked = 4008, "ESLURMD_CREDENTIAL_REVOKED", "Job credential revoked";
    CredentialReplayed = 4009, "ESLURMD_CREDENTIAL_REPLAYED", "Job credential replayed";
    CreateBatchDirError = 4010, "ESLURMD_CREATE_BATCH_DIR_ERROR", "Slurmd could not create a batch directory or file";
    SetupEnvironmentError = 4014, "ESLURMD_SETUP_ENVIRONMENT_ERROR", "Slurmd could not set up environment for batch job";
    SetUidOrGidError = 4016, "ESLURMD_SET_UID_OR_GID_ERROR", "Slurmd could not set UID or GID";
    ExecveFailed = 4020, "ESLURMD_EXECVE_FAILED", "Slurmd could not execve job";
    IoError = 4021, "ESLURMD_IO_ERROR", "Slurmd could not connect IO";
    PrologFailed = 4022, "ESLURMD_PROLOG_FAILED", "Job prolog failed";
    EpilogFailed = 4023, "ESLURMD_EPILOG_FAILED", "Job epilog failed";
    Toomanysteps = 4025, "ESLURMD_TOOMANYSTEPS", "Too many job steps on node";
    StepExists = 4026, "ESLURMD_STEP_EXISTS", "Job step already exists";
    StepNotrunning = 4027, "ESLURMD_STEP_NOTRUNNING", "Job step not running";
    StepSuspended = 4028, "ESLURMD_STEP_SUSPENDED", "Job step is suspended";
    StepNotsuspended = 4029, "ESLURMD_STEP_NOTSUSPENDED", "Job step is not currently suspended";
    InvalidSocketNameLen = 4030, "ESLURMD_INVALID_SOCKET_NAME_LEN", "Unix socket name exceeded maximum length";
    ContainerRuntimeInvalid = 4031, "ESLURMD_CONTAINER_RUNTIME_INVALID", "Container runtime not configured or invalid";
    CpuBindError = 4032, "ESLURMD_CPU_BIND_ERROR", "Unable to satisfy cpu bind request";
    CpuLayoutError = 4033, "ESLURMD_CPU_LAYOUT_ERROR", "Unable to layout tasks on given cpus";
    StepdProxyFailed = 4035, "ESLURMD_STEPD_PROXY_FAILED", "Unable to proxy slurmstepd message";
    ProtocolIncompletePacket = 5003, "ESLURM_PROTOCOL_INCOMPLETE_PACKET", "Header lengths are longer than data received";
    ProtocolSocketImplTimeout = 5004, "SLURM_PROTOCOL_SOCKET_IMPL_TIMEOUT", "Socket timed out on send/recv operation";
    ProtocolSocketZeroBytesSent = 5005, "SLURM_PROTOCOL_SOCKET_ZERO_BYTES_SENT", "Zero Bytes were transmitted or received";
    AuthCredInvalid = 6000, "ESLURM_AUTH_CRED_INVALID", "Invalid authentication credential";
    AuthExpired = 6001, "ESLURM_AUTH_EXPIRED", "Authentication credential expired";
    AuthBadarg = 6004, "ESLURM_AUTH_BADARG", "Bad argument to plugin function";
    AuthUnpack = 6007, "ESLURM_AUTH_UNPACK", "Cannot unpack credential";
    AuthSkip = 6008, "ESLURM_AUTH_SKIP", "Authentication does not apply to request";
    AuthUnableToGenerateToken = 6009, "ESLURM_AUTH_UNABLE_TO_GENERATE_TOKEN", "Token Generation failed.";
    AuthNobody = 6010, "ESLURM_AUTH_NOBODY", "Rejecting authentication of user nobody or group nobody";
    AuthSocketInvalidPeer = 6011, "ESLURM_AUTH_SOCKET_INVALID_PEER", "Unable to query kernel for socket peer credential";
    DbConnection = 7000, "ESLURM_DB_CONNECTION", "Unable to connect to database";
    JobsRunningOnAssoc = 7001, "ESLURM_JOBS_RUNNING_ON_ASSOC", "Job(s) active, cancel job(s) before remove";
    ClusterDeleted = 7002, "ESLURM_CLUSTER_DELETED", "Cluster deleted, commit/rollback immediately";
    OneChange = 7003, "ESLURM_ONE_CHANGE", "Can only change one at a time";
    BadName = 7004, "ESLURM_BAD_NAME", "Unacceptable name given. (No '.' in name allowed)";
    OverAllocate = 7005, "ESLURM_OVER_ALLOCATE", "You can not allocate more than 100% of a resource";
    ResultTooLarge = 7006, "ESLURM_RESULT_TOO_LARGE", "Query result exceeds size limit";
    DbQueryTooWide = 7007, "ESLURM_DB_QUERY_TOO_WIDE", "Too wide of a date range in query";
    DbConnectionInvalid = 7008, "ESLURM_DB_CONNECTION_INVALID", "Database connection reference is invalid";
    NoRemoveDefaultAccount = 7009, "ESLURM_NO_REMOVE_DEFAULT_ACCOUNT", "You can not remove the default account of a user";
    BadSql = 7010, "ESLURM_BAD_SQL", "There is something internally wrong with the SQL needed for this. Please consult the slurmdbd log for more info.";
    NoRemoveDefaultQos = 7011, "ESLURM_NO_REMOVE_DEFAULT_QOS", "This request would make it so some associations would not have access to their default qos.";
    CoordNoIncreaseJobLimit = 7012, "ESLURM_COORD_NO_INCREASE_JOB_LIMIT", "Coordinators can not increase job limits beyond the parent ones";
    NoRpcStats = 7013, "ESLURM_NO_RPC_STATS", "No RPC stats are available";
    FedClusterMaxCnt = 7100, "ESLURM_FED_CLUSTER_MAX_CNT", "Too many clusters in federation";
    FedClusterMultipleAssignment = 7101, "ESLURM_FED_CLUSTER_MULTIPLE_ASSIGNMENT", "Clusters can only be assigned to one federation";
    InvalidClusterFeature = 7102, "ESLURM_INVALID_CLUSTER_FEATURE", "Invalid cluster feature specification";
    JobNotFederated = 7103, "ESLURM_JOB_NOT_FEDERATED", "Not a valid federated job";
    InvalidClusterName = 7104, "ESLURM_INVALID_CLUSTER_NAME", "Invalid cluster name";
    FedJobLock = 7105, "ESLURM_FED_JOB_LOCK", "Job locked by another sibling";
    FedNoValidClusters = 7106, "ESLURM_FED_NO_VALID_CLUSTERS", "No eligible clusters for federated job";
    LuaInvalidState = 7400, "ESLURM_LUA_INVALID_STATE", "Invalid or NULL Lua state pointer";
    LuaInvalidSyntax = 7401, "ESLURM_LUA_INVALID_SYNTAX", "Lua script loading failed due to invalid syntax";
    LuaFuncNotFound = 7402, "ESLURM_LUA_FUNC_NOT_FOUND", "Requested Lua function not found";
    LuaFuncInvalidRc = 7403, "ESLURM_LUA_FUNC_INVALID_RC", "Lua function returned nil or table instead of numeric result";
    LuaFuncFailed = 7404, "ESLURM_LUA_FUNC_FAILED", "Lua function execution failed for unknown reasons";
    LuaFuncFailedRuntimeError = 7405, "ESLURM_LUA_FUNC_FAILED_RUNTIME_ERROR", "Lua function execution failed due to runtime error";
    LuaFuncFailedEnomem = 7406, "ESLURM_LUA_FUNC_FAILED_ENOMEM", "Lua function execution failed due to memory allocation failure. Either not enough memory for Lua script's variables or memory allocation request for a variable was way too large.";
    LuaFuncFailedGarbageCollector = 7407, "ESLURM_LUA_FUNC_FAILED_GARBAGE_COLLECTOR", "Lua function execution failed due to unknown failure in Lua's garbage collector";
    LuaInvalidConversionType = 7408, "ESLURM_LUA_INVALID_CONVERSION_TYPE", "Unknown or unparsable Lua type found at top of Lua stack";
    MissingTimeLimit = 8000, "ESLURM_MISSING_TIME_LIMIT", "Time limit specification required, but not provided";
    PluginInvalid = 8002, "ESLURM_PLUGIN_INVALID", "Plugin has invalid format or unable to be loaded";
    PluginIncomplete = 8003, "ESLURM_PLUGIN_INCOMPLETE", "Plugin missing required symbol or function";
    PluginNotLoaded = 8004, "ESLURM_PLUGIN_NOT_LOADED", "Required plugin type not loaded or initialized";
    PluginNotfound = 8005, "ESLURM_PLUGIN_NOTFOUND", "Plugin file not found";
    PluginAccessError = 8006, "ESLURM_PLUGIN_ACCESS_ERROR", "Plugin access denied";
    PluginDlopenFailed = 8007, "ESLURM_PLUGIN_DLOPEN_FAILED", "Dlopen of plugin file failed";
    PluginInitFailed = 8008, "ESLURM_PLUGIN_INIT_FAILED", "Plugin init() callback failed";
    PluginMissingName = 8009, "ESLURM_PLUGIN_MISSING_NAME", "Plugin name/type/version symbol missing";
    PluginBadVersion = 8010, "ESLURM_PLUGIN_BAD_VERSION", "Incompatible plugin version";
    RestInvalidQuery = 9000, "ESLURM_REST_INVALID_QUERY", "Query empty or not RFC7320 compliant";
    RestFailParsing = 9001, "ESLURM_REST_FAIL_PARSING", "Failure during parsing";
    RestInvalidJobsDesc = 9002, "ESLURM_REST_INVALID_JOBS_DESC", "Jobs description entry not found, empty or not dictionary or list";
    RestEmptyResult = 9003, "ESLURM_REST_EMPTY_RESULT", "Nothing found with query";
    RestMissingUid = 9004, "ESLURM_REST_MISSING_UID", "Missing UNIX user in the system";
    RestMissingGid = 9005, "ESLURM_REST_MISSING_GID", "Missing UNIX group in the system";
    RestUnknownUrl = 9006, "ESLURM_REST_UNKNOWN_URL", "Unable to find requested URL endpoint. Please query the '/openapi/v3' endpoint or visit 'https://slurm.schedmd.com/rest_api.html' for the OpenAPI specification which includes a list of all possible slurmrestd endpoints.";
    RestUnknownUrlMethod = 9007, "ESLURM_REST_UNKNOWN_URL_METHOD", "Requested HTTP query method is not supported at URL endpoint. Please query the '/openapi/v3' endpoint or visit 'https://slurm.schedmd.com/rest_api.html' for the OpenAPI specification which includes a list of all possible slurmrestd endpoints.";
    RestAuthFail = 9008, "ESLURM_REST_AUTH_FAIL", "Authentication failure";
    DataPathNotFound = 9200, "ESLURM_DATA_PATH_NOT_FOUND", "Unable to resolve path";
    DataPtrNull = 9201, "ESLURM_DATA_PTR_NULL", "Data pointer is NULL";
    DataConvFailed = 9202, "ESLURM_DATA_CONV_FAILED", "Unable to convert Data type";
    DataRegexCompile = 9203, "ESLURM_DATA_REGEX_COMPILE", "Unable to compile regex";
    DataUnknownMimeType = 9204, "ESLURM_DATA_UNKNOWN_MIME_TYPE", "MIME type is unknown to any loaded plugins";
    DataTooLarge = 9205, "ESLURM_DATA_TOO_LARGE", "Data too large to handle";
    DataFlagsInvalidType = 9206, "ESLURM_DATA_FLAGS_INVALID_TYPE", "Data parser expects flags to be a list";
    DataFlagsInvalid = 9207, "ESLURM_DATA_FLAGS_INVALID", "Data parser unable to parse invalid flag";
    DataExpectedList = 9208, "ESLURM_DATA_EXPECTED_LIST", "Data parser expected a list";
    DataExpectedDict = 9209, "ESLURM_DATA_EXPECTED_DICT", "Data parser expected a dictionary or object";
    DataAmbiguousModify = 9210, "ESLURM_DATA_AMBIGUOUS_MODIFY", "Request matched more than one object to modify. Modifications must only apply to a single object. Try adding more properties to make update match a unique object.";
    DataAmbiguousQuery = 9211, "ESLURM_DATA_AMBIGUOUS_QUERY", "Request matched more than one object to query. Request is limited to query of a single matching object.";
    DataParseNothing = 9212, "ESLURM_DATA_PARSE_NOTHING", "Request to parse empty string rejected";
    DataInvalidParser = 9213, "ESLURM_DATA_INVALID_PARSER", "Invalid parser requested";
    DataParsingDepth = 9214, "ESLURM_DATA_PARSING_DEPTH", "Parsing tree too deep. Possible cyclic parsing detected";
    DataParserInvalidState = 9215, "ESLURM_DATA_PARSER_INVALID_STATE", "Parser went into an invalid state. Possible library issue.";
    DataParseBadInput = 9216, "ESLURM_DATA_PARSE_BAD_INPUT", "Request to parse invalid data";
    ContainerNotConfigured = 10000, "ESLURM_CONTAINER_NOT_CONFIGURED", "Container support is not configured";
    UrlUnknownScheme = 11000, "ESLURM_URL_UNKNOWN_SCHEME", "Unknown URL scheme";
    UrlEmpty = 11001, "ESLURM_URL_EMPTY", "URL string is empty";
    UrlNonNullTerminator = 11002, "ESLURM_URL_NON_NULL_TERMINATOR", "Invalid non-NULL terminated URL";
    UrlInvalidFormating = 11003, "ESLURM_URL_INVALID_FORMATING", "Invalid format for URL format";
    UrlInvalidScheme = 11004, "ESLURM_URL_INVALID_SCHEME", "Invalid or unknown URL scheme";
    UrlUnsupportedScheme = 11005, "ESLURM_URL_UNSUPPORTED_SCHEME", "URL scheme not supported";
    UrlInvalidHost = 11006, "ESLURM_URL_INVALID_HOST", "Invalid or unknown URL host";
    UrlInvalidPort = 11007, "ESLURM_URL_INVALID_PORT", "Invalid or unknown URL port";
    UrlInvalidPath = 11008, "ESLURM_URL_INVALID_PATH", "Invalid or unknown URL path";
    UrlInvalidQuery = 11009, "ESLURM_URL_INVALID_QUERY", "Invalid or unknown URL query";
    UrlInvalidFragment = 11010, "ESLURM_URL_INVALID_FRAGMENT", "Invalid or unknown URL fragment";
    UrlUnsupportedFormat = 11011, "ESLURM_URL_UNSUPPORTED_FORMAT", "URL format not supported";
    HttpParsingFailure = 12000, "ESLURM_HTTP_PARSING_FAILURE", "Unspecified error during HTTP parsing";
    HttpUnexpectedUrl = 12001, "ESLURM_HTTP_UNEXPECTED_URL", "Unexpected duplicate URL";
    HttpEmptyHeader = 12002, "ESLURM_HTTP_EMPTY_HEADER", "Invalid empty HTTP header";
    HttpInvalidStatusCode = 12003, "ESLURM_HTTP_INVALID_STATUS_CODE", "Invalid HTTP status code";
    HttpInvalidMethod = 12004, "ESLURM_HTTP_INVALID_METHOD", "Invalid HTTP method";
    HttpMissingLf = 12005, "ESLURM_HTTP_MISSING_LF", "Expected LF character but not found";
    HttpInvalidCharacter = 12006, "ESLURM_HTTP_INVALID_CHARACTER", "Unexpected character added or missing in HTTP";
    HttpInvalidContentLength = 12007, "ESLURM_HTTP_INVALID_CONTENT_LENGTH", "Unexpected character or unparsable number in HTTP Content-Length header";
    HttpInvalidTransferEncoding = 12008, "ESLURM_HTTP_INVALID_TRANSFER_ENCODING", "Invalid HTTP Tranfser-Encoding header";
    HttpUnsupportedChunkEncoding = 12009, "ESLURM_HTTP_UNSUPPORTED_CHUNK_ENCODING", "HTTP Chunked Transfer-Encoding not supported";
    HttpUnexpectedRequest = 12010, "ESLURM_HTTP_UNEXPECTED_REQUEST", "Received unexpected HTTP Request";
    HttpUnsupportedVersion = 12011, "ESLURM_HTTP_UNSUPPORTED_VERSION", "Only HTTP version 1.1 requests are supported";
    HttpUnsupportedUpgrade = 12012, "ESLURM_HTTP_UNSUPPORTED_UPGRADE", "HTTP protocol upgrading is not supported.";
    HttpInvalidContentEncoding = 12013, "ESLURM_HTTP_INVALID_CONTENT_ENCODING", "Invalid or unsupported HTTP Content-Encoding header";
    HttpUnsupportedExpect = 12014, "ESLURM_HTTP_UNSUPPORTED_EXPECT", "Invalid or unsupported HTTP Content-Encoding header";
    HttpUnsupportedKeepAlive = 12015, "ESLURM_HTTP_UNSUPPORTED_KEEP_ALIVE", "Invalid or unsupported HTTP Keep-Alive header";
    HttpContentLengthTooLarge = 12016, "ESLURM_HTTP_CONTENT_LENGTH_TOO_LARGE", "HTTP Content-Length header too large to process";
    HttpPostMissingContentLength = 12017, "ESLURM_HTTP_POST_MISSING_CONTENT_LENGTH", "HTTP Content-Length header required for POST method requests";
    HttpUnexpectedBody = 12018, "ESLURM_HTTP_UNEXPECTED_BODY", "Unexpected HTTP body provided when URL Query provided";
    HttpUnknownAcceptMimeType = 12019, "ESLURM_HTTP_UNKNOWN_ACCEPT_MIME_TYPE", "HTTP Accept header content type is unknown or unsupported";
    TlsRequired = 13000, "ESLURM_TLS_REQUIRED", "TLS missing but required for connection";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_leads_back_to_its_row() {
        for error in SlurmError::ALL {
            assert_eq!(SlurmError::from_number(error.number()), Some(*error));
        }
    }
}
