package mcp

import (
	"math"
	"slices"

	"ninepocket/snapshot"
)

// thin keeps at most n of a series' points: the largest triangles of three buckets (Steinarsson
// 2013), with the lowest and the highest point forced in, which that method alone loses in about
// one series of six. With room for fewer than four, the extremes are left to chance. The points
// ascend by day; the result reuses their memory.
func thin(points []snapshot.Point, n int) []snapshot.Point {
	switch {
	case len(points) <= n:
		return points
	case n < 2:
		return points[len(points)-max(n, 0):]
	case n < 4:
		return keep(points, largestTriangles(points, n))
	}

	// The extremes take the room of two buckets, unless they were chosen anyway.
	low, high := extremes(points)
	chosen := append(largestTriangles(points, n-2), low, high)
	slices.Sort(chosen)
	return keep(points, slices.Compact(chosen))
}

// extremes finds the first lowest and the first highest point.
func extremes(points []snapshot.Point) (low, high int) {
	for i, point := range points {
		if point.Cents < points[low].Cents {
			low = i
		}
		if point.Cents > points[high].Cents {
			high = i
		}
	}
	return low, high
}

// largestTriangles picks n points by number, ascending: the first, the last, and from each of n-2
// equal buckets between them the one that spans the largest triangle with the point picked before
// and the mean of the next bucket.
func largestTriangles(points []snapshot.Point, n int) []int {
	last := len(points) - 1
	buckets := n - 2
	edge := func(k int) int { return 1 + k*(last-1)/buckets }
	chosen := make([]int, 1, n+2)

	for k := range buckets {
		next := points[edge(k+1):]
		if k < buckets-1 {
			next = points[edge(k+1):edge(k+2)]
		}
		var day, cents float64 // the mean of the next bucket
		for _, point := range next {
			day += float64(point.Day)
			cents += float64(point.Cents)
		}
		day /= float64(len(next))
		cents /= float64(len(next))

		// Twice the area of the triangle.
		before := points[chosen[len(chosen)-1]]
		best := edge(k)
		largest := -1.0
		for i := best; i < edge(k+1); i++ {
			point := points[i]
			area := math.Abs((float64(before.Day)-day)*float64(point.Cents-before.Cents) -
				float64(before.Day-point.Day)*(cents-float64(before.Cents)))
			if area > largest {
				best = i
				largest = area
			}
		}
		chosen = append(chosen, best)
	}
	return append(chosen, last)
}

func keep(points []snapshot.Point, chosen []int) []snapshot.Point {
	for k, i := range chosen {
		points[k] = points[i]
	}
	return points[:len(chosen)]
}

// share divides room for points among series of the given lengths: short ones keep all they have,
// the others divide the rest evenly, the first ones taking what does not divide.
func share(lengths []int, room int) []int {
	shares := make([]int, len(lengths))
	// A point each in turn: at most 60 rounds, so that nothing cleverer is worth its lines.
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
