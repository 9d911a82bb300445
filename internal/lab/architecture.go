package lab

import (
	"context"
	"slices"

	"pawl/internal/worker"
)

// Architectures lists the architectures of the GPUs that a worker on this machine finds, each once,
// in the order of the devices. Where it finds none, why says the reason.
func Architectures(ctx context.Context) (found []string, why string, err error) {
	client, err := worker.Start(ctx, worker.Options{})
	if err != nil {
		return nil, "", err
	}
	defer client.Close()
	hello := client.Hello()
	for _, device := range hello.Devices {
		if device.Arch != "" && !slices.Contains(found, device.Arch) {
			found = append(found, device.Arch)
		}
	}
	return found, hello.NoDevices, nil
}
