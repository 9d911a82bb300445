package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

type answered struct {
	op    string
	reply any
	keys  string
}

// fromCell lists the worker's replies, and which of their keys come from a cell. All other keys are
// the worker's own, including those that are added later.
var fromCell = []answered{
	{wire.OpLoad, wire.LoadReply{}, "flush runtime limits"}, // on_device only of a cell that has one
	{wire.OpPrepare, wire.PrepareReply{}, "buffers pinned resources sets"},
	{wire.OpSample, wire.SampleReply{}, "count overhead_s pair_s gap_s other_streams set_aside exposed device_bytes forgot fresh flushed_s cold_s batch global_s"},
	{wire.OpRun, wire.RunReply{}, "cell_s ghz"},
	{wire.OpProduce, wire.ProduceReply{}, "kernels outside no_kernels retained"},
	{wire.OpError, wire.Failure{}, "stage cause message hint"},
}

// keysOf lists the JSON keys of a message, each with an invented value.
func keysOf(message any) map[string]json.RawMessage {
	made := reflect.New(reflect.TypeOf(message))
	invent(made.Elem())
	raw, err := json.Marshal(made.Interface())
	if err != nil {
		panic(err)
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(raw, &keys); err != nil {
		panic(err)
	}
	return keys
}

// invent fills a value with one that no honest worker sends.
func invent(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("made up")
	case reflect.Int, reflect.Int64:
		v.SetInt(424242)
	case reflect.Uint64:
		v.SetUint(424242)
	case reflect.Float64:
		v.SetFloat(4242.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		invent(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		invent(v.Index(0))
	case reflect.Struct:
		for _, field := range reflect.VisibleFields(v.Type()) {
			if field.IsExported() && len(field.Index) == 1 {
				invent(v.FieldByIndex(field.Index))
			}
		}
	default:
		panic(fmt.Sprintf("cannot invent a %v", v.Type()))
	}
}

// claiming makes the answer of a cell whose artifact is "claims OP KEY": its answer to OP also has
// KEY, with an invented value. Errors are what such a cell answers a run with.
func claiming(what, op string, body any) (answer string, claims any) {
	words := strings.Fields(what)
	if len(words) != 3 || words[0] != "claims" {
		return wire.OpOK, body
	}
	if answer = wire.OpOK; op == wire.OpRun && words[1] == wire.OpError {
		answer, op, body = wire.OpError, wire.OpError, result.Fault{Cause: result.CauseLaunch}
	}
	if words[1] != op {
		return answer, body
	}
	at := slices.IndexFunc(fromCell, func(one answered) bool { return one.op == op })
	raw, _ := json.Marshal(body)
	all := map[string]json.RawMessage{}
	_ = json.Unmarshal(raw, &all)
	all[words[2]] = keysOf(fromCell[at].reply)[words[2]]
	return answer, all
}

// Whatever a cell claims about facts that only its worker can know, none of it is in the reply.
func TestACellHasNoWordsForWhatTheWorkerSays(t *testing.T) {
	c := connect(t)
	for _, one := range fromCell {
		claims := keysOf(one.reply)
		for key := range claims {
			if slices.Contains(strings.Fields(one.keys), key) {
				continue
			}
			t.Run(one.op+" "+key, func(t *testing.T) {
				replies, failed := askAll(t, c, "claims "+one.op+" "+key)
				got := replies[one.op]
				if one.op == wire.OpError {
					if failed == nil {
						t.Fatal("it did not fail")
					}
					got, _ = json.Marshal(failed.Failure)
				} else if failed != nil {
					t.Fatal(failed)
				}
				var said map[string]json.RawMessage
				if err := json.Unmarshal(got, &said); err != nil {
					t.Fatal(err)
				}
				if string(said[key]) == string(claims[key]) {
					t.Errorf("the reply says %q as the cell does: %s", key, got)
				}
				if strings.Contains(string(said[key]), "made up") {
					t.Errorf("the reply has what the cell made up: %s", got)
				}
			})
		}
	}
}

// askAll sends every request to a cell and returns the raw replies.
func askAll(t *testing.T, c *Client, what string) (replies map[string]json.RawMessage, failed *Failed) {
	t.Helper()
	sha, err := c.Upload(t.Context(), []byte(what))
	if err != nil {
		t.Fatal(err)
	}
	cell, err := c.Open(t.Context(), wire.Open{Cell: "host", Sandbox: "auto"})
	if err != nil {
		t.Fatal(err)
	}
	replies = map[string]json.RawMessage{}
	for _, one := range []struct {
		op   string
		body any
	}{
		{wire.OpLoad, wire.Load{Cell: cell.id, SHA256: sha}},
		{wire.OpPrepare, wire.Prepare{Cell: cell.id}},
		{wire.OpSample, wire.Sample{Cell: cell.id, Count: 2, Repeat: 1, Keep: 2}}, // the cell takes one
		{wire.OpProduce, wire.Produce{Cell: cell.id}},
		{wire.OpRun, wire.Run{Cell: cell.id, Launches: 1}},
	} {
		frame, err := c.call(t.Context(), one.op, one.body, nil, defaultDeadline, nil)
		if errors.As(err, &failed) {
			return replies, failed
		}
		if err != nil {
			t.Fatal(err)
		}
		replies[one.op] = frame.Body
	}
	return replies, nil
}
