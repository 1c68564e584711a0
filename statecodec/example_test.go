package statecodec_test

import (
	"errors"
	"fmt"
	"log"
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

// A key is replaced while the server runs: by a handler of SIGHUP that reads a file again, or
// by whatever hears of new secrets. Codecs that were made of the ring follow.
func ExampleKeyring() {
	older, newer := statecodec.GenerateKey(), statecodec.GenerateKey()
	ring, err := statecodec.NewKeyring(older)
	if err != nil {
		log.Fatal(err)
	}
	codec, err := statecodec.New(&statecodec.Options{Keyring: ring}) // and mrtr.Options.State likewise
	if err != nil {
		log.Fatal(err)
	}
	var call statecodec.Binding
	token, err := codec.Seal(call, []byte("asked"))
	if err != nil {
		log.Fatal(err)
	}
	for _, phase := range [][]statecodec.Key{{older, newer}, {newer, older}, {newer}} {
		if err := ring.Replace(phase...); err != nil {
			log.Fatal(err)
		}
		_, err := codec.Open(call, token)
		fmt.Println("opens:", err == nil)
	}
	// Output:
	// opens: true
	// opens: true
	// opens: false
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

	_, err = codec.Open(statecodec.Binding{Target: "weather"}, strings.Replace(token, "eu-2", "eu-1", 1))
	fmt.Println(err)
	// Output:
	// eu-2 true http://10.0.0.2:8080
	// Invalid or expired requestState
}
