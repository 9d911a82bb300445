package result

// Cost says how long a run took, how long it held a device, and what that costs. Older reports have
// none.
type Cost struct {
	WallS   float64     `json:"wall_s"`             // from the start of the run to the end of its last stage
	DeviceS float64     `json:"device_s,omitempty"` // that workers held the lock of a device, added up over the workers; absent: none did
	Stages  []StageCost `json:"stages,omitempty"`   // in their order; together they are the wall time
	Price   *Price      `json:"price,omitempty"`    // where one is set
}

// StageCost is the wall time of a stage.
type StageCost struct {
	Name    string  `json:"name"` // plan, build, verify, measure, judge, …
	Seconds float64 `json:"seconds"`
}

// Price is what a run costs.
type Price struct {
	PerHour  float64 `json:"per_hour"` // what the machine costs
	Currency string  `json:"currency"` // three capital letters
	Amount   float64 `json:"amount"`   // PerHour for the wall time
}
