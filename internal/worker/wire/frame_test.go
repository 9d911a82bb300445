package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func send(t testing.TB, id uint64, op string, body any, data []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := NewWriter(&buf).Send(id, op, body, data); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var buf bytes.Buffer
		w := NewWriter(&buf)
		type message struct {
			ID   uint64
			Op   string
			Text string
			Data []byte
		}
		var sent []message
		for range rapid.IntRange(1, 5).Draw(rt, "frames") {
			m := message{
				ID: rapid.Uint64Range(0, 1<<53-1).Draw(rt, "id"), Op: rapid.StringMatching(`[a-z]{1,8}`).Draw(rt, "op"),
				Text: rapid.String().Draw(rt, "text"), Data: rapid.SliceOf(rapid.Byte()).Draw(rt, "data"),
			}
			sent = append(sent, m)
			if err := w.Send(m.ID, m.Op, Note{m.Text}, m.Data); err != nil {
				rt.Fatal(err)
			}
		}
		r := NewReader(&buf)
		for _, want := range sent {
			f, err := r.Next()
			if err != nil {
				rt.Fatal(err)
			}
			var note Note
			if err := f.Decode(&note); err != nil {
				rt.Fatal(err)
			}
			got := message{f.ID, f.Op, note.Text, f.Data}
			want.Text = strings.ToValidUTF8(want.Text, "\uFFFD")
			if !bytes.Equal(got.Data, want.Data) || got.ID != want.ID || got.Op != want.Op || got.Text != want.Text {
				rt.Fatalf("got %+v, want %+v", got, want)
			}
		}
		if _, err := r.Next(); !errors.Is(err, io.EOF) {
			rt.Fatalf("after the last frame: %v", err)
		}
	})
}

func TestBrokenFrames(t *testing.T) {
	whole := string(send(t, 7, "put", Note{"x"}, []byte("payload")))
	line, _, _ := strings.Cut(whole, "\n")
	for _, tc := range []struct{ name, input, reason string }{
		{"inside the line", whole[:10], "truncated"},
		{"inside the blob", whole[:len(whole)-2], "truncated"},
		{"blob missing", line + "\n", "truncated"},
		{"changed blob", whole[:len(whole)-1] + "X", "corrupt"},
		{"no JSON", "Segmentation fault\n", "malformed"},
		{"no op", `{"v":1,"id":1}` + "\n", "malformed"},
		{"other major", `{"v":2,"id":1,"op":"ping"}` + "\n", "version"},
		{"no version", `{"id":1,"op":"ping"}` + "\n", "version"},
		{"endless line", strings.Repeat("x", MaxLine+1), "oversized"},
		{"huge blob", fmt.Sprintf(`{"v":1,"id":1,"op":"put","blob":{"len":%d,"sha256":""}}`, MaxBlob+1) + "\n", "oversized"},
		{"negative blob", `{"v":1,"id":1,"op":"put","blob":{"len":-1,"sha256":""}}` + "\n", "oversized"},
		{"negative id", `{"v":1,"id":-1,"op":"ping"}` + "\n", "malformed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := NewReader(strings.NewReader(tc.input)).Next()
			if !IsReason(err, tc.reason) {
				t.Errorf("got %v, want reason %q", err, tc.reason)
			}
		})
	}
}

func TestWriterRefusesOversized(t *testing.T) {
	w := NewWriter(io.Discard)
	if err := w.Send(1, "put", nil, make([]byte, MaxBlob+1)); err == nil {
		t.Error("a blob over the limit was sent")
	}
	if err := w.Send(1, "note", Note{strings.Repeat("x", MaxLine)}, nil); err == nil {
		t.Error("a line over the limit was sent")
	}
	if err := w.Send(1, "put", nil, make([]byte, MaxBlob)); err != nil {
		t.Errorf("a blob at the limit: %v", err)
	}
}

