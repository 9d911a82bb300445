package report

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"html"
	"image/png"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"pawl/internal/judge"
	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/term"
)

var embedded = regexp.MustCompile(`base64,[^"]+`)

func TestTuneDocuments(t *testing.T) {
	for name, r := range map[string]*result.Report{"tune": attentionSearch(), "tune_noise": softmaxSearch(), "tune_failed": searchOfFailures()} {
		golden(t, name+"_text", checkedText(t, r, term.Style{}))
		golden(t, name+"_markdown", Markdown(r))
	}
	golden(t, "tune_color", checkedText(t, attentionSearch(), term.Style{Color: true}))
	page := pageOf(t, attentionSearch())
	checkPage(t, page)
	body := page[strings.Index(page, "<body>"):]
	golden(t, "tune_html", embedded.ReplaceAllString(body, "base64,…"))
	raw, err := CSV(softmaxSearch())
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "tune_csv", string(raw))
}

// The last line of a terminal and the head of the suggestions say what the search came to.
func TestTuneSays(t *testing.T) {
	nothing := softmaxSearch()
	nothing.Tuning.Trials, nothing.Tuning.Finalists, nothing.Tuning.Effects, nothing.Rows, nothing.Tuning.NoSuggestion = nil, nil, nil, nil, ""
	one := searchOfFailures()
	one.Tuning.Trials = one.Tuning.Trials[1:]
	applied := attentionSearch()
	applied.Command = append(applied.Command, "--apply")
	energy, worst := attentionSearch(), attentionSearch()
	energy.Tuning.Objective, worst.Tuning.Over = "energy", "worst"
	slower := attentionSearch()
	slower.Tuning.NoSuggestion = "the best over all configs is slower on attention/training_512"
	unsure := attentionSearch()
	unsure.Tuning.NoSuggestion = "the best seems 19.9% faster than today's defaults, but its interval includes 0"
	stopped := attentionSearch()
	stopped.Interrupted, stopped.Tuning.Ended = true, "interrupted"
	stopped.Command = []string{"pawl", "tune", "attention/small", "--over", "worst", "--resume"}
	unplayed, whole := attentionSearch(), attentionSearch()
	unplayed.Tuning.Finalists, unplayed.Rows, unplayed.Tuning.NoSuggestion = nil, nil, "the search ended before the best could play"
	whole.Interrupted, whole.Tuning.Ended = true, "interrupted"
	whole.Tuning.Space.Size, whole.Tuning.Space.Exact = float64(len(whole.Tuning.Trials)), true
	deserted, coarse := attentionSearch(), attentionSearch()
	deserted.Tuning.Finalists, deserted.Rows, deserted.Tuning.Ended = nil, nil, "workers"
	deserted.Tuning.NoSuggestion = "no worker was left to play the best against today's defaults"
	deserted.Command = []string{"pawl", "tune", "attention", "--pool", "slurm"}
	coarse.Rows[0].Verdict, coarse.Rows[0].Reasons = result.Inconclusive, []result.Reason{result.Unconfirmed}
	for name, test := range map[string]struct {
		r    *result.Report
		says []string
		not  string
	}{
		"no worker left":         {deserted, []string{"no worker was left to play", "pawl tune attention --pool slurm --resume goes on", "when no worker was left: a truncated"}, "apply it"},
		"sure, but not exact":    {coarse, []string{"faster; how much is less exact than a check asks", "apply it"}, "inconclusive"},
		"found":                  {attentionSearch(), []string{"19.9% less time on average over 3 configs than today's defaults; apply it: pawl tune attention --last --apply", "truncated search", "tied with"}, "noise, do not"},
		"noise":                  {softmaxSearch(), []string{"nothing is suggested: the best is 2.0% faster than today's defaults: under 5% is noise, do not bother", "truncated search"}, "apply it"},
		"every candidate failed": {searchOfFailures(), []string{"every candidate failed: 44 × compile error, most often: softmax.c:12:9: error: LANES undeclared"}, "apply it"},
		"defaults failed too":    {one, []string{"every candidate failed: 44 × compile error"}, "measured"},
		"stopped early":          {stoppedSearch(), []string{"interrupted: nothing is suggested", "--resume goes on", "by the user, after 6.8 s: a truncated search"}, "apply it"},
		"stopped with a winner":  {stopped, []string{"interrupted: 19.9% less time", "pawl tune attention/small --over worst --resume goes on", "truncated search"}, ""},
		"finals not played":      {unplayed, []string{"--resume goes on; a longer --budget has time for more duets"}, "nothing better"},
		"stopped in the finals":  {whole, []string{"every setting was tried, but not every final was played"}, "truncated"},
		"nothing tried":          {nothing, []string{"tried   nothing of 96 settings", "nothing was tried: nothing could be tried"}, "failed"},
		"applied already":        {applied, []string{"19.9% less time"}, "apply it"},
		"energy":                 {energy, []string{"19.9% less energy"}, "less time on"},
		"the worst":              {worst, []string{"19.9% less time in the worst of 3 configs", "all, the worst"}, "on average"},
		"slower on one":          {slower, []string{"nothing is suggested: the best over all configs is slower on attention/training_512"}, "apply it"},
		"not shown":              {unsure, []string{"nothing is suggested: the best seems 19.9% faster"}, "nothing better"},
		"no search":              {&result.Report{Kind: result.KindTune}, []string{"nothing was tried"}, "apply it"},
	} {
		t.Run(name, func(t *testing.T) {
			interrupted := test.r.Interrupted
			test.r.Outcome = judge.Outcome(test.r)
			test.r.Interrupted = interrupted
			text := strings.Join(strings.Fields(textIn(t, test.r, TextOptions{})), " ")
			for _, want := range test.says {
				if !strings.Contains(text, strings.Join(strings.Fields(want), " ")) {
					t.Errorf("%q is not in\n%s", want, text)
				}
			}
			if test.not != "" && strings.Contains(text, test.not) {
				t.Errorf("%q is in\n%s", test.not, text)
			}
			if title := ViewOf(test.r, view.HTML).Title; name == "not shown" && title != "attention: nothing is suggested" {
				t.Errorf("the title is %q", title)
			}
			for _, form := range []string{Markdown(test.r), html.UnescapeString(pageOf(t, test.r))} {
				if first, _, _ := strings.Cut(test.says[0], ";"); !strings.Contains(form, "pawl tune") || name == "found" && !strings.Contains(form, first) {
					t.Errorf("a document does not say %q:\n%s", first, form[:min(len(form), 600)])
				}
			}
		})
	}
}

