package nvml

// OpenPath is Open with the shared object at path.
func OpenPath(path string) (*Library, error) { return open(path) }
