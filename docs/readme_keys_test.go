package docs_test

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/statecodec"
)

func sharedKeys() (*mrtr.Runtime, error) {
	keys, err := statecodec.KeysFromEnv("MRTR_KEYS") // the first seals, all open
	if err != nil {
		return nil, err
	}
	return mrtr.New(&mrtr.Options{
		State:    &statecodec.Options{Keys: keys},
		Observer: mrtr.LogObserver(slog.Default()),
	})
}

// Instances that share their keys take each other's rounds.
func Example_sharedKeys() {
	os.Setenv("MRTR_KEYS", statecodec.GenerateKey().Text())
	defer os.Unsetenv("MRTR_KEYS")
	rt, err := sharedKeys()
	if err != nil {
		panic(err)
	}
	fmt.Println(rt.Close())
	// Output: <nil>
}
