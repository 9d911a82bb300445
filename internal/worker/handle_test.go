package worker

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/oracle"
	"pawl/internal/worker/wire"
)

// recorder starts a worker that writes down the requests of its cell 1. Of a sample it says that the
// outputs are those of the fourth copy of the arguments or, if lies are wanted, of another batch.
func recorder(t *testing.T, lies bool) (cell *Cell, asked func() []map[string]any) {
	t.Helper()
	log, off := filepath.Join(t.TempDir(), "log"), "0"
	if lies {
		off = "1"
	}
	c, err := Start(t.Context(), Options{Command: []string{"sh", "-c", `
echo '{"v":1,"id":0,"op":"hello","body":{"protocol":"1.2"}}'
while read -r line; do
	id=$(echo "$line" | sed 's/.*"id":\([0-9]*\).*/\1/') body=null
	case $line in
	*'"op":"open"'*) body='{"cell":1}' ;;
	*'"op":"sample"'*) body='{"batch":'$(($(echo "$line" | sed 's/.*"batch":\([0-9]*\).*/\1/') + 3 * 1099511627776 + ` + off + `))'}' ;;
	esac
	echo "$line" >> '` + log + `'
	echo '{"v":1,"id":'$id',"op":"ok","body":'$body'}'
done`}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.kill()
		<-c.gone
	})
	if cell, err = c.Open(t.Context(), wire.Open{Cell: "host"}); err != nil {
		t.Fatal(err)
	}
	return cell, func() (bodies []map[string]any) {
		raw, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			var frame struct {
				Op   string         `json:"op"`
				Body map[string]any `json:"body"`
			}
			if err := json.Unmarshal([]byte(line), &frame); err != nil {
				t.Fatal(err)
			}
			if _, has := frame.Body["batch"]; has {
				bodies = append(bodies, frame.Body)
			}
		}
		return bodies
	}
}

// A cell gets neither the run's seed nor a batch number from which it could guess the next one.
func TestCellsGetNoSeed(t *testing.T) {
	const seed = 12345
	cell, asked := recorder(t, false)
	if _, err := cell.Prepare(t.Context(), wire.Prepare{Seed: seed, Batch: 7}); err != nil {
		t.Fatal(err)
	}
	reply, err := cell.Sample(t.Context(), wire.Sample{Batch: 8, FreshBatch: 9})
	if err != nil || reply.Batch != 8+3<<oracle.BatchBits {
		t.Errorf("%+v, %v", reply, err)
	}
	if _, err := cell.Produce(t.Context(), wire.Produce{Batch: 10}); err != nil {
		t.Error(err)
	}
	other := 12
	if _, err := cell.Judge(t.Context(), wire.Judge{Seed: seed, Batch: 11, Other: &other}); err != nil || other != 12 {
		t.Errorf("%v; other is %d", err, other)
	}
	cellsOwn := func(batch int) float64 {
		_, number := oracle.ForCell(seed, batch)
		return float64(number)
	}
	want := []map[string]float64{
		{"batch": cellsOwn(7)}, {"batch": cellsOwn(8), "fresh_batch": cellsOwn(9)}, {"batch": cellsOwn(10)}, {"batch": cellsOwn(11), "other": cellsOwn(12)},
	}
	got := asked()
	if len(got) != len(want) {
		t.Fatalf("%d requests: %v", len(got), got)
	}
	for i, body := range got {
		for name, number := range want[i] {
			if body[name] != number {
				t.Errorf("request %d: %s is %v, want %v", i, name, body[name], number)
			}
		}
		if body["seed"] == float64(seed) {
			t.Errorf("request %d has the run's seed", i)
		}
	}
}

// A cell cannot choose the data that its outputs are compared on.
func TestOutputsOfAnotherBatch(t *testing.T) {
	cell, _ := recorder(t, true)
	if _, err := cell.Sample(t.Context(), wire.Sample{Batch: 8}); err == nil || !strings.Contains(err.Error(), "asked for batch") {
		t.Errorf("%v", err)
	}
}
