package form

import (
	"encoding/json"
	"sync"
	"sync/atomic"
)

// maxKept bounds the memory of the forms that are kept, in bytes as [Form.weigh]
// estimates them.
const maxKept = 8 << 20

// kept are forms by the bytes of their schema, for reading one costs dozens of
// times as much as judging an answer. Forms with choices made at run time come
// without end, so that a full collection starts afresh.
var kept collection

type collection struct {
	sync.RWMutex
	bySchema   map[string]*Form
	byShort    map[string]*Form
	weight     int
	generation atomic.Uint64 // counts the fresh starts
}

// Keep keeps a form, for the answers to its question, and for the next question
// like it. It is for questions that have been sent: a schema that is too large to
// be sent never comes back, and would hold its memory for nothing.
func Keep(schema json.RawMessage, f *Form) {
	kept.keep(schema, f)
}

func (c *collection) find(schema json.RawMessage) *Form {
	c.RLock()
	defer c.RUnlock()
	return c.bySchema[string(schema)]
}

func (c *collection) keep(schema json.RawMessage, f *Form) {
	if in := f.keptIn.Load(); in != 0 && in == c.generation.Load() {
		return
	}
	weight := f.weigh(schema)
	if weight > maxKept || f.short.Load() == nil && c.find(schema) != nil {
		return
	}
	c.Lock()
	defer c.Unlock()
	first := c.bySchema[string(schema)]
	if first == nil {
		if c.bySchema == nil || c.weight+weight > maxKept {
			c.bySchema, c.byShort, c.weight = map[string]*Form{}, map[string]*Form{}, 0
			c.generation.Add(1)
		}
		first = f
		first.schema = schema
		c.bySchema[string(schema)] = first
		c.weight += weight
	}
	if s := f.short.Load(); s != nil {
		first.short.CompareAndSwap(nil, s)
		c.byShort[string(first.short.Load().text)] = first
		f.keptIn.Store(c.generation.Load())
	}
}

// weigh estimates the memory of a form by the size of its schema, and by how much of
// the schema the library has to judge, which needs far more.
func (f *Form) weigh(schema json.RawMessage) int {
	weight := 2<<10 + 8*len(schema)
	for _, p := range f.properties {
		if p.rest != nil {
			weight += 4 << 10
		}
	}
	if f.whole != nil {
		weight += 96 * len(schema)
	}
	return weight
}
