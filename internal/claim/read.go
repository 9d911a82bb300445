package claim

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"pawl/internal/diag"
	"pawl/internal/pattern"
	"pawl/internal/unit"
)

// ReportName is the name of the report in a folder or a zip.
const ReportName = "report.json"

// Limits bound what is read of an artifact.
type Limits struct {
	Archive int64 // bytes of a zip
	File    int64 // bytes of a file, unpacked
	Entries int   // files of a zip or a folder
	Ratio   int64 // bytes of a file for each byte in the zip
	Name    int   // bytes of a file's name

	Depth  int // of nested lists and objects
	Text   int // bytes of a string
	Number int // characters of a number
	List   int // values of a list
	Rows   int
	Values int // of the whole report
	Memory int // bytes that the report takes once it is decoded, by the sizes of its types
}

// DefaultLimits are more than any honest report needs: 2,000 rows with all of their samples are
// less than half of it.
func DefaultLimits() Limits {
	return Limits{
		Archive: 64 << 20, File: 128 << 20, Entries: 4096, Ratio: 200, Name: 255,
		Depth: 24, Text: 1 << 20, Number: 40, List: 1 << 20, Rows: 4096, Values: 16 << 20, Memory: 512 << 20,
	}
}

// Artifact holds the files that were read.
type Artifact struct {
	Report      []byte
	Attachments map[string][]byte // by name; only those that were asked for
}

// Read opens a report: the file itself, or the folder or zip that it lies in. It opens the report and
// the named attachments, and no other file. Nothing is unpacked to the disk.
func Read(file string, limits Limits, attachments ...string) (*Artifact, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	if info.IsDir() {
		return readFolder(file, limits, attachments)
	}
	if !info.Mode().IsRegular() {
		return nil, refuse(file, "", "it is not a regular file, a folder or a zip")
	}
	opened, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	defer opened.Close()
	head := make([]byte, 4)
	if n, _ := opened.ReadAt(head, 0); bytes.Equal(head[:n], []byte("PK\x03\x04")) || bytes.Equal(head[:n], []byte("PK\x05\x06")) {
		return readZip(opened, file, info.Size(), limits, attachments)
	}
	raw, err := upTo(opened, file, limits.File)
	if err != nil {
		return nil, err
	}
	return &Artifact{Report: raw}, nil
}

// Commits are what a report says that it is about.
type Commits struct {
	Head string
	Base string // "": the report compares with no earlier commit
}

// Subject returns the commits that a report says it is about. They are a claim like all of it.
func Subject(file string) (*Commits, error) {
	limits := DefaultLimits()
	artifact, err := Read(file, limits)
	if err != nil {
		return nil, err
	}
	r, err := decode(file, artifact.Report, limits)
	switch {
	case err != nil:
		return nil, err
	case r.Commit == nil || !fullSHA.MatchString(r.Commit.SHA):
		return nil, refuse(file, "commit", "the report names no commit")
	case r.Base == nil:
		return &Commits{Head: r.Commit.SHA}, nil
	case !fullSHA.MatchString(r.Base.SHA):
		return nil, refuse(file, "base", "the report names no base")
	}
	return &Commits{r.Commit.SHA, r.Base.SHA}, nil
}

var fullSHA = pattern.New(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// refuse makes the error of an artifact that is not read any further.
func refuse(file, place, format string, args ...any) error {
	message := fmt.Sprintf(format, args...)
	if place != "" {
		message = place + ": " + message
	}
	message = strings.Map(func(r rune) rune {
		if hostile(r) {
			return '?'
		}
		return r
	}, message)
	return &diag.Problem{Pos: diag.Pos{File: file}, Message: message, Hint: "this artifact is not used; a job that runs pawl check writes one that is"}
}

// upTo reads a file that must not be longer than most.
func upTo(from io.Reader, file string, most int64) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(from, most+1))
	if err != nil {
		return nil, refuse(file, "", "%v", err)
	}
	if int64(len(raw)) > most {
		return nil, refuse(file, "", "it is longer than %s", unit.Bytes(most))
	}
	return raw, nil
}

