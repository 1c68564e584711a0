package prove

import (
	"encoding/json"
	"strings"
)

// Clause says where a rule is demanded, and what is demanded, in a few words. A rule of
// ours has its reason there instead.
type Clause string

// Source is the passage that a clause stands for.
type Source struct {
	Quote string // its words, shortened, without the markup
	URL   string
}

// Source is where the clause can be read. It is zero for the reason of a rule of ours.
func (c Clause) Source() Source { return sources[c] }

// Demands is the strongest level that the passage supports. The published schema is
// normative without a keyword. Any other sentence without one supports a SHOULD. What nobody
// wrote down is ours, or a promise to the person.
func (s Source) Demands() Level {
	switch {
	case s == Source{}:
		return Ours
	case strings.Contains(s.Quote, "MUST"), strings.Contains(s.URL, "/schema#"):
		return Must
	}
	return Should
}

// MarshalJSON adds the source of the clause.
func (r Rule) MarshalJSON() ([]byte, error) {
	type plain Rule
	source := r.Clause.Source()
	return json.Marshal(struct {
		plain
		Quote string `json:"quote,omitempty"`
		URL   string `json:"url,omitempty"`
	}{plain(r), source.Quote, source.URL})
}

const (
	revision = "https://modelcontextprotocol.io/specification/2026-07-28/"
	before   = "https://modelcontextprotocol.io/specification/2025-11-25/"
	tasksSEP = "https://modelcontextprotocol.io/seps/2663-tasks-extension"

	roundTrips   = revision + "basic/patterns/mrtr"
	requirements = roundTrips + "#server-requirements-basic-workflow"
	handling     = roundTrips + "#error-handling"
	streamable   = revision + "basic/transports/streamable-http"
)

const (
	agreedTo Clause = "a promise to the person: nothing happens without their yes, or otherwise than they were told"
	onceOnly Clause = "a promise to the person: one yes has its effects once"
)

// sources has the words behind each clause of a specification.
var sources = map[Clause]Source{}

// cited is a clause with the passage that it stands for. A rule may demand less than its passage,
// never more.
func cited(clause Clause, quote, url string) Clause {
	sources[clause] = Source{quote, url}
	return clause
}

// The clauses of the specifications.
var (
	integrity = cited("Server Requirements: reject a state that fails verification",
		"If requestState influences authorization, resource access, or business logic, servers MUST protect its integrity … and MUST reject state that fails verification.", requirements)
	binding = cited("Server Requirements: bind the state to principal, expiry and originating request",
		"To prevent replay, servers SHOULD include the following … and verify each on receipt: the authenticated principal …; a short expiry …; an identifier for the originating request.", requirements)
	declared = cited("Server Requirements: ask for nothing that the client did not declare",
		"Servers MUST NOT send an inputRequests that the client has not declared support for in its capabilities.", requirements)
	answering = cited("Error Handling: validate that inputResponses is a valid object",
		"Servers SHOULD validate that the data provided by the client is a valid InputResponses object and that the information inside can be correctly parsed.", handling)
	reasking = cited("Error Handling: ask again for a missing answer",
		"If the client fails to send all the information requested … the server SHOULD respond with a new InputRequiredResult requesting the missing information again.", handling)
	ignoring = cited("Error Handling: ignore answers to no question",
		"If additional, unexpected parameters are provided in the InputResponses object, the server SHOULD ignore any information it does not recognize or need.", handling)
	keyed = cited("InputResponses: answers stand under the keys of their questions",
		"Keys correspond to the keys in the InputRequests map.", roundTrips+"#inputresponses")
	fitting = cited("Elicitation, Form Mode Security: validate content against the requested schema",
		"Servers SHOULD validate received data matches the requested schema.", revision+"client/elicitation#form-mode-security")
	stateless = cited("Statelessness: do not rely on the capabilities of prior requests",
		"Servers MUST NOT rely on prior requests over the same connection to establish context (e.g., capabilities, protocol version, client identity).", revision+"basic/index#statelessness")
	coded = cited("Error Codes: defined codes have their meanings alone, and old ones are not sent",
		"Implementations MUST NOT emit any code from this sub-range that is not defined by this specification and MUST use defined codes only with their specified meanings.", revision+"basic/index#error-codes")
	jsonRPC = cited("Messages: a JSON-RPC request gets exactly one response",
		"All messages between MCP clients and servers MUST follow the JSON-RPC 2.0 specification.", revision+"basic/index#messages")
	validated = cited("Tools, Security: validate all tool inputs",
		"Servers MUST: Validate all tool inputs.", revision+"server/tools#security-considerations")
	conforming = cited("Tools, Output Schema: structured results conform to it",
		"Servers MUST provide structured results that conform to this schema.", revision+"server/tools#output-schema")
	unknown = cited("Tools, Error Handling: an unknown tool is a protocol error",
		"Protocol Errors …: Unknown tool … They are returned as standard JSON-RPC errors.", revision+"server/tools#error-handling")
	listed = cited("Tools: tools/list is answered, and each inputSchema is a valid one",
		"Servers that declare the tools capability MUST respond to tools/list requests. inputSchema: MUST be a valid JSON Schema object.", revision+"server/tools#tool")
	defined = cited("Schema: CallToolResult, InputRequiredResult",
		"The members and types of CallToolResult, InputRequiredResult and what they hold.", revision+"schema#calltoolresult")
	ending = cited("Streamable HTTP: the response ends its stream",
		"The final JSON-RPC response SHOULD terminate the stream.", streamable+"#receiving-messages")
	routed = cited("Streamable HTTP: headers that disagree with the body are refused",
		"Servers that process the request body MUST reject requests where the values specified in the headers do not match the corresponding values in the request body.", streamable+"#server-validation")

	revisions = cited("2025-11-25, Lifecycle: respect the negotiated version",
		"Both parties MUST: Respect the negotiated protocol version.", before+"basic/lifecycle#operation")
	greeting = cited("2025-11-25, Lifecycle: initialize is answered",
		"The server MUST respond with its own capabilities and information.", before+"basic/lifecycle#initialization")

	tasksGated = cited("SEP-2663, Capability Negotiation: no task for a request without the extension",
		"A server MUST NOT return CreateTaskResult to a client that did not include the extension capability on its request, regardless of prior declarations.", tasksSEP+"#capability-negotiation")
	tasksDurable = cited("SEP-2663, Task Creation: a task exists before its client knows of it",
		"A server MUST NOT return CreateTaskResult until the task is durably created.", tasksSEP+"#task-creation")
	tasksUnknown = cited("SEP-2663, Protocol Errors: an id that does not exist gets -32602",
		"Invalid or nonexistent taskId: -32602 … Servers MUST return this error for tasks/get.", tasksSEP+"#protocol-errors")
	keysUnique = cited("SEP-2663, Task Update Requests: a key is used once in a task",
		"Each request key in inputRequests MUST be unique over the lifetime of a single task.", tasksSEP+"#task-update-requests")
	keysIgnored = cited("SEP-2663, Task Update Requests: ignore answers to what is not outstanding",
		"A server SHOULD ignore any inputResponses responses mapped to a key that is not currently outstanding for the task.", tasksSEP+"#task-update-requests")
)
