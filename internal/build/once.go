package build

import "sync"

// onceMap keeps one value for each key, made when it is first asked for. Callers that ask at the same
// time wait for one making.
type onceMap[T any] struct{ values sync.Map }

func (m *onceMap[T]) get(key string, value func() T) T {
	made, _ := m.values.LoadOrStore(key, sync.OnceValue(value))
	return made.(func() T)()
}

// set replaces the value of a key.
func (m *onceMap[T]) set(key string, value T) { m.values.Store(key, func() T { return value }) }
