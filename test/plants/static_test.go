package plants

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pawl/internal/native/cuda/cubin"
	"pawl/internal/native/cuda/cubin/cubintest"
)

// operations are those of sm_90 that the facts are about, by the nine bits of an instruction that are
// the same for all kinds of operands.
var operations = map[uint64]string{
	0x023: "FFMA", 0x028: "DMUL", 0x029: "DADD", 0x02b: "DFMA", 0x03b: "LDSM", 0x03c: "HMMA", 0x106: "I2F", 0x108: "MUFU", 0x110: "F2F", 0x11d: "BAR",
	0x181: "LDG", 0x183: "LDL", 0x184: "LDS", 0x186: "STG", 0x187: "STL", 0x188: "STS", 0x18c: "ATOMS", 0x18e: "RED", 0x1a6: "RED", 0x1ae: "LDGSTS",
}

// facts are what the compiler must have left of each plant, and of each fix: NAME≥COUNT, NAME≤COUNT
// or NAME=COUNT of operations (LDG.128 are those of 16 bytes), registers, and bytes of stack and code.
var facts = map[string]string{
	"transpose_read":              "LDG=1 LDG.128=0",
	"row_per_thread":              "LDG≥4 LDG.128=0",
	"row_per_thread_fixed":        "LDG.128≥4",
	"expand_rows":                 "STG≥4 STG.128=0",
	"expand_rows_fixed":           "STG=1 STG.128=1",
	"transpose_unpadded":          "LDS≥4 LDS.128=0",
	"delay_lines":                 "LDS≥2 LDS.128=0",
	"capped_registers":            "LDL≥20 STL≥20 registers≤32",
	"capped_registers_fixed":      "LDL=0 STL=0 registers≥37",
	"too_many_live":               "LDL≥100 STL≥100 registers=255",
	"too_many_live_fixed":         "LDL=0 STL=0",
	"private_histogram":           "LDL≥4 STL≥4 stack≥64",
	"private_histogram_fixed":     "LDL=0 STL=0 LDS≥4",
	"register_coefficients":       "registers≥129 LDL=0 FFMA≥128",
	"register_coefficients_fixed": "registers≤128 LDL=0 LDS.128≥16 FFMA≥128",
	"cold_path":                   "registers≥129 LDL=0",
	"cold_path_fixed":             "registers≤32 stack≥800",
	"oversized_buffer":            "registers≤32",
	"whole_history":               "registers≤32",
	"whole_history_fixed":         "registers≤32",
	"hard_coded_grid":             "LDG.128≥1 STG.128≥1",
	"large_blocks":                "registers≥33",
	"density_tiles":               "registers≥33",
	"growing_ranges":              "registers≤32",
	"position_table":              "LDG.128≥1 MUFU=0",
	"position_table_fixed":        "LDG=0 MUFU=0",
	"stored_mask":                 "LDG.128≥4",
	"stored_mask_fixed":           "LDG.128≥1",
	"table_per_query":             "LDG.128≥4",
	"state_in_memory":             "LDG.128=1 STG.128=1 FFMA=4",
	"state_in_memory_fixed":       "LDG=1 STG=1",
	"two_pass_variance":           "LDG.128≥2 registers≤32",
	"two_pass_variance_fixed":     "LDG.128≥1 registers≤32",
	"matrix_per_vector":           "LDG.128≥8",
	"one_load_at_a_time":          "LDG=1 LDG.128=0",
	"one_load_at_a_time_fixed":    "LDG.128≥4",
	"embedding_bag":               "LDG=2",
	"embedding_bag_fixed":         "LDG≥9",
	"barrier_tree":                "BAR≥4",
	"barrier_tree_fixed":          "BAR=0",
	"one_thread_works":            "BAR=2",
	"one_thread_works_fixed":      "BAR=1",
	"kind_by_lane":                "BAR=0",
	"one_total":                   "RED=1 BAR=0",
	"one_total_fixed":             "RED=1 BAR≥1",
	"rare_bins":                   "RED≥4 ATOMS=0",
	"rare_bins_fixed":             "RED=1 ATOMS≥4",
	"double_literals":             "DFMA≥4 F2F≥8",
	"double_literals_fixed":       "F2F=0",
	"double_state":                "DFMA≥16 FFMA=0",
	"double_state_fixed":          "F2F=0 FFMA≥16",
	"harmonics":                   "MUFU≥48",
	"harmonics_fixed":             "MUFU≤4",
	"powers_by_logs":              "MUFU≥32",
	"powers_by_logs_fixed":        "MUFU=0",
	"linear_layer":                "FFMA≥1024 LDG.128≥4",
	"linear_layer_fixed":          "HMMA≥32 LDGSTS≥4 LDSM≥8 FFMA=0",
	"attention_scores":            "FFMA≥1024 LDG.128≥4",
	"attention_scores_fixed":      "HMMA≥32 LDGSTS≥4 LDSM≥8 FFMA=0",
	"particle_energies":           "LDG=16 LDG.128=0",
	"particle_energies_fixed":     "LDG.128≥4",
	"pack_records":                "STG=16 STG.128=0",
	"pack_records_fixed":          "STG=4 STG.128=4",
	"row_per_lane":                "LDS≥8",
	"rolled_filters":              "LDL≥1 STL≥1 stack≥80",
	"rolled_filters_fixed":        "LDL=0 STL=0 registers≥26",
	"kept_samples":                "registers≥151 LDG≥151",
	"kept_samples_fixed":          "registers≤64",
	"table_per_thread":            "registers≤64 LDS≥1",
	"window_sums":                 "LDG≥16",
	"window_sums_fixed":           "LDG≥71 LDS≥16 FFMA≥512",
	"zero_bias":                   "LDG.128=4",
	"zero_bias_fixed":             "LDG.128=2",
	"separate_statistics":         "LDG.128≥12 registers≤32",
	"separate_statistics_fixed":   "LDG.128≥4 registers≤32",
	"chains_in_turn":              "LDG≤4",
	"chains_in_turn_fixed":        "LDG≥4",
	"leader_lane":                 "BAR=0",
	"sparse_points":               "BAR=0",
	"column_totals":               "RED=1 BAR=0",
	"column_totals_fixed":         "RED=1 BAR≥1",
	"norms_by_sqrt":               "DFMA≥4 F2F≥1",
	"norms_by_sqrt_fixed":         "F2F=0",
	"gaussian_bumps":              "MUFU≥40",
	"gaussian_bumps_fixed":        "MUFU≤4",
	"scan_by_steps":               "BAR≥3",
	"scan_by_steps_fixed":         "BAR=0",
	"orbit_tiles":                 "registers≥43",
	"longer_rows":                 "registers≤32",
	"longer_rows_fixed":           "registers≤32",
	"project_channels":            "FFMA≥256 LDS.128≥2",
	"project_channels_fixed":      "HMMA≥32 LDGSTS≥4 LDSM≥8 FFMA=0",
	"swapped_axes":                "LDG=16 LDG.128=0",
	"swapped_axes_fixed":          "LDG=16 LDG.128=0",
	"bit_reversal":                "LDG=8 LDS=0",
	"bit_reversal_fixed":          "LDG=8 LDS=8",
	"radix4_pass":                 "LDG=4 STG=4 STG.128=0 BAR=0",
	"radix4_pass_fixed":           "LDG=4 STG=4 STG.128=0 BAR=1",
	"dequantize_groups":           "LDG.128=1 STG=32",
	"dequantize_groups_fixed":     "STG=4 STG.128=4",
	"hadamard_rows":               "LDS=32 LDS.128=0 BAR=0",
	"hadamard_rows_fixed":         "LDS=32 LDS.128=0 BAR=0",
	"substitution_rounds":         "LDS=16",
	"substitution_rounds_fixed":   "LDS=16",
	"warp_histograms":             "ATOMS=1 LDG.128=1 registers≤32",
	"warp_histograms_fixed":       "ATOMS=1 LDG.128=1 registers≤32",
	"edit_distances":              "LDS=1 STS=1 registers≤64",
	"edit_distances_fixed":        "LDS=1 STS=1 registers≤64",
	"matrix_powers":               "LDL≥100 STL≥100 registers≤48 FFMA≥200",
	"matrix_powers_fixed":         "registers≤128 FFMA≥200",
	"align_reads":                 "LDL=2 STL≥2 stack≥256",
	"align_reads_fixed":           "registers≤128",
	"graph_layer":                 "registers≥129 LDS=0 FFMA≥124",
	"graph_layer_fixed":           "registers≤40 LDS.128≥31 FFMA≥124",
	"sample_streams":              "RED=0 registers≤32",
	"sample_streams_fixed":        "RED=1 registers≤32",
	"banded_blur":                 "LDG.128≥8 STG.128≥4",
	"proof_of_work":               "registers≤32",
	"fir_tiles":                   "registers≥33 FFMA=128",
	"fir_tiles_fixed":             "registers≤64 FFMA=128",
	"cluster_pairs":               "LDG.128≥4 registers≤32",
	"cluster_pairs_fixed":         "LDG.128≥4 registers≤32",
	"identity_gather":             "LDG=16",
	"identity_gather_fixed":       "LDG=8",
	"opaque_layer":                "LDG.128=3",
	"opaque_layer_fixed":          "LDG.128=1",
	"gather_per_head":             "LDG.128≥16 FFMA=64",
	"gather_per_head_fixed":       "LDG.128≥16 FFMA=512",
	"vertical_diffusion":          "LDG=3 LDG.128=3",
	"vertical_diffusion_fixed":    "LDG.128≥5 STG.128≥4",
	"adam_by_sweeps":              "LDG.128≥14 STG.128≥6 registers≤32",
	"adam_by_sweeps_fixed":        "LDG=4 STG=3 registers≤32",
	"tree_lookup":                 "LDG=7 registers≤32",
	"tree_lookup_fixed":           "LDG≥25 registers≤40",
	"half_gemv":                   "LDG=2 FFMA=1",
	"half_gemv_fixed":             "LDG.128=8",
	"heat_rods":                   "BAR=2 registers≤32",
	"heat_rods_fixed":             "BAR=0 FFMA=32",
	"lockstep_fits":               "BAR=2 registers≤32",
	"lockstep_fits_fixed":         "BAR=0 registers≤32",
	"rejection_sampling":          "BAR=0 I2F=0",
	"rejection_sampling_fixed":    "BAR=0 I2F=0",
	"materials":                   "BAR=0",
	"expert_counts":               "RED=4 ATOMS=0",
	"expert_counts_fixed":         "RED=1 ATOMS=4",
	"peak_search":                 "RED=4",
	"peak_search_fixed":           "RED=1",
	"option_prices":               "DFMA≥100 F2F≥3",
	"option_prices_fixed":         "F2F=0 FFMA≥60",
	"skewness_columns":            "DFMA≥60 F2F≥8 LDG=8",
	"skewness_columns_fixed":      "F2F=0 FFMA≥40 LDG=8",
	"log_products":                "MUFU=32",
	"log_products_fixed":          "MUFU=4",
	"closest_anchor":              "MUFU=64",
	"closest_anchor_fixed":        "MUFU=2",
	"convolve_3x3":                "FFMA=512 LDS.128=48",
	"convolve_3x3_fixed":          "HMMA=32 LDGSTS≥12 LDSM=16 FFMA=0",
	"pass_per_launch":             "LDG=2 STG=2",
	"transform_points":            "FFMA≥72",
	"transform_points_fixed":      "FFMA≥72",
	"half_polynomial":             "LDG.128=2 STG.128=2",
	"half_polynomial_fixed":       "LDG.128=2 STG.128=2",
	"hash_variants":               "code≥500000",
	"hash_variants_fixed":         "code≤16384",
	"node_strengths":              "LDG=8 LDG.128=0",
	"node_strengths_fixed":        "LDG=3 LDG.128=0",
	"z_order":                     "LDG=1 STG=1",
	"z_order_fixed":               "LDG=1 STG=1",
	"summed_areas":                "LDS≥16 STS≥16 LDS.128=0",
	"summed_areas_fixed":          "LDS≥16 STS≥16 LDS.128=0",
	"sort_and_mix":                "LDL≥100 STL≥100 registers≤32",
	"sort_and_mix_fixed":          "registers≥37",
	"chained_features":            "registers≥129 FFMA≥128 LDS=0",
	"chained_features_fixed":      "registers≤64 FFMA≥128 LDS.128≥32",
	"lz_window":                   "LDG=1 STG=1 registers≤32",
	"lz_window_fixed":             "LDG=1 STG=1 registers≤32",
	"light_probes":                "BAR=2 registers≤32",
	"light_probes_fixed":          "BAR=2 registers≤32",
	"mesh_patches":                "registers≤32",
	"mesh_patches_fixed":          "registers≤32",
	"clip_in_place":               "LDG.128=4 STG.128=4",
	"clip_in_place_fixed":         "LDG.128=4 STG.128=4",
	"phoneme_scores":              "LDG.128=8 FFMA≥32",
	"phoneme_scores_fixed":        "LDG.128=8 FFMA≥256 registers≤128",
	"echoes":                      "LDG.128=3 STG.128=1",
	"echoes_fixed":                "LDG.128≥6 STG.128≥4",
	"moving_averages":             "LDG=1 registers≤32",
	"moving_averages_fixed":       "LDG=16 registers≤40",
	"small_inverses":              "BAR=2 registers≤32",
	"small_inverses_fixed":        "BAR=0 FFMA≥31",
	"sensor_cells":                "BAR=0",
	"species_energies":            "RED=4 ATOMS=0 BAR=0",
	"species_energies_fixed":      "RED=1 ATOMS=0",
	"gated_loudness":              "DFMA≥40 F2F≥5",
	"gated_loudness_fixed":        "F2F=0",
	"lens_sums":                   "MUFU=48",
	"lens_sums_fixed":             "MUFU=6",
	"gram_matrix":                 "FFMA=256 LDS.128≥32",
	"gram_matrix_fixed":           "HMMA≥32 LDGSTS≥4 LDSM≥8 FFMA=0",
	"string_steps_fixed":          "BAR=1",
	"fitted_curves":               "code≥500000",
	"fitted_curves_fixed":         "code≤20000",
	"byte_correlations":           "LDG.128=2 STG=2",
	"byte_correlations_fixed":     "LDG.128=2 STG=2",
	"unrolled_loop":               "code≥160000",
	"unrolled_parts":              "code≥500000",
	"unrolled_parts_fixed":        "code≤16384",
	"interpreter":                 "code≥500000",
	"interpreter_fixed":           "code≤16384",
	"polynomial":                  "FFMA≥64",
	"polynomial_fixed":            "FFMA≥64",
	"healthy_triad":               "LDG.128=4 STG.128=2",
	"healthy_gelu":                "LDG.128=2 MUFU=16",
}

