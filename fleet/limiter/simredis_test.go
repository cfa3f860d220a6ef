package limiter

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
)

// simRedis runs the real scripts over a model of the commands that they use: all of what they need,
// and nothing else. Every write can be undone, as a fail-over undoes it.
type simRedis struct {
	t     testing.TB
	lua   *lua.LState
	fns   [scriptCount]*lua.LFunction
	clock func() int64 // Unix microseconds

	hashes map[string]map[string]string
	lists  map[string][]string
	undo   []func() // of the script that runs
}

// newSimRedis loads the scripts, each after change, which may plant a mistake.
func newSimRedis(t testing.TB, clock func() int64, change func(string) string) *simRedis {
	t.Helper()
	r := &simRedis{
		t: t, clock: clock, lua: lua.NewState(), hashes: map[string]map[string]string{}, lists: map[string][]string{},
	}
	table := r.lua.NewTable()
	r.lua.SetField(table, "call", r.lua.NewFunction(r.call))
	r.lua.SetGlobal("redis", table)

	for which, source := range sources() {
		source = strings.TrimPrefix(source, "#!lua")
		if change != nil {
			source = change(source)
		}
		fn, err := r.lua.LoadString(source)
		if err != nil {
			t.Fatalf("script %d: %v", which, err)
		}
		r.fns[which] = fn
	}
	return r
}

// luaText is a value as Redis takes it for an argument.
func luaText(v lua.LValue) string {
	if n, ok := v.(lua.LNumber); ok {
		return strconv.FormatFloat(float64(n), 'g', 17, 64)
	}
	return v.String()
}

func (r *simRedis) call(state *lua.LState) int {
	var words []string
	for i := 1; i <= state.GetTop(); i++ {
		words = append(words, luaText(state.Get(i)))
	}
	state.Push(r.command(words))
	return 1
}

// list makes a table of texts.
func (r *simRedis) list(items ...string) *lua.LTable {
	table := r.lua.NewTable()
	for _, item := range items {
		table.Append(lua.LString(item))
	}
	return table
}

func textOr(text string, there bool) lua.LValue {
	if !there {
		return lua.LFalse
	}
	return lua.LString(text)
}

// command does one command of Redis.
func (r *simRedis) command(words []string) lua.LValue {
	name := words[0]
	rest := words[1:]

	switch name {
	case "TIME":
		now := r.clock()
		return r.list(strconv.FormatInt(now/1e6, 10), strconv.FormatInt(now%1e6, 10))
	case "HMGET":
		table := r.lua.NewTable()
		for i, field := range rest[1:] {
			text, there := r.hashes[rest[0]][field]
			r.lua.RawSetInt(table, i+1, textOr(text, there))
		}
		return table
	case "HGETALL":
		h := r.hashes[rest[0]]
		var pairs []string
		for _, field := range slices.Sorted(maps.Keys(h)) {
			pairs = append(pairs, field, h[field])
		}
		return r.list(pairs...)
	case "HSET":
		for i := 1; i < len(rest); i += 2 {
			r.set(rest[0], rest[i], &rest[i+1])
		}
	case "HDEL":
		r.set(rest[0], rest[1], nil)
	case "DEL":
		for field := range maps.Clone(r.hashes[rest[0]]) {
			r.set(rest[0], field, nil)
		}
		r.setList(rest[0], nil)
	case "LINDEX":
		l := r.lists[rest[0]]
		i, err := strconv.Atoi(rest[1])
		if err != nil {
			r.t.Fatalf("LINDEX %v: %v", rest, err)
		}
		if i < 0 {
			i += len(l)
		}
		if i < 0 || i >= len(l) {
			return lua.LFalse
		}
		return lua.LString(l[i])
	case "LRANGE": // from the first
		l := r.lists[rest[0]]
		last, err := strconv.Atoi(rest[2])
		if err != nil || rest[1] != "0" {
			r.t.Fatalf("LRANGE %v: %v", rest, err)
		}
		return r.list(l[:min(last+1, len(l))]...)
	case "EXISTS":
		n := 0
		for _, key := range rest {
			if len(r.hashes[key])+len(r.lists[key]) > 0 {
				n++
			}
		}
		return lua.LNumber(n)
	case "LPOP":
		l := r.lists[rest[0]]
		n := 1
		if len(rest) > 1 {
			n, _ = strconv.Atoi(rest[1])
		}
		r.setList(rest[0], l[n:])
		return lua.LString(l[0])
	case "LLEN":
		return lua.LNumber(len(r.lists[rest[0]]))
	case "RPUSH":
		l := r.lists[rest[0]]
		r.setList(rest[0], append(slices.Clip(l), rest[1:]...))
	case "PEXPIRE": // what expires is gone by its time in every script
	default:
		r.t.Fatalf("the model knows no %s", name)
	}
	return lua.LNumber(1)
}

// set changes a field; nil takes it out.
func (r *simRedis) set(key, field string, value *string) {
	h := r.hashes[key]
	if h == nil {
		h = map[string]string{}
		r.hashes[key] = h
	}

	before, there := h[field]
	r.undo = append(r.undo, func() {
		delete(h, field)
		if there {
			h[field] = before
		}
	})
	delete(h, field)
	if value != nil {
		h[field] = *value
	}
}

func (r *simRedis) setList(key string, now []string) {
	before := r.lists[key]
	if len(before) == 0 && len(now) == 0 {
		return
	}
	r.undo = append(r.undo, func() { r.lists[key] = before })
	r.lists[key] = now
}

// eval runs a script. undo takes back what it wrote; nil = it wrote nothing.
func (r *simRedis) eval(c *command) (out scriptResult, undo func()) {
	r.undo = nil
	r.lua.SetGlobal("KEYS", r.list(c.keys...))
	r.lua.SetGlobal("ARGV", r.list(c.args...))
	if err := r.lua.CallByParam(lua.P{Fn: r.fns[c.script], NRet: 1, Protect: true}); err != nil {
		r.t.Fatalf("script %d %q: %v", c.script, c.args, err)
	}

	table, ok := r.lua.Get(-1).(*lua.LTable)
	if !ok {
		r.t.Fatalf("script %d answers no table", c.script)
	}
	r.lua.Pop(1)
	for i := 1; i <= table.Len(); i++ {
		switch v := table.RawGetInt(i).(type) {
		case lua.LNumber:
			out.ints = append(out.ints, int64(v))
		default:
			out.text = v.String()
			n, err := strconv.ParseInt(out.text, 10, 64)
			if err != nil {
				n = 0
			}
			out.ints = append(out.ints, n)
		}
	}
	steps := r.undo
	if len(steps) == 0 {
		return out, nil
	}
	return out, func() {
		for _, step := range slices.Backward(steps) {
			step()
		}
	}
}
