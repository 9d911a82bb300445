package store

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"
	"sync"
)

// listed are series that were read, by their numbers. Series never change, and none is removed.
type listed struct {
	mu sync.Mutex
	of map[int64]*Series
}

// Series lists the kernels and configs that the history has points of, in their order.
func (db *DB) Series(ctx context.Context, f Filter) ([]Series, error) {
	list, err := db.selectSeries(ctx, f)
	return list, db.explain("list the kernels", err)
}

// selectSeries lists those that a filter selects. Where it names a kernel, only that kernel's are read.
func (db *DB) selectSeries(ctx context.Context, f Filter) ([]Series, error) {
	var where conditions
	if names := plainNames(f.Kernel); names != nil {
		var ids []int64
		for _, name := range names {
			id, err := db.lookup(ctx, name)
			if err != nil {
				return nil, err
			}
			ids = append(ids, id)
		}
		where.add(`kernel IN ` + where.list(ids))
	}
	all, err := db.readSeries(ctx, where)
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(all, func(s Series) bool { return !f.matches(s) })
	slices.SortFunc(list, Series.Compare)
	return list, nil
}

// seriesOf returns series by their numbers.
func (db *DB) seriesOf(ctx context.Context, ids []int64) (map[int64]*Series, error) {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	made := make(map[int64]*Series, len(ids))
	var missing []int64
	db.listed.mu.Lock()
	for _, id := range ids {
		if s := db.listed.of[id]; s != nil {
			made[id] = s
		} else {
			missing = append(missing, id)
		}
	}
	db.listed.mu.Unlock()
	for chunk := range slices.Chunk(missing, mostNumbers) {
		var where conditions
		where.add(`id IN ` + where.list(chunk))
		found, err := db.readSeries(ctx, where)
		if err != nil {
			return nil, err
		}
		db.listed.mu.Lock()
		if db.listed.of == nil {
			db.listed.of = map[int64]*Series{}
		}
		for i := range found {
			made[found[i].id], db.listed.of[found[i].id] = &found[i], &found[i]
		}
		db.listed.mu.Unlock()
	}
	return made, nil
}

// readSeries reads the series of a condition.
func (db *DB) readSeries(ctx context.Context, where conditions) ([]Series, error) {
	rows, err := db.sql.QueryContext(ctx, db.query(`SELECT id, kernel, config, class FROM series `+where.text()), where.values...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found [][4]int64
	for rows.Next() {
		var ids [4]int64
		if err := rows.Scan(&ids[0], &ids[1], &ids[2], &ids[3]); err != nil {
			return nil, err
		}
		found = append(found, ids)
	}
	if err := cmp.Or(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	list := make([]Series, len(found))
	texts := make([]named, 0, 3*len(found))
	for i, ids := range found {
		s := &list[i]
		s.id = ids[0]
		texts = append(texts, named{ids[1], &s.Kernel}, named{ids[2], &s.Config}, named{ids[3], &s.Class})
	}
	return list, db.name(ctx, texts)
}

// plainNames returns the names that a pattern matches, if only such names: the pattern itself, and what it says
// without its backslashes. nil: it may match any name.
func plainNames(pattern string) []string {
	if pattern == "" {
		return nil
	}
	var meant strings.Builder
	escaped := false
	for _, c := range []byte(pattern) {
		switch {
		case escaped:
			escaped = false
		case c == '\\':
			escaped = true
			continue
		case c == '*' || c == '?' || c == '[':
			return nil
		}
		meant.WriteByte(c)
	}
	return []string{pattern, meant.String()}
}

func (f *Filter) matches(s Series) bool {
	for _, one := range [][2]string{{f.Kernel, s.Kernel}, {f.Config, s.Config}} {
		if is, err := path.Match(one[0], one[1]); one[0] != "" && bounded(one[0]) != one[1] && (err != nil || !is) {
			return false
		}
	}
	return f.Class == "" || bounded(f.Class) == s.Class
}