// Numbers that no search has are shown as something, and pictures of them are whole.
func TestTuneOfStrangeNumbers(t *testing.T) {
	strange := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, -1, 1e300, 5e-324}
	for i, v := range strange {
		r := attentionSearch()
		w := strange[(i+1)%len(strange)]
		s := r.Tuning
		s.SpentS, s.BudgetS, s.DeviceBusyS, s.LaunchBusyS, s.Space.Size = v, w, v, w, v
		for j, trial := range s.Trials {
			trial.AtS, trial.Cost = strange[(i+j)%len(strange)], strange[(i+j/7)%len(strange)]
			for k := range trial.On {
				trial.On[k].MedianS, trial.On[k].Joules, trial.On[k].Ratio = v, w, w
			}
		}
		for _, f := range s.Finalists {
			f.Overall = v
			for _, c := range f.Changes {
				c.Median, c.Low, c.High, c.Delta = v, w, v, w
			}
		}
		for j := range s.Effects {
			s.Effects[j].Share = v
			for k := range s.Effects[j].Values {
				s.Effects[j].Values[k].Best, s.Effects[j].Values[k].Median, s.Effects[j].Values[k].Trials = v, w, -1
			}
		}
		for _, p := range s.Picks {
			p.Gain = v
		}
		page := pageOf(t, r)
		checkPage(t, page)
		checkedText(t, r, term.Style{})
		Markdown(r)
		if _, err := CSV(r); err != nil {
			t.Error(err)
		}
		checkDrawing(t, r)
	}
}

// checkDrawing makes sure that the picture of a search is XML without places that are no number.
func checkDrawing(t *testing.T, r *result.Report) {
	t.Helper()
	svg, err := Picture(r, ".svg", false)
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the picture is no XML: %v", err)
		}
	}
	if at := regexp.MustCompile(`NaN|Inf`).FindIndex(svg); at != nil {
		t.Errorf("a place is no number: %s", svg[max(0, at[0]-100):at[1]+20])
	}
}

