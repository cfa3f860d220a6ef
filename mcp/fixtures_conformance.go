//go:build conformance

package mcp

// fixtures are the tools that the official conformance suite calls (see mcp/conformance).
func fixtures() []*tool {
	const (
		png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
		wav = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA=="
	)
	content := func(name, items string) *tool {
		return &tool{name: name, title: name, about: "A fixture of the conformance suite.", literal: `{"content":[` + items + `],"isError":false}`}
	}
	const image = `{"type":"image","data":"` + png + `","mimeType":"image/png"}`
	return []*tool{
		content("test_simple_text", `{"type":"text","text":"This is a simple text response for testing."}`),
		content("test_image_content", image),
		content("test_audio_content", `{"type":"audio","data":"`+wav+`","mimeType":"audio/wav"}`),
		content("test_embedded_resource",
			`{"type":"resource","resource":{"uri":"test://embedded-resource","mimeType":"text/plain","text":"This is an embedded resource content."}}`),
		content("test_multiple_content_types", `{"type":"text","text":"Multiple content types test:"},`+image+
			`,{"type":"resource","resource":{"uri":"test://mixed-content-resource","mimeType":"application/json","text":"{\"test\":\"data\",\"value\":123}"}}`),
		{
			name: "test_error_handling", title: "test_error_handling", about: "A fixture of the conformance suite.",
			literal: `{"content":[{"type":"text","text":"This tool intentionally returns an error for testing"}],"isError":true}`,
		},
		{
			name: "json_schema_2020_12_tool", title: "json_schema_2020_12_tool", about: "Tool with JSON Schema 2020-12 features",
			input: `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"address":{"type":"object",` +
				`"properties":{"street":{"type":"string"},"city":{"type":"string"}}}},"properties":{"name":{"type":"string"},` +
				`"address":{"$ref":"#/$defs/address"}},"additionalProperties":false}`,
			literal: `{"content":[{"type":"text","text":"ok"}],"isError":false}`,
		},
	}
}
