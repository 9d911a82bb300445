package tune

import (
	"context"

	"pawl/internal/dispatch"
	"pawl/internal/foreign"
	"pawl/internal/result"
)

// File is something that a search leaves beside its report.
type File struct {
	Name string
	Data []byte
}

// Files returns what a search leaves for others: its trials as other tuners read them, the edit of
// pawl.yaml as a patch, and the best setting of each config for programs that choose at run time.
func Files(ctx context.Context, r *result.Report, edit *Edit) ([]File, error) {
	var files []File
	add := func(name string, data []byte, err error) error {
		if err == nil {
			files = append(files, File{name, data})
		}
		return err
	}
	t4, err := foreign.WriteT4(r.Tuning)
	if err := add("trials.t4.json", t4, err); err != nil {
		return nil, err
	}
	device := r.DeviceClass
	if gpu := r.Machine.GPU; gpu != nil {
		device = gpu.Name
	}
	cache, err := foreign.WriteKernelTuner(r.Tuning, device)
	if err := add("trials.kernel_tuner.json", cache, err); err != nil {
		return nil, err
	}
	if edit != nil {
		_ = add("suggestion.patch", []byte(edit.Patch(ctx)), nil)
	}
	if len(r.Tuning.Configs) > 1 && edit != nil {
		table, err := dispatch.New(r)
		if err != nil { // configs that differ in no number cannot be told apart at run time
			return files, err
		}
		header, err := table.Header()
		if err := add("dispatch.h", header, err); err != nil {
			return files, err
		}
		raw, err := table.JSON()
		return files, add("dispatch.json", raw, err)
	}
	return files, nil
}

// Import reads a recorded search, whose best settings can be tried first; notes say what of it was left
// out.
func Import(path string) (known *result.Tuning, notes []string, err error) {
	file, err := foreign.ReadTuning(path)
	if err != nil {
		return nil, nil, err
	}
	return file.Tuning, file.Notes, nil
}
