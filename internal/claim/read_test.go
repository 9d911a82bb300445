package claim

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// packed writes a zip of names and contents.
func packed(t *testing.T, entries ...entry) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "artifact.zip")
	if err := os.WriteFile(file, packedBytes(t, entries...), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

type entry struct {
	name, text string
	mode       fs.FileMode
	flags      uint16
	method     uint16
}

func packedBytes(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var buffer bytes.Buffer
	w := zip.NewWriter(&buffer)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Flags: e.flags}
		if e.mode != 0 {
			header.SetMode(e.mode)
		}
		if e.method != 0 {
			raw, err := w.CreateRaw(&zip.FileHeader{Name: e.name, Method: e.method})
			if err == nil {
				_, err = raw.Write([]byte(e.text))
			}
			if err != nil {
				t.Fatal(err)
			}
			continue
		}
		part, err := w.CreateHeader(header)
		if err == nil {
			_, err = part.Write([]byte(e.text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

func TestReadTakesWhatItIsAskedFor(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"report.json": "{}", "plot.svg": "<svg/>", "other": "x"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	archive := packed(t, entry{name: "pages/", mode: fs.ModeDir | 0o755}, entry{name: "report.json", text: "{}"}, entry{name: "plot.svg", text: "<svg/>"}, entry{name: "pages/other", text: "x"})
	inside := packed(t, entry{name: "report.json.txt", text: "x"}, entry{name: "plot.svg", text: "another"}, entry{name: "pawl-report/", mode: fs.ModeDir | 0o755}, entry{name: "pawl-report/report.json", text: "{}"}, entry{name: "pawl-report/plot.svg", text: "<svg/>"})
	beside := packed(t, entry{name: "old/report.json", text: "x"}, entry{name: "older/report.json", text: "x"}, entry{name: "report.json", text: "{}"}, entry{name: "plot.svg", text: "<svg/>"})
	for _, path := range []string{folder, archive, inside, beside} {
		got, err := Read(path, DefaultLimits(), "plot.svg", "absent")
		if err != nil {
			t.Fatal(err)
		}
		if string(got.Report) != "{}" || len(got.Attachments) != 1 || string(got.Attachments["plot.svg"]) != "<svg/>" {
			t.Errorf("%s: %q, %v", path, got.Report, got.Attachments)
		}
	}
	if got, err := Read(filepath.Join(folder, "report.json"), DefaultLimits()); err != nil || string(got.Report) != "{}" {
		t.Errorf("%v: %v", got, err)
	}
}

func TestReadRefusesZips(t *testing.T) {
	report := entry{name: "report.json", text: "{}"}
	many := []entry{report}
	for i := range DefaultLimits().Entries {
		many = append(many, entry{name: fmt.Sprint(i)})
	}
	for name, test := range map[string]struct {
		entries []entry
		want    string
	}{
		"leaves its folder": {[]entry{report, {name: "../../etc/cron.d/x", text: "x"}}, "leaves the folder"},
		"inside a path":     {[]entry{report, {name: "a/../../x"}}, "leaves the folder"},
		"absolute":          {[]entry{report, {name: "/etc/passwd"}}, "leaves the folder"},
		"empty part":        {[]entry{report, {name: "a//b"}}, "leaves the folder"},
		"backslash":         {[]entry{report, {name: `..\x`}}, `the name has a \`},
		"drive":             {[]entry{report, {name: "C:x"}}, "colon"},
		"control character": {[]entry{report, {name: "a\x1b[31mb"}}, "not printed"},
		"right to left":     {[]entry{report, {name: "a\u202egnp.exe"}}, "not printed"},
		"not UTF-8":         {[]entry{report, {name: "a\xff"}}, "not printed"},
		"link":              {[]entry{report, {name: "x", text: "/etc/passwd", mode: fs.ModeSymlink | 0o777}}, "a link"},
		"the report a link": {[]entry{{name: "report.json", text: "/etc/passwd", mode: fs.ModeSymlink | 0o777}}, "a link"},
		"device":            {[]entry{report, {name: "x", mode: fs.ModeDevice | 0o666}}, "a special file"},
		"twice":             {[]entry{report, report}, "twice"},
		"twice, by case":    {[]entry{report, {name: "Report.JSON", text: "{}"}}, "twice"},
		"long name":         {[]entry{report, {name: strings.Repeat("x", 300)}}, "300 bytes"},
		"encrypted":         {[]entry{report, {name: "x", flags: 1}}, "encrypted"},
		"odd packing":       {[]entry{report, {name: "x", text: "x", method: 99}}, "method 99"},
		"many":              {many, "at most 4096"},
		"no report":         {[]entry{{name: "sub/a-report.json", text: "{}"}}, "the zip has no report.json"},
		"two reports":       {[]entry{{name: "a/report.json", text: "{}"}, {name: "b/report.json", text: "{}"}}, "a report.json in 2 folders: unpack it"},
		"bomb":              {[]entry{{name: "report.json", text: strings.Repeat(" ", 64<<20)}}, "200 for each packed one"},
	} {
		t.Run(name, func(t *testing.T) {
			file := packed(t, test.entries...)
			_, err := Read(file, DefaultLimits())
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), file) {
				t.Errorf("got %v, want %s", err, test.want)
			}
			if err != nil && strings.ContainsFunc(err.Error(), hostile) {
				t.Errorf("the message is not harmless: %q", err)
			}
		})
	}
}

// The sizes and counts that a zip states may be lies.
func TestReadDoesNotBelieveTheZip(t *testing.T) {
	read := func(change func(raw []byte) []byte, entries ...entry) error {
		file := filepath.Join(t.TempDir(), "a.zip")
		if err := os.WriteFile(file, change(packedBytes(t, entries...)), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Read(file, DefaultLimits())
		return err
	}
	bomb := entry{name: "report.json", text: strings.Repeat(" ", 64<<20)}
	small := func(raw []byte) []byte { // the list says that the bomb has 10 bytes
		at := bytes.LastIndex(raw, []byte("PK\x01\x02"))
		binary.LittleEndian.PutUint32(raw[at+24:], 10)
		return raw
	}
	if err := read(small, bomb); err == nil {
		t.Error("a bomb with a small size was read")
	}
	var many []entry
	for i := range 60_000 {
		many = append(many, entry{name: fmt.Sprint(i)})
	}
	few := func(raw []byte) []byte { // the end says that there are 4
		at := bytes.LastIndex(raw, []byte("PK\x05\x06"))
		binary.LittleEndian.PutUint16(raw[at+8:], 4)
		binary.LittleEndian.PutUint16(raw[at+10:], 4)
		return raw
	}
	if err := read(few, many...); err == nil || !strings.Contains(err.Error(), "the zip lists 4 files in") {
		t.Errorf("a list that is longer than it says: %v", err)
	}
	moved := func(raw []byte) []byte {
		at := bytes.LastIndex(raw, []byte("PK\x05\x06"))
		return slices.Insert(raw, at, make([]byte, 100)...)
	}
	if err := read(moved, entry{name: "report.json", text: "{}"}); err == nil || !strings.Contains(err.Error(), "not at its end") {
		t.Errorf("a list that is elsewhere: %v", err)
	}
	if err := read(func(raw []byte) []byte { return raw[:len(raw)-30] }, entry{name: "report.json", text: "{}"}); err == nil {
		t.Error("half a zip was read")
	}
	limits := DefaultLimits()
	limits.Archive = 100
	if _, err := Read(packed(t, entry{name: "report.json", text: strings.Repeat("{}", 100)}), limits); err == nil || !strings.Contains(err.Error(), "at most 100 B") {
		t.Errorf("a long zip: %v", err)
	}
}

func TestReadRefusesFolders(t *testing.T) {
	for name, test := range map[string]struct {
		make func(dir string) error
		want string
	}{
		"link":      {func(dir string) error { return os.Symlink("/etc/passwd", filepath.Join(dir, "report.json")) }, "a link"},
		"folder":    {func(dir string) error { return os.Mkdir(filepath.Join(dir, "report.json"), 0o755) }, "a folder"},
		"no report": {func(string) error { return nil }, "no report.json"},
		"case":      {func(dir string) error { return os.WriteFile(filepath.Join(dir, "REPORT.json"), nil, 0o600) }, "by case only"},
		"too long": {func(dir string) error {
			file, err := os.Create(filepath.Join(dir, "report.json"))
			if err != nil {
				return err
			}
			defer file.Close()
			return file.Truncate(DefaultLimits().File + 1)
		}, "longer than 128 MiB"},
		"many files": {func(dir string) error {
			for i := range 20 {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600); err != nil {
					return err
				}
			}
			return os.WriteFile(filepath.Join(dir, "report.json"), []byte("{}"), 0o600)
		}, "the folder has more than 20 files"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := test.make(dir); err != nil {
				t.Fatal(err)
			}
			limits := DefaultLimits()
			limits.Entries = 20
			if _, err := Read(dir, limits); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
	if _, err := Read("/dev/zero", DefaultLimits()); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a device: %v", err)
	}
}

func FuzzReadZip(f *testing.F) {
	f.Add(packedBytes(f, entry{name: "report.json", text: "{}"}, entry{name: "a/b", text: "x"}))
	f.Add(packedBytes(f, entry{name: "../x"}, entry{name: "report.json", text: strings.Repeat(" ", 10_000)}))
	limits := DefaultLimits()
	limits.File, limits.Archive, limits.Entries = 1<<16, 1<<16, 16
	f.Fuzz(func(t *testing.T, raw []byte) {
		file := filepath.Join(t.TempDir(), "a.zip")
		if err := os.WriteFile(file, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Read(file, limits, "a/b")
		if err != nil {
			if strings.ContainsFunc(strings.ReplaceAll(err.Error(), file, ""), hostile) {
				t.Fatalf("the message is not harmless: %q", err)
			}
			return
		}
		if got.Report == nil || int64(len(got.Report)) > limits.File+ratioLeast {
			t.Fatalf("%d bytes were read", len(got.Report))
		}
	})
}
