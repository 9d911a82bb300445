package cell

import (
	"errors"

	"pawl/internal/native/cuda"
	"pawl/internal/result"
)

// faultOf turns a driver error into a fault. nil stays nil.
func faultOf(err error) error {
	if err == nil {
		return nil
	}
	var fault *result.Fault
	if errors.As(err, &fault) {
		return fault
	}
	var failed *cuda.Error
	if !errors.As(err, &failed) {
		return err
	}
	fault = result.Faultf(result.CauseCrash, "the kernel crashed: %v", err)
	switch failed.Code {
	case cuda.OutOfMemory:
		fault.Cause, fault.Message = result.CauseMemory, err.Error()
	case cuda.IllegalAddress:
		fault.Hint = "it read or wrote memory that is not its own; compute-sanitizer names the line"
	case cuda.Assert:
		fault.Hint = "a device assertion failed"
	case cuda.LaunchOutOfResources:
		fault.Cause = result.CauseLaunch
		fault.Message = "the device refuses the launch: " + err.Error()
		fault.Hint = "too many registers for this many threads in a block: use __launch_bounds__, or a smaller block"
	case cuda.InvalidValue, cuda.InvalidImage, cuda.NoBinaryForGPU, cuda.CooperativeTooLarge, cuda.InvalidPTX, cuda.InvalidClusterSize:
		fault.Cause, fault.Message = result.CauseLaunch, err.Error()
	}
	return fault
}
