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
)

// The clauses of the specification.
const (
	agreedTo Clause = "a promise to the person: nothing happens without their yes, or otherwise than they were told"
	onceOnly Clause = "a promise to the person: one yes has its effects once"

	integrity   Clause = "Server Requirements: reject a state that fails verification"
	binding     Clause = "Server Requirements: bind the state to principal, expiry and originating request"
	singleUse   Clause = "Server Requirements: single use, if the tool promises it, is enforced on the server"
	declared    Clause = "Server Requirements: ask for nothing that the client did not declare"
	answering   Clause = "Error Handling: validate that inputResponses is a valid object"
	reasking    Clause = "Error Handling: ask again for a missing answer"
	ignoring    Clause = "Error Handling: ignore answers to no question"
	keyed       Clause = "InputResponses: answers stand under the keys of their questions"
	questioning Clause = "Server Requirements: a question is one of three requests"
	fitting     Clause = "Elicitation, Form Mode Security: validate content against the requested schema"
	naming      Clause = "_meta: the error for a missing capability lists it"
	stateless   Clause = "Statelessness: do not rely on the capabilities of prior requests"
	coded       Clause = "Error Codes: defined codes have their meanings alone, and old ones are not sent"
	jsonRPC     Clause = "Messages: a JSON-RPC request gets exactly one response"
	validated   Clause = "Tools, Security: validate all tool inputs"
	conforming  Clause = "Tools, Output Schema: structured results conform to it"
	unknown     Clause = "Tools, Error Handling: an unknown tool is a protocol error"
	listed      Clause = "Tools: tools/list is answered, and each inputSchema is a valid one"
	defined     Clause = "Schema: CallToolResult, InputRequiredResult"
	ending      Clause = "Streamable HTTP: the response ends its stream"
	routed      Clause = "Streamable HTTP: headers that disagree with the body are refused"

	revisions  Clause = "2025-11-25, Lifecycle: respect the negotiated version"
	negotiated Clause = "2025-11-25, Lifecycle: use negotiated capabilities alone"
	greeting   Clause = "2025-11-25, Lifecycle: initialize is answered"

	tasksGated   Clause = "SEP-2663, Capability Negotiation: no task for a request without the extension"
	methodsGated Clause = "SEP-2663, Protocol Errors: the methods of tasks are refused without the extension"
	tasksDurable Clause = "SEP-2663, Task Creation: a task exists before its client knows of it"
	tasksUnknown Clause = "SEP-2663, Protocol Errors: an id that does not exist gets -32602"
	tasksModern  Clause = "SEP-2663, Backward Compatibility: no tasks in 2025-11-25"
	keysUnique   Clause = "SEP-2663, Task Update Requests: a key is used once in a task"
	keysIgnored  Clause = "SEP-2663, Task Update Requests: ignore answers to what is not outstanding"
)

