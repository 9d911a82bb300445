package result

// Tuning is what a search for better params of one kernel has found. The rows of its report are the
// winner on each config, with today's defaults as the side Defaults that it played against.
type Tuning struct {
	Kernel    string   `json:"kernel"`
	Configs   []string `json:"configs"`
	Space     Space    `json:"space"`
	Strategy  string   `json:"strategy"`
	Objective string   `json:"objective"` // time, energy, or both
	Over      string   `json:"over"`      // worst or mean: how several configs are made one cost
	Compiler  string   `json:"compiler,omitempty"`
	BudgetS   float64  `json:"budget_s"`
	SpentS    float64  `json:"spent_s"`           // all runs of it together
	Ended     string   `json:"ended"`             // exhausted, budget, count, workers (none was left) or interrupted
	Resumed   []string `json:"resumed,omitempty"` // ids of the runs that it goes on from
	Warm      []string `json:"warm,omitempty"`    // where the points that it began with come from

	Trials    []*Trial    `json:"trials"`              // in the order in which they ended
	Finalists []*Finalist `json:"finalists,omitempty"` // the best first; the winner is the first that is right
	Picks     []*Pick     `json:"picks,omitempty"`     // the best of each config, where one setting for all costs something
	Effects   []Effect    `json:"effects,omitempty"`   // of params, the largest first
	Front     []int       `json:"front,omitempty"`     // numbers of the trials that no other beats in both time and energy

	DeviceBusyS  float64 `json:"device_busy_s"`           // launches of candidates, with flushes and verification
	LaunchBusyS  float64 `json:"launch_busy_s,omitempty"` // the same without flushes
	Workers      int     `json:"workers"`
	NoSuggestion string  `json:"no_suggestion,omitempty"` // why the first finalist is not suggested, or there is none
}

// Space describes what was searched.
type Space struct {
	Params      []SpaceParam `json:"params"`
	Constraints []string     `json:"constraints,omitempty"`
	Cartesian   float64      `json:"cartesian"` // without the constraints
	Size        float64      `json:"size"`      // with them
	Exact       bool         `json:"exact"`     // Size is no estimate
}

// SpaceParam is one param of a space.
type SpaceParam struct {
	Name    string   `json:"name"`
	Values  []string `json:"values"`
	Default string   `json:"default"`
}

// TrialStatus says what came of a trial.
type TrialStatus string

// All of them.
const (
	TrialOK             TrialStatus = "ok"
	TrialCut            TrialStatus = "slow"  // given up early: clearly slower than the best
	TrialSame           TrialStatus = "same"  // compiles and launches as an earlier trial does: its numbers
	TrialUnfit          TrialStatus = "unfit" // its formulas show that the device cannot run it
	TrialCompileError   TrialStatus = "compile error"
	TrialCompileTimeout TrialStatus = "compile timeout"
	TrialResources      TrialStatus = "too many resources" // the device refuses the launch
	TrialLaunchError    TrialStatus = "launch error"
	TrialWrong          TrialStatus = "wrong answer"
	TrialTimeout        TrialStatus = "timeout"
	TrialCrash          TrialStatus = "crash" // of the cell: an illegal address, a signal
	TrialLost           TrialStatus = "lost"  // the worker ended, twice
	TrialRejected       TrialStatus = "rejected"
)

// TrialStatuses are all that there are.
var TrialStatuses = []TrialStatus{
	TrialOK, TrialCut, TrialSame, TrialUnfit, TrialCompileError, TrialCompileTimeout, TrialResources, TrialLaunchError,
	TrialWrong, TrialTimeout, TrialCrash, TrialLost, TrialRejected,
}

// Trial is one setting that was tried.
type Trial struct {
	N        int               `json:"n"` // from 1
	Params   map[string]string `json:"params"`
	Status   TrialStatus       `json:"status"`
	Fault    *Fault            `json:"fault,omitempty"`
	Cut      bool              `json:"cut,omitempty"`      // given up early: the numbers are lower bounds
	Same     int               `json:"same,omitempty"`     // the trial that it is equal to
	Identity string            `json:"identity,omitempty"` // on all configs
	Cost     float64           `json:"cost,omitempty"`     // what the search was told; 0: it failed
	On       []TrialConfig     `json:"on,omitempty"`       // by config, those that were measured
	AtS      float64           `json:"at_s"`               // since the beginning, without the pauses of runs that were interrupted
	CompileS float64           `json:"compile_s,omitempty"`
	DeviceS  float64           `json:"device_s,omitempty"` // that its cells had the device
	Worker   int               `json:"worker,omitempty"`   // number of the lane, from 0
	Earlier  bool              `json:"earlier,omitempty"`  // of a run that this one goes on from
}

// TrialConfig is a trial on one config.
type TrialConfig struct {
	Config  string  `json:"config"`
	MedianS float64 `json:"median_s"`
	Low     float64 `json:"low,omitempty"` // 95% interval of the median
	High    float64 `json:"high,omitempty"`
	Samples int     `json:"samples"`
	Ratio   float64 `json:"ratio,omitempty"`  // to the incumbent of its own device, where several devices work
	Joules  float64 `json:"joules,omitempty"` // energy of a launch
}

// Finalist is a setting that played duets against today's defaults.
type Finalist struct {
	Trial   int                `json:"trial"`
	Params  map[string]string  `json:"params"`
	Changes map[string]*Change `json:"changes"`          // by config: against today's defaults, of the objective
	Energy  map[string]*Change `json:"energy,omitempty"` // likewise, of energy alone, where both count
	Overall float64            `json:"overall"`          // relative change of the objective over all configs
	Tied    bool               `json:"tied,omitempty"`   // its interval overlaps the winner's
	Fault   *Fault             `json:"fault,omitempty"`  // why it cannot win: its answers, or a cell that ended
}

// Pick is the best setting of one config.
type Pick struct {
	Config string            `json:"config"`
	Trial  int               `json:"trial"`
	Params map[string]string `json:"params"`
	Gain   float64           `json:"gain"` // over one setting for all configs: 0.05 is 5% less time
}

// Effect is what a param matters for the cost.
type Effect struct {
	Param  string        `json:"param"`
	Share  float64       `json:"share"` // of the variance of the log cost that the param explains by itself
	Values []EffectValue `json:"values"`
}

// EffectValue is what one value of a param came to.
type EffectValue struct {
	Value  string  `json:"value"`
	Trials int     `json:"trials"`
	Failed int     `json:"failed"`
	Best   float64 `json:"best,omitempty"`   // cost
	Median float64 `json:"median,omitempty"` // cost
}
