package engine

// fragments are the JSON of n records in one arena, made when a View is made.
type fragments struct {
	arena []byte
	ends  []uint64
}

// newFragments spells n records.
func newFragments(n int, spell func(dst []byte, i int) []byte) fragments {
	f := fragments{ends: make([]uint64, n)}
	// A sample tells how much room all records need; growing would copy the arena several times and leave a fifth of it
	// empty. It is taken from everywhere, because neighbours are alike: dear cards have more prices than cheap ones.
	var sample []byte
	for k := range min(n, sampleSize) {
		sample = spell(sample, k*n/min(n, sampleSize))
	}
	if n > 0 {
		mean := float64(len(sample)) / float64(min(n, sampleSize))
		f.arena = make([]byte, 0, int(mean*float64(n)*1.02)+len(sample)/16)
	}
	for i := range n {
		f.arena = spell(f.arena, i)
		f.ends[i] = uint64(len(f.arena))
	}
	if cap(f.arena)-len(f.arena) > len(f.arena)/16 {
		f.arena = append(make([]byte, 0, len(f.arena)), f.arena...)
	}
	return f
}

// sampleSize is how many records tell the size of the rest.
const sampleSize = 1024

// at returns the JSON of record i, which the caller must not change.
func (f *fragments) at(i int) []byte {
	var from uint64
	if i > 0 {
		from = f.ends[i-1]
	}
	return f.arena[from:f.ends[i]:f.ends[i]]
}

// size is how much memory the fragments take.
func (f *fragments) size() int64 { return int64(cap(f.arena) + 8*cap(f.ends)) }
