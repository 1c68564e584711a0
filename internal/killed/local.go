//go:build unix

package killed

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// Instance is a server of this process.
type Instance struct {
	Client
	Till *Till
}

// Instances are servers of this process that share their key and their till. They
// serve one row each, with a store or with nil.
type Instances struct {
	t    *testing.T
	key  statecodec.Key
	till string
	// Options and Forwarder are those of the next server.
	Options   mrtr.RememberOptions
	Forwarder mrtr.Forwarder
}

// NewInstances returns none yet.
func NewInstances(t *testing.T) *Instances {
	return &Instances{
		t: t, key: statecodec.GenerateKey(), till: filepath.Join(t.TempDir(), "payments"),
		Options: mrtr.RememberOptions{Lease: lease, Patience: outagePatience, Wait: 2 * lease},
	}
}

// Start serves a row. Hook, if set, runs when the effect has happened.
func (in *Instances) Start(s store.Store, row Row, hook func()) *Instance {
	in.t.Helper()
	opts := &mrtr.Options{State: &statecodec.Options{Keys: []statecodec.Key{in.key}}}
	if s != nil {
		remember := in.Options
		opts.Store, opts.Remember, opts.Forwarder = s, &remember, in.Forwarder
	}
	rt, err := mrtr.New(opts)
	require.NoError(in.t, err)
	till := &Till{path: in.till, trap: &trap{signal: syscall.SIGKILL}, hook: hook}
	server, err := newServer(rt, row, till)
	require.NoError(in.t, err)
	conn, err := wire.Connect(in.t.Context(), server, &wire.Options{Unrecorded: true})
	require.NoError(in.t, err)
	in.t.Cleanup(func() {
		_ = conn.Close()
		require.NoError(in.t, rt.Close())
	})
	return &Instance{Client: Client{conn}, Till: till}
}

// Paid are the payments so far.
func (in *Instances) Paid() []Receipt {
	in.t.Helper()
	paid, err := readPayments(in.till)
	require.NoError(in.t, err)
	return paid
}
