package render

import (
	"bytes"
	"encoding/csv"
	"fmt"

	"pawl/internal/report/view"
)

// CSV renders the records of a view.
func CSV(v view.View) ([]byte, error) {
	var buf bytes.Buffer
	if err := csv.NewWriter(&buf).WriteAll(v.Records); err != nil {
		return nil, fmt.Errorf("render CSV: %w", err)
	}
	return buf.Bytes(), nil
}
