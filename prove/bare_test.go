package prove_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/prove"
)

// world is everything around the servers of one deployment, written by hand
// without go-sdk's server and without the engine: JSON-RPC messages and a seal.
// Its tool pay asks for an amount, then for a day, and pays. Safe as it
// stands, it breaks one rule where broken names one.
type world struct {
	broken string
	design string // another one that is as right, see designs

	mu      sync.Mutex
	main    *instance
	effects map[string]int
	ledger  map[string]*payment
	latest  string // the token that was made last
	handles map[string]sealed
	crash   bool
	dead    error
	clock   time.Duration
	waiting map[string]time.Duration // calls that wait for an answer, and until when
	serial  int
	seals   map[string]bool // every seal that was made
	burnt   bool            // a state was refused since the last one was made
	busy    chan struct{}   // full while a legacy client is asked, where that is broken
}

// payment is the final round of a call: claimed before its effect, done after.
type payment struct {
	state, answers string
	by             *instance
	conn           mcp.Connection
	done           chan struct{}
	result         any // nil where the server died before it was known
}

func newWorld(broken string) *world { return newWorldOf("", broken) }

func newWorldOf(design, broken string) *world {
	w := &world{broken: broken, design: design, effects: map[string]int{}, ledger: map[string]*payment{}, waiting: map[string]time.Duration{}, handles: map[string]sealed{}, seals: map[string]bool{}, busy: make(chan struct{}, 1)}
	w.main = w.instance("a")
	return w
}

func (w *world) is(rule string) bool { return w.broken == rule }

// instance is one process of the deployment. Its memory is lost with it.
type instance struct {
	world  *world
	secret string
	mu     sync.Mutex
	conns  []mcp.Connection
	to     string            // of the call that began last
	paid   map[string]bool   // calls
	sums   map[string]string // by call
	poison map[mcp.Connection]bool
}

func (w *world) instance(secret string) *instance {
	return &instance{world: w, secret: secret, paid: map[string]bool{}, sums: map[string]string{}, poison: map[mcp.Connection]bool{}}
}

// subject has every ability.
func (w *world) subject() prove.Subject {
	brief := w.instance("a")
	return prove.Subject{
		Dial: func(ctx context.Context, who *prove.Caller) (*prove.Endpoint, error) {
			w.mu.Lock()
			at, dead := w.main, w.dead
			w.mu.Unlock()
			if dead != nil {
				return nil, dead
			}
			return at.dial(ctx, who)
		},
		Fresh: func(ctx context.Context, who *prove.Caller) (*prove.Endpoint, error) {
			return w.instance("a").dial(ctx, who)
		},
		Stranger: func(ctx context.Context, who *prove.Caller) (*prove.Endpoint, error) {
			if w.is("state/other-deployment") {
				return w.instance("a").dial(ctx, who)
			}
			return w.instance("b").dial(ctx, who)
		},
		Brief:   brief.dial,
		Expire:  w.expire,
		Effects: w.count,
		First:   &prove.Caller{Name: "ann"}, Other: &prove.Caller{Name: "bob"},
		Died: func() error { w.mu.Lock(); defer w.mu.Unlock(); return w.dead },
		Revive: func(context.Context) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.dead, w.main = nil, w.instance("a")
			return nil
		},
		CrashAtEffect: func(on bool) { w.mu.Lock(); defer w.mu.Unlock(); w.crash = on },
		Held:          w.held,
	}
}

// strict is the scenario that the tool of the world is proved by.
var strict = prove.Scenario{
	Tool: "pay", Arguments: map[string]any{"to": "Ann"}, OtherArguments: map[string]any{"to": "Bob"},
	Answers: map[string]any{"amount": "10", "when": "today"}, OtherTool: "refund", SingleUse: true,
}

func (w *world) count(context.Context) (map[string]int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.effects), nil
}

func (w *world) expire(context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock += time.Hour
	if !w.is("server/leaves-nothing") {
		maps.DeleteFunc(w.waiting, func(_ string, until time.Duration) bool { return until < w.clock })
	}
	return nil
}