func TestHelloSkipsNoise(t *testing.T) {
	hello := string(send(t, 0, OpHello, Hello{Protocol: "1.0"}, nil))
	for _, tc := range []struct {
		name, input, reason string
	}{
		{"clean", hello, ""},
		{"banner", "Welcome to node7\n\nLast login: never\n" + hello, ""},
		{"banner without newline", "module load cuda: ok " + hello, ""},
		{"json-like banner", `{"v":1,"id":0,"op":"ping"}` + "\n" + hello, ""},
		{"at the limit", strings.Repeat("n", MaxNoise-1) + "\n" + hello, ""},
		{"beyond the limit", strings.Repeat("n", MaxNoise) + "\n" + hello, "noise"},
		{"many lines", strings.Repeat("noise\n", MaxNoise) + hello, "noise"},
		{"on one line beyond the limit", strings.Repeat("n", MaxNoise+1) + hello, "noise"},
		{"only noise", "bash: pawl: command not found\n", "noise"},
		{"other major", strings.Replace(hello, `"v":1`, `"v":9`, 1), "version"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, err := NewReader(strings.NewReader(tc.input)).Hello()
			if tc.reason != "" {
				if !IsReason(err, tc.reason) {
					t.Fatalf("got %v, want reason %q", err, tc.reason)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var h Hello
			if err := f.Decode(&h); err != nil || h.Protocol != "1.0" {
				t.Errorf("hello is %+v, %v", h, err)
			}
		})
	}
	if _, err := NewReader(strings.NewReader("")).Hello(); !errors.Is(err, io.EOF) {
		t.Errorf("a peer that says nothing: %v", err)
	}
}

func TestSamples(t *testing.T) {
	seconds, ghz := []float64{1e-6, 2.5}, []float64{0, 3.1}
	packed := func(seconds, ghz float64) []byte {
		return (&Samples{Seconds: []float64{seconds}, GHz: []float64{ghz}}).Pack()
	}
	got := Samples{Count: 2}
	if err := got.Unpack((&Samples{Seconds: seconds, GHz: ghz}).Pack()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]float64{seconds, ghz}, [][]float64{got.Seconds, got.GHz}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		if err := (&Samples{Count: 1}).Unpack(packed(bad, 1)); err == nil {
			t.Errorf("a sample of %v seconds was taken", bad)
		}
	}
	for _, bad := range []float64{-1, math.NaN(), math.Inf(1), 1e6} {
		if err := (&Samples{Count: 1}).Unpack(packed(1, bad)); err == nil {
			t.Errorf("a clock of %v GHz was taken", bad)
		}
	}
	if err := (&Samples{Count: 1}).Unpack(make([]byte, 15)); err == nil {
		t.Error("a short blob was taken")
	}
	if err := (&Samples{Count: -1}).Unpack(nil); err == nil {
		t.Error("a negative count was taken")
	}
}

func FuzzReader(f *testing.F) {
	f.Add(send(f, 1, "ping", nil, nil))
	f.Add(send(f, 1<<52, "put", Put{Total: 3}, []byte("abc")))
	f.Add([]byte("noise\n{\"v\":1,\"id\":0,\"op\":\"hello\",\"body\":{}}\n"))
	f.Add([]byte(`{"v":1,"id":1,"op":"put","blob":{"len":5,"sha256":"00"}}` + "\nabcde"))
	f.Fuzz(func(t *testing.T, input []byte) {
		r := NewReader(bytes.NewReader(input))
		if frame, err := r.Hello(); err == nil && frame.Op != OpHello {
			t.Fatalf("took %q for a hello", frame.Op)
		}
		r = NewReader(bytes.NewReader(input))
		for {
			frame, err := r.Next()
			if err != nil {
				break
			}
			if frame.V != Major || frame.Op == "" || len(frame.Data) > MaxBlob || (frame.Blob == nil) != (frame.Data == nil) {
				t.Fatalf("an invalid frame came through: %+v", frame)
			}
		}
	})
}

// BenchmarkPipe is the throughput of full blobs through a pipe, as between pawl
// and a local worker.
func BenchmarkPipe(b *testing.B) {
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	Widen(w)
	data := make([]byte, MaxBlob)
	for i := range data {
		data[i] = byte(i * 7)
	}
	b.SetBytes(MaxBlob)
	done := make(chan error, 1)
	go func() {
		in := NewReader(r)
		for {
			if _, err := in.Next(); err != nil {
				done <- err
				return
			}
		}
	}()
	out := NewWriter(w)
	for b.Loop() {
		if err := out.Send(1, OpPut, Put{Total: MaxBlob}, data); err != nil {
			b.Fatal(err)
		}
	}
	w.Close()
	if err := <-done; !errors.Is(err, io.EOF) {
		b.Fatal(err)
	}
}
