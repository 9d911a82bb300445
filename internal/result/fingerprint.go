package result

// Fingerprint is what a number depends on besides the code. It is recorded in every report, and
// compared before two reports are. It names no host and no user.
type Fingerprint struct {
	OS          string `json:"os"`
	Kernel      string `json:"kernel"`
	Arch        string `json:"arch"`
	Libc        string `json:"libc,omitempty"`
	CPU         CPU    `json:"cpu"`
	MemoryBytes int64  `json:"memory_bytes"`
	Hypervisor  string `json:"hypervisor,omitempty"`
	Clocksource string `json:"clocksource,omitempty"`
	Container   string `json:"container,omitempty"`

	GPU *GPU `json:"gpu,omitempty"` // the one the run used

	Compilers map[string]string `json:"compilers,omitempty"` // command → version line
	Sandbox   string            `json:"sandbox,omitempty"`   // landlock and seccomp level
}

// CPU is the CPU that the host cell runs on.
type CPU struct {
	Model    string  `json:"model"`
	Sockets  int     `json:"sockets,omitempty"`
	Cores    int     `json:"cores"`   // usable by pawl
	Threads  int     `json:"threads"` // per core; over 1 means SMT
	Caches   []Cache `json:"caches,omitempty"`
	MaxGHz   float64 `json:"max_ghz,omitempty"`
	Governor string  `json:"governor,omitempty"`
	Turbo    string  `json:"turbo,omitempty"` // on, off, or empty when unknown
	Features string  `json:"features,omitempty"`
	Flags    string  `json:"flags_sha256,omitempty"` // of the kernel's feature list: -march=native depends on it
}

// Cache is one level of the cache hierarchy.
type Cache struct {
	Level int    `json:"level"`
	Type  string `json:"type"` // data, instruction, unified
	Bytes int64  `json:"bytes"`
}

// GPU is a device that CUDA kernels run on.
type GPU struct {
	Name        string  `json:"name"`
	UUID        string  `json:"uuid,omitempty"`
	Arch        string  `json:"arch"` // sm_90a
	Driver      string  `json:"driver,omitempty"`
	CUDA        string  `json:"cuda,omitempty"` // newest version the driver knows
	SMs         int     `json:"sms,omitempty"`
	MemoryBytes int64   `json:"memory_bytes"`
	L2Bytes     int64   `json:"l2_bytes,omitempty"`
	MaxShared   int64   `json:"max_shared,omitempty"`  // bytes a block may ask for
	MaxThreads  int     `json:"max_threads,omitempty"` // in a block
	PowerLimitW float64 `json:"power_limit_w,omitempty"`
	MaxGHz      float64 `json:"max_ghz,omitempty"`
	Persistence bool    `json:"persistence,omitempty"`
	ECC         bool    `json:"ecc,omitempty"`
	ComputeMode string  `json:"compute_mode,omitempty"`
}
