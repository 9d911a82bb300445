package machine

import (
	"math"
	"strconv"
	"strings"

	"pawl/internal/result"
)

// state reads the machine as it is now. What takes two readings (power, steal
// time, CPU used by others) comes from a Meter.
func (h host) state(when string) result.State {
	return result.State{
		When:         when,
		GHz:          known(h.currentGHz()),
		TemperatureC: known(h.temperature()),
		Load1:        known(h.load()),
	}
}

// known turns a reading into its form in a report, where absent is nil.
func known(value float64, ok bool) *float64 {
	if !ok {
		return nil
	}
	return &value
}

func (h host) load() (float64, bool) {
	one, _, _ := strings.Cut(h.text("proc/loadavg"), " ")
	load, err := strconv.ParseFloat(one, 64)
	return load, err == nil && load >= 0 && !math.IsInf(load, 0)
}

// currentGHz returns the clock of the fastest usable CPU at this moment. A virtual
// machine often has only the nominal figure of /proc/cpuinfo.
func (h host) currentGHz() (float64, bool) {
	if ghz := h.highestGHz(h.usable(), "scaling_cur_freq"); ghz > 0 {
		return ghz, true
	}
	mhz, ok := maxMHz(h.text("proc/cpuinfo"))
	return mhz / 1e3, ok
}

// temperature returns the hottest reading of the processor's own sensors, in °C.
// Other sensors (the board's, a disk's, ACPI's often constant one) say nothing
// about throttling.
func (h host) temperature() (float64, bool) {
	highest, found := math.Inf(-1), false
	take := func(name string) {
		milli, ok := h.integer(name)
		// An unplugged sensor reads as -273 °C, zero or 255 °C.
		if celsius := float64(milli) / 1000; ok && celsius > 0 && celsius < 150 {
			highest, found = max(highest, celsius), true
		}
	}
	for _, sensor := range h.glob("sys/class/hwmon/hwmon*") {
		switch h.text(sensor + "/name") {
		case "coretemp", "k10temp", "zenpower", "cpu_thermal", "soc_thermal":
			for _, input := range h.glob(sensor + "/temp*_input") {
				take(input)
			}
		}
	}
	if !found {
		for _, zone := range h.glob("sys/class/thermal/thermal_zone*") {
			kind := strings.ToLower(h.text(zone + "/type"))
			if kind == "x86_pkg_temp" || strings.HasPrefix(kind, "cpu") || strings.HasPrefix(kind, "soc") {
				take(zone + "/temp")
			}
		}
	}
	return highest, found
}
