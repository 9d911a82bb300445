package cell

import (
	"slices"

	"pawl/internal/native/cupti"
)

// traced launches, and lists the kernels that ran on the device meanwhile, each once. If they
// cannot be listed, why says the reason, and the launch is made all the same.
func (c *cudaCell) traced(launch func() error) (kernels []string, why string, err error) {
	if err := c.driver.Synchronize(); err != nil { // pawl's own kernels do not belong into the trace
		return nil, "", err
	}
	tracer, refused := cupti.Open()
	if refused == nil {
		refused = tracer.Start()
	}
	if err := launch(); err != nil {
		return nil, "", err
	}
	if err := c.driver.Synchronize(); err != nil {
		return nil, "", err
	}
	if refused != nil {
		return nil, refused.Error(), nil
	}
	found, refused := tracer.Stop()
	if refused != nil {
		return nil, refused.Error(), nil
	}
	for _, k := range found {
		if !slices.Contains(kernels, k.Name) {
			kernels = append(kernels, k.Name)
		}
	}
	if len(kernels) == 0 {
		return nil, "CUPTI recorded no kernel", nil
	}
	return kernels, "", nil
}
