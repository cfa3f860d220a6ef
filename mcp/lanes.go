package mcp

import "ninepocket/snapshot"

func variantOf(c *snapshot.Catalog, lane int) string {
	return c.Variants.At(int(c.Lanes.Variant[lane]))
}

func conditionOf(c *snapshot.Catalog, lane int) string {
	return snapshot.Condition(c.Lanes.Condition[lane]).Text()
}
