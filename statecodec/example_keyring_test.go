package statecodec_test

import (
	"fmt"
	"log"

	"github.com/mrtr-go/sdk/statecodec"
)

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