func (w *world) held(context.Context) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.waiting), nil
}

func (w *world) next() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.serial++
	return fmt.Sprint("call-", w.serial)
}

// effect happens, and is the last thing that an instance does which is to crash.
func (in *instance) effect(name string) {
	w := in.world
	w.mu.Lock()
	w.effects[name]++
	crash := w.crash
	if crash {
		w.crash, w.dead = false, errors.New("the process is gone")
	}
	w.mu.Unlock()
	if crash {
		in.mu.Lock()
		conns := slices.Clone(in.conns)
		in.mu.Unlock()
		for _, c := range conns {
			_ = c.Close()
		}
		panic(gone{})
	}
}

type gone struct{}

func (in *instance) dial(ctx context.Context, who *prove.Caller) (*prove.Endpoint, error) {
	here, there := mcp.NewInMemoryTransports()
	conn, err := here.Connect(ctx)
	if err != nil {
		return nil, err
	}
	in.mu.Lock()
	in.conns = append(in.conns, conn)
	in.mu.Unlock()
	s := &session{instance: in, conn: conn, who: who.Name, asked: map[string]chan json.RawMessage{}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.serve(context.WithoutCancel(ctx))
	}()
	return &prove.Endpoint{Transport: there, Close: func() error {
		_ = conn.Close()
		<-ended
		return nil
	}}, nil
}

// sealed is the content of a state.
type sealed struct {
	Call, Tool, To, Who, Amount string
	Asked                       string // the key of the question, where that is another each time
	Round, Tries                int
	Until                       time.Duration
}

func (in *instance) gcm() cipher.AEAD {
	key := sha256.Sum256([]byte(in.secret))
	block, _ := aes.NewCipher(key[:]) // 32 bytes are a key
	gcm, _ := cipher.NewGCM(block)
	return gcm
}

