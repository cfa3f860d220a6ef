package mcp

import (
	"math"
	"slices"

	"ninepocket/snapshot"
)

// downsample keeps at most n points of a series. It uses largest-triangle-three-buckets
// (Steinarsson 2013). That method alone loses the lowest or the highest point in about one series
// of six, so thin always keeps those two when n is at least four. The points ascend by day. The
// result reuses their memory.
func downsample(points []snapshot.Point, n int) []snapshot.Point {
	switch {
	case len(points) <= n:
		return points
	case n < 2:
		return points[len(points)-max(n, 0):]
	case n < 4:
		return choose(points, largestTriangles(points, n))
	}

	// The two extremes take the room of two buckets. Compact drops one that was chosen anyway.
	low, high := extremes(points)
	chosen := append(largestTriangles(points, n-2), low, high)
	slices.Sort(chosen)
	return choose(points, slices.Compact(chosen))
}

// extremes finds the lowest and the highest point. Of several it takes the first (decision 80).
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

// largestTriangles picks n points and returns their numbers, ascending. It picks the first and the
// last point. The points between them go into n-2 equal buckets, and it picks one point of each:
// the one that makes the largest triangle with the point picked before it and the mean of the next
// bucket.
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

		// The areas are compared as twice their size.
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

// choose moves the chosen points to the front and returns them. chosen ascends.
func choose(points []snapshot.Point, chosen []int) []snapshot.Point {
	for k, i := range chosen {
		points[k] = points[i]
	}
	return points[:len(chosen)]
}

// divideBudget divides room for points among series of the given lengths. A short series keeps all
// its points. The others divide the rest evenly, and the first of them take what is left over.
func divideBudget(lengths []int, room int) []int {
	shares := make([]int, len(lengths))

	// Each series takes a point in turn. There are at most 60 rounds: a division would take more
	// code.
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
