// Command inviter is the server of the corpus in Go, on net/http alone: it invites people, and
// asks how many and whether. It has the paths of server.py: see there.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// deployment is what instances with the same secret share.
type deployment struct {
	sync.Mutex
	results map[string]object
	invited atomic.Int64
	ahead   atomic.Int64 // of the clock, in seconds
}

type instance struct {
	design, mistake, secret string
	shared                  *deployment
	handles                 sync.Map
	latest                  atomic.Pointer[claims]
}

func (in *instance) has(mistakes ...string) bool {
	for _, m := range mistakes {
		if in.mistake == m {
			return true
		}
	}
	return false
}

func (in *instance) now() int64 { return time.Now().Unix() + in.shared.ahead.Load() }

func (in *instance) effect() int { return int(in.shared.invited.Add(1)) }

func (in *instance) mac(text []byte) []byte {
	secret := in.secret
	switch {
	case in.has("empty-key"):
		secret = ""
	case in.has("built-in-key"):
		secret = "built in 7f21"
	}
	h := hmac.New(sha256.New, []byte(secret))
	h.Write(text)
	return h.Sum(nil)
}

// seal makes a state: a MAC with JSON behind it, words between bars, or a handle.
func (in *instance) seal(c claims) string {
	c.Until = in.now() + 600
	switch in.design {
	case "store", "stock":
		handle := rand.Text()
		in.handles.Store(handle, c)
		return handle
	case "pipes":
		text := strings.Join([]string{c.Call, c.Tool, c.Event, c.User, strconv.Itoa(c.Step), strconv.Itoa(c.Tries), strconv.Itoa(c.Seats), c.Diet, strconv.FormatInt(c.Until, 10)}, "|")
		return text + "|" + hex.EncodeToString(in.mac(in.covered([]byte(text))))
	}
	text, _ := json.Marshal(c) // texts and numbers
	if in.design == "zip" {
		var zipped bytes.Buffer
		w := gzip.NewWriter(&zipped)
		_, _ = w.Write(text)
		_ = w.Close()
		text = zipped.Bytes()
	}
	return base64.RawURLEncoding.EncodeToString(append(in.mac(in.covered(text)), text...))
}

// covered is what the MAC covers.
func (in *instance) covered(text []byte) []byte {
	if in.has("covers-half") {
		return text[:len(text)/2]
	}
	return text
}

func (in *instance) good(text, mac []byte) bool {
	want := in.mac(in.covered(text))
	switch {
	case in.has("unchecked"):
		return true
	case in.has("four-bytes"):
		return len(mac) >= 4 && bytes.Equal(mac[:4], want[:4])
	case in.has("shortest"):
		n := min(len(mac), len(want))
		return bytes.Equal(mac[:n], want[:n])
	}
	return hmac.Equal(mac, want)
}

var errBad = errors.New("bad state")

func (in *instance) open(state string) (c claims, err error) {
	switch in.design {
	case "store", "stock":
		known, ok := in.handles.Load(state)
		if !ok {
			return c, errBad
		}
		return known.(claims), nil
	case "pipes":
		at := strings.LastIndexByte(state, '|')
		if at < 0 {
			return c, errBad
		}
		mac, err := hex.DecodeString(state[at+1:])
		words := strings.Split(state[:at], "|")
		if err != nil || !in.good([]byte(state[:at]), mac) || len(words) != 9 {
			return c, errBad
		}
		c = claims{Call: words[0], Tool: words[1], Event: words[2], User: words[3], Diet: words[7]}
		c.Step, _ = strconv.Atoi(words[4])
		c.Tries, _ = strconv.Atoi(words[5])
		c.Seats, _ = strconv.Atoi(words[6])
		c.Until, _ = strconv.ParseInt(words[8], 10, 64)
	default:
		raw, err := base64.RawURLEncoding.Strict().DecodeString(state)
		if err != nil || len(raw) < 32 || strings.ContainsAny(state, "\r\n") || !in.good(raw[32:], raw[:32]) {
			return c, errBad
		}
		text := raw[32:]
		if in.design == "zip" {
			r, err := gzip.NewReader(bytes.NewReader(text))
			if err != nil {
				return c, errBad
			}
			if text, err = io.ReadAll(io.LimitReader(r, 1<<20)); err != nil {
				return c, errBad
			}
		}
		if json.Unmarshal(text, &c) != nil {
			return c, errBad
		}
	}
	if c.Step < 0 || c.Step >= len(in.steps()) {
		return c, errBad
	}
	return c, nil
}

var (
	mu          sync.Mutex
	deployments = map[string]*deployment{}
	instances   = map[string]*instance{}
)

func find(path string) (*instance, string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	mu.Lock()
	defer mu.Unlock()
	shared, key := strings.Join(parts[:3], "/"), strings.Join(parts[:4], "/")
	if deployments[shared] == nil {
		deployments[shared] = &deployment{results: map[string]object{}}
	}
	if instances[key] == nil {
		instances[key] = &instance{design: parts[0], mistake: parts[1], secret: parts[2], shared: deployments[shared]}
	}
	return instances[key], parts[4]
}

func serve(w http.ResponseWriter, r *http.Request) {
	in, what := find(r.URL.Path)
	w.Header().Set("Content-Type", "application/json")
	switch what {
	case "effects":
		_ = json.NewEncoder(w).Encode(object{"invite": in.shared.invited.Load()})
		return
	case "expire":
		in.shared.ahead.Add(3600)
		return
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params request         `json:"params"`
	}
	err := json.NewDecoder(r.Body).Decode(&m)
	var fault *json.UnmarshalTypeError
	if err != nil && !errors.As(err, &fault) {
		http.Error(w, "no JSON", http.StatusBadRequest)
		return
	}
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	m.Params.user = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	var result object
	switch {
	case err != nil:
		err = errArguments
	case m.Method == "tools/list":
		schema := object{"type": "object", "required": []string{"event"}, "properties": object{"event": object{"type": "string", "minLength": 1}}}
		tools := []object{{"name": "invite", "inputSchema": schema}, {"name": "uninvite", "inputSchema": schema}}
		result = object{"resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private"}
	case m.Method == "tools/call":
		result, err = in.call(&m.Params)
	default:
		err = &refusal{Code: -32601, Message: "unknown method"}
	}
	reply := object{"jsonrpc": "2.0", "id": m.ID}
	if err != nil {
		reply["error"] = err
	} else {
		reply["result"] = result
	}
	_ = json.NewEncoder(w).Encode(reply)
}

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(l.Addr().(*net.TCPAddr).Port)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	_ = http.Serve(l, http.HandlerFunc(serve)) // it ends with the process
}
