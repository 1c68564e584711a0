package statecodec_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/mrtr-go/sdk/statecodec"
)

// Round one seals what round two will need; only the same request opens it.
func Example() {
	codec := statecodec.NewEphemeral()
	call := statecodec.Binding{
		Method:    "tools/call",
		Target:    "weather",
		Arguments: []byte(`{"location": "Springfield", "days": 3}`),
		Principal: "ada",
	}
	token, err := codec.Seal(call, []byte("asked: which Springfield?"))
	if err != nil {
		panic(err)
	}

	call.Arguments = []byte(`{"days":3.0,"location":"Springfield"}`) // the same, spelled anew
	payload, err := codec.Open(call, token)
	fmt.Printf("%s, %v\n", payload, err)

	call.Principal = "eve"
	_, err = codec.Open(call, token)
	var refused *statecodec.TokenError
	if errors.As(err, &refused) {
		fmt.Println("to the client:", refused)
		fmt.Println("to the log:   ", refused.Reason())
	}
	// Output:
	// asked: which Springfield?, <nil>
	// to the client: Invalid or expired requestState
	// to the log:    forged_or_transplanted
}

// Rotation in three releases. No call fails on the way if each release is
// everywhere before the next begins, and the last waits for the TTL to pass.
func ExampleOptions_rotation() {
	oldKey, newKey := statecodec.GenerateKey(), statecodec.GenerateKey()
	ring := func(keys ...statecodec.Key) *statecodec.Codec {
		codec, err := statecodec.New(&statecodec.Options{Keys: keys})
		if err != nil {
			panic(err)
		}
		return codec
	}
	call := statecodec.Binding{Method: "tools/call", Target: "weather"}
	token, _ := ring(oldKey).Seal(call, []byte("sealed before"))

	_, err := ring(oldKey, newKey).Open(call, token) // the new key is announced
	fmt.Println(err)
	_, err = ring(newKey, oldKey).Open(call, token) // the new key seals
	fmt.Println(err)
	_, err = ring(newKey).Open(call, token) // the old key is gone
	fmt.Println(err)
	// Output:
	// <nil>
	// <nil>
	// Invalid or expired requestState
}

func ExampleKeysFromEnv() {
	newest, older := statecodec.GenerateKey(), statecodec.GenerateKey()
	os.Setenv("WEATHER_STATE_KEYS", newest.Text()+","+older.Text())
	defer os.Unsetenv("WEATHER_STATE_KEYS")

	keys, err := statecodec.KeysFromEnv("WEATHER_STATE_KEYS")
	fmt.Println(len(keys), err, keys[0].ID() == newest.ID())

	_, err = statecodec.KeysFromEnv("WEATHER_KEYS")
	fmt.Println(err)
	// Output:
	// 2 <nil> true
	// statecodec: environment variable WEATHER_KEYS holds no key: 32 random bytes in base64 are one, such as openssl rand -base64 32 prints
}

// A readable token shows its payload to whoever holds it, and still opens only
// as it was sealed.
func ExampleOptions_readable() {
	codec, err := statecodec.New(&statecodec.Options{Ephemeral: true, Readable: true})
	if err != nil {
		panic(err)
	}
	call := statecodec.Binding{Method: "tools/call", Target: "weather"}
	token, _ := codec.Seal(call, []byte(`{"units":"metric"}`))

	shown, _ := base64.RawURLEncoding.DecodeString(token[28 : len(token)-22])
	fmt.Printf("%s\n", shown)
	imperial := base64.RawURLEncoding.EncodeToString([]byte(`{"units":"USA-18"}`))
	_, err = codec.Open(call, token[:28]+imperial+token[len(token)-22:])
	fmt.Println(err)
	// Output:
	// {"units":"metric"}
	// Invalid or expired requestState
}

// Whoever routes requests reads the name of the instance without a key. The name is
// nobody's word until the token opens: look it up, and make no address of it.
func ExampleInstance() {
	codec, err := statecodec.New(&statecodec.Options{Ephemeral: true, Instance: "eu-2"})
	if err != nil {
		panic(err)
	}
	token, _ := codec.Seal(statecodec.Binding{Target: "weather"}, []byte("state"))
	addresses := map[string]string{"eu-1": "http://10.0.0.1:8080", "eu-2": "http://10.0.0.2:8080"}
	name, ok := statecodec.Instance(token)
	fmt.Println(name, ok, addresses[name])

	forged := strings.Replace(token, "eu-2", "eu-1", 1)
	name, _ = statecodec.Instance(forged)
	_, err = codec.Open(statecodec.Binding{Target: "weather"}, forged)
	fmt.Println(name, err)
	// Output:
	// eu-2 true http://10.0.0.2:8080
	// eu-1 Invalid or expired requestState
}

// One ring serves several uses when each has a purpose of its own.
func ExampleCodec_For() {
	codec := statecodec.NewEphemeral()
	states, records := codec.For("state"), codec.For("record")
	token, _ := records.Seal(statecodec.Binding{}, []byte("what the store keeps"))
	_, err := states.Open(statecodec.Binding{}, token)
	fmt.Println(err)
	payload, _ := records.Open(statecodec.Binding{}, token)
	fmt.Printf("%s\n", payload)
	// Output:
	// Invalid or expired requestState
	// what the store keeps
}

func ExampleKey_Text() {
	key := statecodec.GenerateKey()
	fmt.Println(strings.Contains(fmt.Sprintf("%v %+v %#v %s", key, key, key, key), key.Text()))
	again, err := statecodec.ParseKey(key.Text())
	fmt.Println(again.ID() == key.ID(), err)
	// Output:
	// false
	// true <nil>
}
