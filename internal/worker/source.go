package worker

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"pawl/internal/sandbox"
)

// sourceFolders are the folders that Python cells import from, without the non-sources of a
// checkout: tokens in .git/config, baselines in .pawl.
type sourceFolders struct {
	mu    sync.Mutex
	known map[string]sandbox.Sources // listing a large folder for every cell would take long
}

// grant allows a cell to read the sources in some folders. A module finder must be able to list a
// folder even if not everything in it may be read.
func (s *sourceFolders) grant(policy *sandbox.Policy, folders []string) {
	for _, folder := range folders {
		if inSystem(folder) {
			policy.Read = append(policy.Read, folder)
			continue
		}
		found := s.of(folder)
		policy.Read = append(policy.Read, found.Read...)
		if !found.Whole {
			policy.List = append(policy.List, folder)
		}
	}
}

func (s *sourceFolders) of(folder string) sandbox.Sources {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found, ok := s.known[folder]; ok {
		return found
	}
	found := sandbox.Sources{Read: []string{folder}, Whole: true}
	if info, err := os.Stat(folder); err == nil && info.IsDir() { // a module may come from an archive
		found = sandbox.SourcesOf(folder)
	}
	if s.known == nil {
		s.known = map[string]sandbox.Sources{}
	}
	s.known[folder] = found
	return found
}

// inSystem reports whether a folder is one that all programs may read.
func inSystem(folder string) bool {
	real, err := filepath.EvalSymlinks(folder)
	return err == nil && slices.ContainsFunc(sandbox.System(), func(system string) bool { return real == system || strings.HasPrefix(real, system+"/") })
}
