package message

import (
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Ambiguous returns the name of a member that stands twice where a message answers
// questions, which is empty where there is none: in the inputResponses of a request,
// at any depth, and in the result of a response. Two readers may take two different
// members for the answer, of which a proxy has shown the user one; go-sdk takes
// the last, and the code of a server cannot know that there was another. The params,
// the inputResponses and the result themselves may stand once as well.
//
// message must be valid JSON. The work is linear in its size.
func Ambiguous(message []byte) (name string, found bool) {
	var params, result int
	isResponse := true
	for member, value := range members(message) {
		switch string(member) {
		case "method":
			isResponse = false
		case "params":
			if params++; params == 2 {
				return "params", true
			}
			if name, found = repeatedAnswer(value); found {
				return name, true
			}
		case "result":
			if result++; result == 2 {
				return "result", true
			}
		}
	}
	if !isResponse || result == 0 {
		return "", false
	}
	for member, value := range members(message) {
		if string(member) == "result" {
			return repeated(value)
		}
	}
	return "", false
}

func repeatedAnswer(params []byte) (name string, found bool) {
	answers := 0
	for member, value := range members(params) {
		if string(member) != "inputResponses" {
			continue
		}
		if answers++; answers == 2 {
			return "inputResponses", true
		}
		if name, found = repeated(value); found {
			return name, true
		}
	}
	return "", false
}

// shownName bounds how much of a name of a client's is repeated to it.
const shownName = 64

// AmbiguousError is the answer to a call with a member that [Ambiguous] found.
func AmbiguousError(name string) *jsonrpc.Error {
	if len(name) > shownName {
		name = name[:shownName] // Quote escapes half a character
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid params: an answer has two members " + strconv.Quote(name)}
}

// repeated returns the name of a member that stands twice in one object of a valid
// JSON value, at any depth.
func repeated(value []byte) (name string, found bool) {
	var open []container
	named := false // the next string is the name of a member
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '{':
			open = append(open, container{object: true})
			named = true
		case '[':
			open = append(open, container{})
			named = false
		case '}', ']':
			open = open[:len(open)-1]
			named = false
		case ',':
			named = open[len(open)-1].object
		case '"':
			end := valueEnd(value, i)
			if named && !open[len(open)-1].add(unquote(value[i:end])) {
				return string(unquote(value[i:end])), true
			}
			named = false
			i = end - 1
		}
	}
	return "", false
}

// container is an object or a list that is being read, with the names so far. Most
// objects have few, which are compared without allocating.
type container struct {
	object bool
	few    [][]byte
	many   map[string]struct{}
}

const fewNames = 8

// add reports false where the name is there already.
func (c *container) add(name []byte) bool {
	for _, other := range c.few {
		if string(other) == string(name) {
			return false
		}
	}
	if len(c.few) < fewNames {
		c.few = append(c.few, name)
		return true
	}
	if _, ok := c.many[string(name)]; ok {
		return false
	}
	if c.many == nil {
		c.many = map[string]struct{}{}
	}
	c.many[string(name)] = struct{}{}
	return true
}