// sources has the words behind each clause. A rule may demand less than its passage, never
// more.
var sources = map[Clause]Source{
	integrity: {"If requestState influences authorization, resource access, or business logic, servers MUST protect its integrity … and MUST reject state that fails verification.",
		revision + "basic/patterns/mrtr#server-requirements-basic-workflow"},
	binding: {"To prevent replay, servers SHOULD include the following … and verify each on receipt: the authenticated principal …; a short expiry …; an identifier for the originating request.",
		revision + "basic/patterns/mrtr#server-requirements-basic-workflow"},
	singleUse: {"Servers for which a given requestState must be consumed at most once … MUST enforce that invariant server-side.",
		revision + "basic/patterns/mrtr#server-requirements-basic-workflow"},
	declared: {"Servers MUST NOT send an inputRequests that the client has not declared support for in its capabilities.",
		revision + "basic/patterns/mrtr#server-requirements-basic-workflow"},
	questioning: {"inputRequests values are request objects that MUST be one of ElicitRequest, CreateMessageRequest, or ListRootsRequest.",
		revision + "basic/patterns/mrtr#server-requirements-basic-workflow"},
	answering: {"Servers SHOULD validate that the data provided by the client is a valid InputResponses object and that the information inside can be correctly parsed.",
		revision + "basic/patterns/mrtr#error-handling"},
	reasking: {"If the client fails to send all the information requested … the server SHOULD respond with a new InputRequiredResult requesting the missing information again.",
		revision + "basic/patterns/mrtr#error-handling"},
	ignoring: {"If additional, unexpected parameters are provided in the InputResponses object, the server SHOULD ignore any information it does not recognize or need.",
		revision + "basic/patterns/mrtr#error-handling"},
	keyed: {"Keys correspond to the keys in the InputRequests map.",
		revision + "basic/patterns/mrtr#inputresponses"},
	fitting: {"Servers SHOULD validate received data matches the requested schema.",
		revision + "client/elicitation#form-mode-security"},
	naming: {"The server MUST return a MissingRequiredClientCapabilityError (-32021) whose data.requiredCapabilities lists the missing capabilities.",
		revision + "basic/index#meta"},
	stateless: {"Servers MUST NOT rely on prior requests over the same connection to establish context (e.g., capabilities, protocol version, client identity).",
		revision + "basic/index#statelessness"},
	coded: {"Implementations MUST NOT emit any code from this sub-range that is not defined by this specification and MUST use defined codes only with their specified meanings.",
		revision + "basic/index#error-codes"},
	jsonRPC: {"All messages between MCP clients and servers MUST follow the JSON-RPC 2.0 specification.",
		revision + "basic/index#messages"},
	validated: {"Servers MUST: Validate all tool inputs.",
		revision + "server/tools#security-considerations"},
	conforming: {"Servers MUST provide structured results that conform to this schema.",
		revision + "server/tools#output-schema"},
	unknown: {"Protocol Errors …: Unknown tool … They are returned as standard JSON-RPC errors.",
		revision + "server/tools#error-handling"},
	listed: {"Servers that declare the tools capability MUST respond to tools/list requests. inputSchema: MUST be a valid JSON Schema object.",
		revision + "server/tools#tool"},
	defined: {"The members and types of CallToolResult, InputRequiredResult and what they hold.",
		revision + "schema#calltoolresult"},
	ending: {"The final JSON-RPC response SHOULD terminate the stream.",
		revision + "basic/transports/streamable-http#receiving-messages"},
	routed: {"Servers that process the request body MUST reject requests where the values specified in the headers do not match the corresponding values in the request body.",
		revision + "basic/transports/streamable-http#server-validation"},

	revisions: {"Both parties MUST: Respect the negotiated protocol version.",
		before + "basic/lifecycle#operation"},
	negotiated: {"Both parties MUST: … Only use capabilities that were successfully negotiated.",
		before + "basic/lifecycle#operation"},
	greeting: {"The server MUST respond with its own capabilities and information.",
		before + "basic/lifecycle#initialization"},

	tasksGated: {"A server MUST NOT return CreateTaskResult to a client that did not include the extension capability on its request, regardless of prior declarations.",
		tasksSEP + "#capability-negotiation"},
	methodsGated: {"Servers MUST return this error for non-declaring clients issuing tasks/get, tasks/update, and tasks/cancel requests.",
		tasksSEP + "#protocol-errors"},
	tasksDurable: {"A server MUST NOT return CreateTaskResult until the task is durably created.",
		tasksSEP + "#task-creation"},
	tasksUnknown: {"Invalid or nonexistent taskId: -32602 … Servers MUST return this error for tasks/get.",
		tasksSEP + "#protocol-errors"},
	tasksModern: {"Servers MUST NOT treat this capability as enabling tasks under that protocol version.",
		tasksSEP + "#backward-compatibility"},
	keysUnique: {"Each request key in inputRequests MUST be unique over the lifetime of a single task.",
		tasksSEP + "#task-update-requests"},
	keysIgnored: {"A server SHOULD ignore any inputResponses responses mapped to a key that is not currently outstanding for the task.",
		tasksSEP + "#task-update-requests"},
}
