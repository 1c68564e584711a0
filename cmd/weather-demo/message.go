package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// message holds the fields of a JSON-RPC message that are shown.
type message struct {
	ID     any             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

type callParams struct {
	Name           string                    `json:"name"`
	Arguments      json.RawMessage           `json:"arguments"`
	InputResponses map[string]elicitResponse `json:"inputResponses"`
	RequestState   string                    `json:"requestState"`
}

type elicitResponse struct {
	Action  string         `json:"action"`
	Content map[string]any `json:"content"`
}

type callResult struct {
	Content       []struct{ Text string }  `json:"content"`
	IsError       bool                     `json:"isError"`
	InputRequests map[string]elicitRequest `json:"inputRequests"`
	RequestState  string                   `json:"requestState"`
}

type elicitRequest struct {
	Params elicitParams `json:"params"`
}

type elicitParams struct {
	Message         string `json:"message"`
	RequestedSchema form   `json:"requestedSchema"`
}

// form holds the choices in a question's schema.
type form struct {
	Properties map[string]struct {
		Enum []string `json:"enum"`
	} `json:"properties"`
}

func (r elicitResponse) String() string {
	if r.Action != "accept" {
		return r.Action
	}
	var parts []string
	for _, name := range sortedKeys(r.Content) {
		parts = append(parts, fmt.Sprintf("%s = %v", name, r.Content[name]))
	}
	return strings.Join(parts, ", ")
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