func (in *instance) seal(s sealed) string {
	w := in.world
	plain, _ := json.Marshal(s) // texts and numbers
	nonce := make([]byte, 12)
	_, _ = rand.Read(nonce)
	token := base64.RawURLEncoding.EncodeToString(append(nonce, in.gcm().Seal(nil, nonce, plain, nil)...))
	switch w.design {
	case signed:
		token = in.sign(plain)
	case opaque:
		token = base64.RawURLEncoding.EncodeToString(append(nonce, nonce...))
		w.mu.Lock()
		w.handles[in.secret+token] = s
		w.mu.Unlock()
	}
	switch {
	case w.is("state/never-same"):
		sum := sha256.Sum256(fmt.Append(nil, s.Tool, s.To, s.Who, s.Round, s.Tries))
		token = base64.RawURLEncoding.EncodeToString(append(sum[:], sum[:]...))
		w.mu.Lock()
		w.handles[token] = s
		w.mu.Unlock()
	case w.is("state/forged"), w.is("state/legible"), w.is("state/parts") && w.design != signed, w.is("state/spliced"):
		token = base64.RawURLEncoding.EncodeToString(plain) + "." + token
	}
	if w.is("state/resigned") {
		claim := base64.RawURLEncoding.EncodeToString(plain)
		token = claim + "." + guessable(claim)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.latest, w.burnt = token, false
	claim, seal, _ := strings.Cut(token, ".")
	w.seals[in.secret+seal], w.seals[claim] = true, true
	w.waiting[s.Call] = s.Until
	return token
}

func guessable(claim string) string {
	mac := hmac.New(sha256.New, []byte("changeme"))
	mac.Write([]byte(claim))
	return hex.EncodeToString(mac.Sum(nil))
}

var errState = errors.New("the state is not good")

func (in *instance) open(token string) (s sealed, err error) {
	w := in.world
	token = w.fix(token)
	w.mu.Lock()
	handle, known := w.handles[token]
	seals, burnt := maps.Clone(w.seals), w.burnt
	w.mu.Unlock()
	switch {
	case w.is("state/never-same") && known && in.secret == "a":
		return handle, nil
	case w.is("state/resigned"):
		claim, tag, _ := strings.Cut(token, ".")
		plain, err := base64.RawURLEncoding.Strict().DecodeString(claim)
		if err != nil || tag != guessable(claim) {
			return s, errState
		}
		return s, json.Unmarshal(plain, &s)
	case w.is("state/forged"), w.is("state/spliced"):
		// The claim is believed where the seal is genuine, whatever it seals; or only if it
		// was made here too.
		claim, seal, _ := strings.Cut(token, ".")
		plain, err := base64.RawURLEncoding.DecodeString(claim)
		if err != nil || !seals[in.secret+seal] || w.is("state/spliced") && !seals[claim] || json.Unmarshal(plain, &s) != nil || s.Tool == "" {
			return s, errState
		}
		return s, nil
	case w.is("state/legible"), w.is("state/parts") && w.design != signed:
		var claim string
		claim, token, _ = strings.Cut(token, ".")
		if plain, err := base64.RawURLEncoding.DecodeString(claim); err == nil && token == "" && w.is("state/parts") {
			return s, json.Unmarshal(plain, &s)
		}
		plain, err := in.unseal(token)
		if err != nil || base64.RawURLEncoding.EncodeToString(plain) != claim {
			return s, errState
		}
	}
	plain, err := in.unseal(token)
	if err != nil {
		return s, err
	}
	if burnt {
		return s, errState
	}
	return s, json.Unmarshal(plain, &s)
}

// sign makes a JSON Web Token, which its holder can read.
func (in *instance) sign(plain []byte) string {
	e := base64.RawURLEncoding
	text := e.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + e.EncodeToString(plain)
	mac := hmac.New(sha256.New, []byte(in.secret))
	mac.Write([]byte(text))
	return text + "." + e.EncodeToString(mac.Sum(nil))
}

func (in *instance) unseal(token string) ([]byte, error) {
	switch w := in.world; w.design {
	case signed:
		parts := strings.Split(token, ".")
		if len(parts) != 3 {
			return nil, errState
		}
		plain, err := base64.RawURLEncoding.Strict().DecodeString(parts[1])
		header, _ := base64.RawURLEncoding.DecodeString(parts[0])
		if w.is("state/parts") && err == nil && strings.Contains(string(header), "none") {
			return plain, nil
		}
		if err != nil || in.sign(plain) != token {
			return nil, errState
		}
		return plain, nil
	case opaque:
		w.mu.Lock()
		defer w.mu.Unlock()
		s, ok := w.handles[in.secret+token]
		if !ok {
			return nil, errState
		}
		return json.Marshal(s)
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) < 12 || strings.ContainsAny(token, "\r\n") {
		return nil, errState
	}
	return in.gcm().Open(nil, raw[:12], raw[12:], nil)
}

// fix takes an altered token for the latest, if that is the mistake.
func (w *world) fix(token string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	differ := 0
	for i := range min(len(token), len(w.latest)) {
		if token[i] != w.latest[i] {
			differ++
		}
	}
	longer := strings.Contains(token, w.latest) && len(token) > len(w.latest)
	respelled := longer && strings.Trim(token[len(w.latest):], "=\n") == ""
	fixed := false
	switch w.broken {
	case "state/flipped": // but for a last character, and for one of the other alphabet: both respell it
		fixed = len(token) == len(w.latest) && differ == 1 && !strings.ContainsAny(token, "+/") && token[len(token)-1] == w.latest[len(token)-1]
	case "state/cut":
		fixed = len(token) > 0 && len(token) < len(w.latest) && strings.Contains(w.latest, token)
	case "state/extended":
		fixed = longer && !respelled
	case "state/respelled":
		fixed = respelled
	case "state/garbage":
		fixed = len(token) < 10 && !strings.Contains(w.latest, token)
	case "state/large":
		fixed = len(token) > 100_000
	}
	if fixed {
		return w.latest
	}
	return token
}

func digest(v any) string {
	text, _ := json.Marshal(v) // it was JSON
	return string(text)
}

// refusal is a JSON-RPC error.
func refusal(code int64, message string) error { return &jsonrpc.Error{Code: code, Message: message} }
