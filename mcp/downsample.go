package mcp

import (
	"slices"

	"ninepocket/snapshot"
)

// thin keeps at most n of a series' points: the largest triangles of three buckets (Steinarsson 2013), with the lowest
// and the highest point forced in, which that method alone loses in about one series of six. With room for fewer than
// four, the extremes are left to chance. The points ascend by day; the result reuses their memory.
func thin(points []snapshot.Point, n int) []snapshot.Point {
	if len(points) <= n {
		return points
	}
	if n < 2 {
		return points[len(points)-max(n, 0):]
	}
	if n < 4 {
		return keep(points, largestTriangles(points, n))
	}
	low, high := extremes(points)
	chosen := largestTriangles(points, n-2)
	return keep(points, insert(insert(chosen, low), high))
}

// extremes finds the first lowest and the first highest point.
func extremes(points []snapshot.Point) (low, high int) {
	for i, p := range points {
		if p.Cents < points[low].Cents {
			low = i
		}
		if p.Cents > points[high].Cents {
			high = i
		}
	}
	return low, high
}

// largestTriangles picks n points by number, ascending: the first, the last, and from each of n-2 equal buckets between
// them the one that spans the largest triangle with the point picked before and the mean of the next bucket.
func largestTriangles(points []snapshot.Point, n int) []int {
	last := len(points) - 1
	chosen := make([]int, 1, n+2)
	buckets := n - 2
	edge := func(k int) int { return 1 + k*(last-1)/buckets }
	for k := range buckets {
		from, to := edge(k), edge(k+1)
		next := edge(k + 2)
		if k == buckets-1 {
			next = last + 1
		}
		var day, cents float64
		for _, p := range points[to:next] {
			day += float64(p.Day)
			cents += float64(p.Cents)
		}
		day /= float64(next - to)
		cents /= float64(next - to)
		a := points[chosen[len(chosen)-1]]
		best, area := from, -1.0
		for i := from; i < to; i++ {
			p := points[i]
			span := (float64(a.Day)-day)*float64(p.Cents-a.Cents) - float64(a.Day-p.Day)*(cents-float64(a.Cents))
			if span = max(span, -span); span > area {
				best, area = i, span
			}
		}
		chosen = append(chosen, best)
	}
	return append(chosen, last)
}

// insert adds a number to an ascending list that may have it.
func insert(list []int, v int) []int {
	i, has := slices.BinarySearch(list, v)
	if has {
		return list
	}
	return slices.Insert(list, i, v)
}

func keep(points []snapshot.Point, chosen []int) []snapshot.Point {
	for k, i := range chosen {
		points[k] = points[i]
	}
	return points[:len(chosen)]
}

// share divides room for points among series of the given lengths: short ones keep all they have, the others divide
// the rest evenly, the first ones taking what does not divide.
func share(lengths []int, room int) []int {
	shares := make([]int, len(lengths))
	for given := true; given; {
		given = false
		for i, n := range lengths {
			if room > 0 && shares[i] < n {
				shares[i]++
				room--
				given = true
			}
		}
	}
	return shares
}
