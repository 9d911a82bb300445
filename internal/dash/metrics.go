package dash

import (
	"fmt"
	"net/http"
	"strings"
)

// metrics are the newest figures of every series, as Prometheus reads them. A judgement is one series for
// each of a kernel's verdicts, the one that holds being 1.
func (s *Server) metrics(r *http.Request) (*reply, error) {
	tiles, err := s.tiles(r.Context())
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	family := func(name, help string, value func(t *tile) (float64, bool)) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
		for i := range tiles {
			if v, ok := value(&tiles[i]); ok {
				fmt.Fprintf(&b, "%s{%s} %v\n", name, labels(&tiles[i]), v)
			}
		}
	}
	family("pawl_time_seconds", "Median time of a launch in the last run; medians of separate runs wander.", func(t *tile) (float64, bool) { return t.Point.MedianS, t.Point.MedianS > 0 })
	family("pawl_index_ratio", "Time over that of the first version that is drawn, chained from duets.", func(t *tile) (float64, bool) {
		if t.Index == nil {
			return 0, false
		}
		return t.Index.Value, true
	})
	family("pawl_change_ratio", "Change of the time against the base in the last check: 0.05 is 5% slower.", func(t *tile) (float64, bool) {
		if t.Change == nil {
			return 0, false
		}
		return t.Change.Median, true
	})
	family("pawl_debt_ratio", "Change of the time against the best-known version in the last check that measured it.", func(t *tile) (float64, bool) {
		if t.Point.Best == nil {
			return 0, false
		}
		return t.Point.Best.Median, true
	})
	family("pawl_roof_ratio", "Share of the measured roofline.", func(t *tile) (float64, bool) { return t.Point.RoofPct / 100, t.Point.RoofPct > 0 })
	family("pawl_run_timestamp_seconds", "When the last run began.", func(t *tile) (float64, bool) { return float64(t.Point.Run.Started.UnixMilli()) / 1000, true })
	fmt.Fprint(&b, "# HELP pawl_verdict The verdict of the last run: 1.\n# TYPE pawl_verdict gauge\n")
	for i := range tiles {
		fmt.Fprintf(&b, "pawl_verdict{%s,verdict=\"%s\"} 1\n", labels(&tiles[i]), labelText(tiles[i].Mark.Word))
	}
	return &reply{status: http.StatusOK, kind: "text/plain; version=0.0.4; charset=utf-8", body: []byte(b.String())}, nil
}

func labels(t *tile) string {
	return fmt.Sprintf(`kernel="%s",config="%s",device_class="%s"`, labelText(t.Series.Kernel), labelText(t.Series.Config), labelText(t.Series.Class))
}

var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func labelText(text string) string { return labelEscapes.Replace(strings.ToValidUTF8(text, "\uFFFD")) }