// usual holds for every kernel that has no fact about the same: nobody has what was planted elsewhere.
const usual = "LDL=0 STL=0 DFMA=0 DMUL=0 DADD=0 HMMA=0 code≤32768"

// The compiler has not removed what was planted, and has not put in what was not.
func TestStatic(t *testing.T) {
	s := load(t)
	sources := map[string][]string{} // entries
	for _, k := range s.Kernels {
		for _, l := range k.Launches {
			if !slices.Contains(sources[k.Source], l.Entry) {
				sources[k.Source] = append(sources[k.Source], l.Entry)
			}
		}
	}
	toolkits := cubintest.Toolkits(t)
	if testing.Short() {
		toolkits = toolkits[len(toolkits)-1:]
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	unused := maps.Clone(facts)
	for _, toolkit := range toolkits {
		for _, source := range slices.Sorted(maps.Keys(sources)) {
			for _, entry := range sources[source] {
				delete(unused, entry)
			}
			t.Run(toolkit.Name+"/"+source, func(t *testing.T) {
				if testing.Short() && strings.HasSuffix(source, "instruction_cache.cu") {
					t.Skip("long: run by make long; 10 s of compiling")
				}
				text, err := os.ReadFile(source)
				if err != nil {
					t.Fatal(err)
				}
				image := toolkit.Compile(t, "sm_90", string(text), "-I"+here, "-I"+filepath.Join(toolkit.Folder, "../include"),
					"-I"+filepath.Join(toolkit.Folder, "../../cuda_runtime/include"))
				for _, entry := range sources[source] {
					checkFacts(t, image, entry)
				}
			})
		}
	}
	for entry := range unused {
		t.Errorf("there are facts about %s, which no kernel launches", entry)
	}
}

func checkFacts(t *testing.T, image []byte, entry string) {
	t.Helper()
	found, err := count(image, entry)
	if err != nil {
		t.Fatal(err)
	}
	own := strings.Fields(facts[entry])
	for _, fact := range slices.Concat(own, strings.Fields(usual)) {
		at := strings.IndexAny(fact, "≥≤=")
		name, relation := fact[:at], fact[at:]
		if slices.Contains(strings.Fields(usual), fact) && slices.ContainsFunc(own, func(f string) bool { return f != fact && f[:strings.IndexAny(f, "≥≤=")] == name }) {
			continue // its own fact says otherwise
		}
		if planted(entry, name) {
			continue
		}
		digits := strings.TrimLeft(relation, "≥≤=")
		want, err := strconv.Atoi(digits)
		if err != nil {
			t.Fatalf("%s: %s: %v", entry, fact, err)
		}
		holds := map[string]bool{"≥": found[name] >= want, "≤": found[name] <= want, "=": found[name] == want}[strings.TrimSuffix(relation, digits)]
		if !holds {
			t.Errorf("%s: expected %s, found %d (%v)", entry, fact, found[name], found)
		}
	}
}

// planted reports whether a kernel has an operation that others must not have, without a fact of its own.
func planted(entry, name string) bool {
	switch entry {
	case "double_literals", "double_state", "norms_by_sqrt", "option_prices", "skewness_columns", "gated_loudness":
		return name == "DMUL" || name == "DADD"
	case "cold_path_fixed":
		return name == "LDL" || name == "STL"
	}
	return false
}

// count returns how many instructions of each operation a kernel has, and what it needs.
func count(image []byte, entry string) (map[string]int, error) {
	file, err := cubin.Open(image)
	if err != nil {
		return nil, err
	}
	text := file.Section(".text." + entry)
	if text == nil {
		return nil, fmt.Errorf("no kernel %s", entry)
	}
	code, err := text.Data()
	if err != nil {
		return nil, err
	}
	found := map[string]int{"code": len(code)}
	for ; len(code) >= 16; code = code[16:] {
		low, high := binary.LittleEndian.Uint64(code), binary.LittleEndian.Uint64(code[8:])
		name, known := operations[low&0x1ff]
		if !known {
			continue
		}
		found[name]++
		if size := high >> 9 & 7; size == 6 && slices.Contains([]string{"LDG", "STG", "LDS", "STS"}, name) {
			found[name+".128"]++
		}
	}
	symbols, err := file.Symbols()
	if err != nil {
		return nil, err
	}
	info := file.Section(".nv.info")
	if info == nil {
		return nil, fmt.Errorf("nothing about the kernels")
	}
	data, err := info.Data()
	if err != nil {
		return nil, err
	}
	attributes, _ := cubin.Attributes(data)
	for _, a := range attributes {
		if len(a.Value) < 8 || a.Code != cubin.AttributeRegisters && a.Code != cubin.AttributeFrameSize {
			continue
		}
		// debug/elf leaves out the first symbol, which has no name.
		if i := int(binary.LittleEndian.Uint32(a.Value)) - 1; i < 0 || i >= len(symbols) || symbols[i].Name != entry {
			continue
		}
		value := int(binary.LittleEndian.Uint32(a.Value[4:]))
		if a.Code == cubin.AttributeRegisters {
			found["registers"] = value
		} else {
			found["stack"] = cmp.Or(value, found["stack"])
		}
	}
	return found, nil
}