func TestTunePicture(t *testing.T) {
	checkDrawing(t, attentionSearch())
	checkDrawing(t, searchOfFailures())
	raw, err := Picture(softmaxSearch(), ".png", true)
	if err != nil {
		t.Fatal(err)
	}
	if config, err := png.DecodeConfig(bytes.NewReader(raw)); err != nil || config.Width != 1800 {
		t.Errorf("%d pixels wide, %v", config.Width, err)
	}
	svg, err := Picture(attentionSearch(), ".svg", false)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Best so far, by settings tried", "Best so far, by time", "BLOCK_M", "Time and energy of a launch", ">today<", ">suggested<", "296 of 7,920 settings"} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("%q is not in the picture", want)
		}
	}
	r := softmaxSearch()
	if svg, err = Picture(r, ".svg", false); err != nil || strings.Contains(string(svg), "energy") || !strings.Contains(string(svg), "µs") {
		t.Errorf("without energy, and with one config in µs: %v", err)
	}
	r.Tuning.Trials = nil
	if _, err := Picture(r, ".png", false); err == nil {
		t.Error("a search that tried nothing has a picture")
	}
}

// Whatever names a report claims, its suggestions are whole and have no markup of theirs.
func TestTuneOfHostileNames(t *testing.T) {
	const hostile = "<script>|`](x)\n# @a"
	r := attentionSearch()
	s := r.Tuning
	s.Kernel, s.Strategy, s.Compiler, s.Warm, s.NoSuggestion = hostile, hostile, hostile, []string{hostile}, ""
	renamed := func(params map[string]string) map[string]string {
		out := map[string]string{}
		for name, value := range params {
			out[name+hostile] = value + hostile
		}
		return out
	}
	for i, p := range s.Space.Params {
		s.Space.Params[i] = result.SpaceParam{Name: p.Name + hostile, Default: p.Default + hostile, Values: []string{hostile}}
	}
	for i, config := range s.Configs {
		s.Configs[i] = config + hostile
		r.Rows[i].Config += hostile
		r.Rows[i].Kernel = hostile
	}
	for _, trial := range s.Trials {
		trial.Params = renamed(trial.Params)
		if trial.Fault != nil {
			trial.Fault.Message, trial.Fault.Hint = hostile+strings.Repeat("x", 1000), hostile
		}
	}
	for _, f := range s.Finalists {
		f.Params = renamed(f.Params)
	}
	for _, p := range s.Picks {
		p.Config, p.Params = hostile, renamed(p.Params)
	}
	for i := range s.Effects {
		s.Effects[i].Param += hostile
		for j := range s.Effects[i].Values {
			s.Effects[i].Values[j].Value += hostile
		}
	}
	if flawed := flaw(Markdown(r)); flawed != "" {
		t.Errorf("%s:\n%s", flawed, Markdown(r))
	}
	checkPage(t, pageOf(t, r))
	checkDrawing(t, r)
}

// Programs find every trial, with its numbers on every config.
func TestTuneRecords(t *testing.T) {
	r := attentionSearch()
	raw, err := CSV(r)
	if err != nil {
		t.Fatal(err)
	}
	all, err := csv.NewReader(bytes.NewReader(raw)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1+len(r.Tuning.Trials) {
		t.Fatalf("%d records of %d trials", len(all), len(r.Tuning.Trials))
	}
	roles, statuses := map[string]int{}, map[string]int{}
	for _, record := range all[1:] {
		roles[record[2]]++
		statuses[record[1]]++
	}
	if roles["winner"] != 1 || roles["tied"] != 2 || roles["failed finalist"] != 1 || statuses["compile error"] != r.Tuning.Count(result.TrialCompileError) {
		t.Errorf("roles %v, statuses %v", roles, statuses)
	}
	head := strings.Join(all[0], " ")
	for _, want := range []string{"param:BLOCK_M", "median_s:inference_8k", "energy_j:training_512"} {
		if !strings.Contains(head, want) {
			t.Errorf("no field %s in %s", want, head)
		}
	}
}