// wants reports whether a file is to be opened.
func wants(name string, attachments []string) bool {
	return name == ReportName || slices.Contains(attachments, name)
}

// keep adds a file's content.
func (a *Artifact) keep(name string, raw []byte) {
	if name == ReportName {
		a.Report = raw
		return
	}
	if a.Attachments == nil {
		a.Attachments = map[string][]byte{}
	}
	a.Attachments[name] = raw
}

// readFolder reads the files of a folder, without its subfolders. Links are not followed.
func readFolder(folder string, limits Limits, attachments []string) (*Artifact, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	defer root.Close()
	listed, err := root.Open(".")
	if err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	defer listed.Close()
	entries, err := listed.ReadDir(limits.Entries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	if len(entries) > limits.Entries {
		return nil, refuse(folder, "", "the folder has more than %d files", limits.Entries)
	}
	found := &Artifact{}
	for _, entry := range entries {
		name := entry.Name()
		if strings.EqualFold(name, ReportName) && name != ReportName {
			return nil, refuse(folder, "", "the file %s differs from %s by case only", shown(name), ReportName)
		}
		if !wants(name, attachments) {
			continue
		}
		place := filepath.Join(folder, name)
		if !entry.Type().IsRegular() {
			return nil, refuse(place, "", "expected a regular file, found %s", kindOf(entry.Type()))
		}
		raw, err := readIn(root, name, place, limits.File)
		if err != nil {
			return nil, err
		}
		found.keep(name, raw)
	}
	if found.Report == nil {
		return nil, refuse(folder, "", "the folder has no %s", ReportName)
	}
	return found, nil
}

func readIn(root *os.Root, name, place string, most int64) ([]byte, error) {
	opened, err := root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	defer opened.Close()
	return upTo(opened, place, most)
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "a link"
	case mode.IsDir():
		return "a folder"
	}
	return "a special file"
}

// readZip reads the files of a zip. Every name in it must be harmless, also of files that nobody
// opens: whoever writes one bad name is not believed about the rest.
func readZip(opened *os.File, file string, size int64, limits Limits, attachments []string) (*Artifact, error) {
	if size > limits.Archive {
		return nil, refuse(file, "", "the zip has %s; at most %s are read", unit.Bytes(size), unit.Bytes(limits.Archive))
	}
	if err := checkDirectory(opened, size, limits); err != nil {
		return nil, refuse(file, "", "%v", err)
	}
	archive, err := zip.NewReader(opened, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, refuse(file, "", "%v", err)
	}
	seen := map[string]bool{}
	for i, entry := range archive.File {
		if err := checkEntry(entry, limits); err != nil {
			return nil, refuse(file, fmt.Sprintf("entry %d, %s", i, shown(entry.Name)), "%v", err)
		}
		folded := strings.ToLower(strings.TrimSuffix(entry.Name, "/"))
		if seen[folded] {
			return nil, refuse(file, fmt.Sprintf("entry %d, %s", i, shown(entry.Name)), "this name is there twice, apart from case")
		}
		seen[folded] = true
	}
	folder, err := folderOf(archive.File)
	if err != nil {
		return nil, refuse(file, "", "%v", err)
	}
	found := &Artifact{}
	for _, entry := range archive.File {
		name, inside := strings.CutPrefix(entry.Name, folder)
		if !inside || !wants(name, attachments) {
			continue
		}
		raw, err := unpack(entry, file, limits)
		if err != nil {
			return nil, err
		}
		found.keep(name, raw)
	}
	return found, nil
}

// folderOf returns the folder of a zip that the report lies in, with a slash at its end: "" at the top, as GitHub packs
// it, or the only one that has a report, as GitLab and Jenkins keep it.
func folderOf(files []*zip.File) (string, error) {
	folders := []string{}
	for _, entry := range files {
		if folder, name := path.Split(entry.Name); name == ReportName {
			folders = append(folders, folder)
		}
	}
	switch {
	case len(folders) == 1 || slices.Contains(folders, ""):
		return slices.Min(folders), nil
	case len(folders) == 0:
		return "", fmt.Errorf("the zip has no %s", ReportName)
	}
	return "", fmt.Errorf("the zip has a %s in %d folders: unpack it, and name one of them", ReportName, len(folders))
}

