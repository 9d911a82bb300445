package spec

import "slices"

// Kernel returns the kernel of a name; nil: there is none, or no spec.
func (s *Spec) Kernel(name string) *Kernel {
	if s == nil {
		return nil
	}
	at := slices.IndexFunc(s.Kernels, func(k *Kernel) bool { return k.Name == name })
	if at < 0 {
		return nil
	}
	return s.Kernels[at]
}

// Config returns the config of a name; nil: there is none, or no kernel.
func (k *Kernel) Config(name string) *Config {
	if k == nil {
		return nil
	}
	at := slices.IndexFunc(k.Configs, func(c *Config) bool { return c.Name == name })
	if at < 0 {
		return nil
	}
	return k.Configs[at]
}
