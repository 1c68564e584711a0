// Package interop has MCP clients of other projects call the weather tool. Its tests build cmd/weather-demo, put a wiretap in front of it, and
// drive it with released clients: every style, in every era and over every
// transport that a client speaks. README.md says how a client joins.
package interop
