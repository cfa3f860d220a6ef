package index_test

import "testing"

func TestZZ(t *testing.T) {
	x := openReal(t, "t")
	r := blindRow{query: "블레키"}
	_ = r
	for _, q := range []string{"블레키", "블레키 vmax", "glurack", "Bisasamm", "rizadon", "ロ", "リ", "喷", "이", "Galar-Lavados"} {
		row := typed{query: q}
		rank, first := x.rank(&row)
		t.Log(q, rank, first)
	}
}
