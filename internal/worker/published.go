package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// publishedMost is the number of files that a worker keeps for its parent: those of a few profiles,
// of which each has three. The parent fetches them at once.
const publishedMost = 12

// profiles returns the folder of reports, and of other files for the parent. No cell may read it.
func (s *store) profiles() string { return filepath.Join(s.dir, "profiles") }

// publish keeps bytes for the parent, which gets them in parts. The oldest are forgotten.
func (s *store) publish(data []byte) (*wire.File, error) {
	sum := sha256.Sum256(data)
	file := &wire.File{SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(data))}
	if err := os.WriteFile(filepath.Join(s.profiles(), file.SHA256), data, 0o600); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.published = append(slices.DeleteFunc(s.published, func(sha string) bool { return sha == file.SHA256 }), file.SHA256)
	for len(s.published) > publishedMost {
		_ = os.Remove(filepath.Join(s.profiles(), s.published[0]))
		s.published = s.published[1:]
	}
	return file, nil
}

// get returns a part of a file that was published.
func (s *store) get(m wire.Get) (*wire.GetReply, []byte, error) {
	s.mu.Lock()
	there := slices.Contains(s.published, m.SHA256)
	s.mu.Unlock()
	if !there {
		return nil, nil, result.Faultf(result.CauseProtocol, "the worker does not keep the file %.64q", m.SHA256)
	}
	file, err := os.Open(filepath.Join(s.profiles(), m.SHA256))
	if err != nil {
		return nil, nil, fmt.Errorf("read a file for the parent: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, fmt.Errorf("read a file for the parent: %w", err)
	}
	if m.Offset < 0 || m.Offset > info.Size() {
		return nil, nil, wire.Errorf("malformed", "offset %d of a file of %d bytes", m.Offset, info.Size())
	}
	part := make([]byte, min(wire.MaxBlob, info.Size()-m.Offset))
	if _, err := io.ReadFull(io.NewSectionReader(file, m.Offset, int64(len(part))), part); err != nil {
		return nil, nil, fmt.Errorf("read a file for the parent: %w", err)
	}
	return &wire.GetReply{Total: info.Size()}, part, nil
}

// Fetch returns the content of a file that the worker keeps. A file larger than most bytes is an error. A
// nil file has no content.
func (c *Client) Fetch(ctx context.Context, file *wire.File, most int64) ([]byte, error) {
	if file == nil {
		return nil, nil
	}
	if file.Bytes < 0 || file.Bytes > most {
		return nil, result.Faultf(result.CauseProtocol, "the worker announces a file of %d bytes; the most are %d", file.Bytes, most)
	}
	data := make([]byte, 0, file.Bytes)
	for int64(len(data)) < file.Bytes {
		var reply wire.GetReply
		frame, err := c.call(ctx, wire.OpGet, wire.Get{SHA256: file.SHA256, Offset: int64(len(data))}, nil, defaultDeadline, &reply)
		if err != nil {
			return nil, err
		}
		if len(frame.Data) == 0 || int64(len(data)+len(frame.Data)) > file.Bytes {
			return nil, result.Faultf(result.CauseProtocol, "the worker sends a file in impossible parts")
		}
		data = append(data, frame.Data...)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != file.SHA256 {
		return nil, result.Faultf(result.CauseProtocol, "a file of the worker does not have the hash that it was announced with")
	}
	return data, nil
}