const (
	endLength    = 22 // of the record at the end of a zip
	endMost      = endLength + 1<<16
	headerLength = 46     // the least that a zip says of an entry
	headerMost   = 1 << 9 // with a name as long as any that is allowed
)

// checkDirectory bounds how many entries the list of a zip can have, before anybody makes a list of
// them.
func checkDirectory(file io.ReaderAt, size int64, limits Limits) error {
	tail := make([]byte, min(size, endMost))
	if _, err := file.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	at := bytes.LastIndex(tail, []byte("PK\x05\x06"))
	if at < 0 || at+endLength > len(tail) {
		return errors.New("it is not a complete zip")
	}
	end := tail[at:]
	count, length, offset := int(binary.LittleEndian.Uint16(end[10:])), int64(binary.LittleEndian.Uint32(end[12:])), int64(binary.LittleEndian.Uint32(end[16:]))
	switch {
	case count > limits.Entries:
		return fmt.Errorf("the zip has %d files; at most %d are read", count, limits.Entries)
	case length > int64(limits.Entries)*headerMost || length < int64(count)*headerLength:
		return fmt.Errorf("the zip lists %d files in %s", count, unit.Bytes(length))
	case offset+length != size-int64(len(tail))+int64(at):
		return errors.New("the zip's list of files is not at its end")
	}
	return nil
}

// checkEntry refuses entries that nobody needs and that could do harm when unpacked.
func checkEntry(entry *zip.File, limits Limits) error {
	name, mode := entry.Name, entry.Mode()
	if mode.IsDir() {
		name = strings.TrimSuffix(name, "/")
	}
	switch {
	case len(name) > limits.Name:
		return fmt.Errorf("the name has %d bytes; at most %d are allowed", len(name), limits.Name)
	case strings.ContainsRune(name, '\\'):
		return errors.New(`the name has a \`)
	case strings.ContainsFunc(name, hostile) || !utf8.ValidString(name):
		return errors.New("the name has characters that are not printed")
	case strings.Contains(name, ":"):
		return errors.New("the name has a colon")
	case !fs.ValidPath(name) || path.Clean(name) != name || name == ".":
		return errors.New("the name leaves the folder")
	case !mode.IsRegular() && !mode.IsDir():
		return fmt.Errorf("it is %s", kindOf(mode))
	case entry.Flags&1 != 0:
		return errors.New("it is encrypted")
	case entry.Method != zip.Store && entry.Method != zip.Deflate:
		return fmt.Errorf("it is packed by method %d; expected 0 (stored) or 8 (deflate)", entry.Method)
	}
	return nil
}

// ratioLeast is the size below which any ratio is harmless.
const ratioLeast = 1 << 20

// unpack reads one entry. The sizes that the zip states are not believed: what comes out is counted.
func unpack(entry *zip.File, file string, limits Limits) ([]byte, error) {
	place := file + ": " + shown(entry.Name)
	most := limits.File
	if packed := int64(min(entry.CompressedSize64, uint64(limits.Archive))); packed*limits.Ratio < most {
		most = max(ratioLeast, packed*limits.Ratio)
	}
	if entry.UncompressedSize64 > uint64(most) {
		return nil, refuse(place, "", "it has %d bytes, packed to %d; at most %s, and %d for each packed one, are read",
			entry.UncompressedSize64, entry.CompressedSize64, unit.Bytes(limits.File), limits.Ratio)
	}
	content, err := entry.Open()
	if err != nil {
		return nil, refuse(place, "", "%v", err)
	}
	defer content.Close()
	return upTo(content, place, most)
}

// hostile reports whether a character may change how a terminal or a page shows its neighbours.
func hostile(r rune) bool {
	return !unicode.IsPrint(r) && r != ' ' || unicode.Is(unicode.Bidi_Control, r) || r == utf8.RuneError
}

// shown returns text from outside so that a terminal shows it and does not obey it, and not too much
// of it.
func shown(text string) string {
	const most = 80
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return fmt.Sprintf("%+q", text)
}
