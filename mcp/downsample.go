package mcp

import (
	"math"
	"slices"

	"ninepocket/snapshot"
)

// downsample returns at most n points of a series. It uses largest-triangle-three-buckets
// (Steinarsson 2013). That method alone drops the lowest or the highest point of about one series
// in six, so downsample adds these two if n is at least four. The points ascend by day. The result
// reuses their memory.
func downsample(points []snapshot.Point, n int) []snapshot.Point {
	switch {
	case len(points) <= n:
		return points
	case n < 2:
		return points[len(points)-max(n, 0):]
	case n < 4:
		return choose(points, largestTriangles(points, n))
	}

	// The two extremes replace two buckets. Compact removes one that was chosen anyway.
	low, high := extremes(points)
	chosen := append(largestTriangles(points, n-2), low, high)
	slices.Sort(chosen)
	return choose(points, slices.Compact(chosen))
}

// extremes returns the indexes of the lowest and the highest point, the first of several equal ones
// (decision 80).
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

// largestTriangles picks n points and returns their indexes, ascending. It picks the first and the
// last point. The points between them are divided into n-2 equal buckets. From each bucket it picks
// the point that makes the largest triangle with the previously picked point and the mean of the
// next bucket.
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

// divideBudget divides a number of points among series of the given lengths. A short series gets
// all its points. The others get equal parts, and the first the remainder.
func divideBudget(lengths []int, budget int) []int {
	shares := make([]int, len(lengths))

	// Each series gets one point per round. There are at most 60 rounds: a division would take more
	// code.
	for given := true; given; {
		given = false
		for i, n := range lengths {
			if budget > 0 && shares[i] < n {
				shares[i]++
				budget--
				given = true
			}
		}
	}
	return shares
}
