package mrtr_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
)

// deafTo is a transport whose peer stops reading at messages of a method.
type deafTo struct {
	mcp.Transport
	method string
	until  chan struct{}
}

type deafConn struct {
	mcp.Connection
	deafTo
}

func (d deafTo) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := d.Transport.Connect(ctx)
	return deafConn{conn, d}, err
}

func (c deafConn) Write(ctx context.Context, message jsonrpc.Message) error {
	if text, err := jsonrpc.EncodeMessage(message); err == nil && strings.Contains(string(text), c.method) {
		<-c.until
	}
	return c.Connection.Write(ctx, message)
}

// Done is called by a page, which must not wait for the client of somebody's call, and
// the call goes on too.
func TestAClientThatDoesNotReadHoldsUpNoPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		visits, ids := &mrtr.Visits[string]{}, make(chan string, 1)
		server := sendingAway(t, mrtr.Journal[input, output], visits, false, ids)
		serverSide, clientSide := mcp.NewInMemoryTransports()
		until := make(chan struct{})
		_, err := server.Connect(t.Context(), deafTo{serverSide, visited, until}, nil)
		require.NoError(t, err)
		client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
			Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}},
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "accept"}, nil
			},
		})
		session, err := client.Connect(t.Context(), clientSide, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		require.NoError(t, err)
		defer session.Close()
		done := make(chan *mcp.CallToolResult, 1)
		go func() {
			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "tool"})
			if err != nil {
				t.Error(err)
			}
			done <- result
		}()
		id := <-ids
		returned := make(chan bool, 1)
		go func() { returned <- visits.Done(id, "receipt") }()
		select {
		case ended := <-returned:
			require.True(t, ended)
		case <-time.After(time.Minute):
			t.Error("the page waits for a client that does not read")
		}
		waited, end := context.WithTimeout(t.Context(), time.Minute)
		defer end()
		value, err := visits.Wait(waited, id)
		close(until)
		require.NoError(t, err)
		require.Equal(t, "receipt", value)
		require.Equal(t, `{"said":"receipt"}`, textOf(<-done))
	})
}

// A round may begin a visit again while its page ends it.
func TestAVisitBeginsAgainWhileItEnds(t *testing.T) {
	visits := &mrtr.Visits[string]{}
	inCall(t, func(ctx context.Context, c *mrtr.Call) {
		for i := range 100 {
			key := fmt.Sprint(i)
			id := visits.Begin(ctx, c, key)
			var both sync.WaitGroup
			both.Go(func() { visits.Begin(ctx, c, key) })
			both.Go(func() { visits.Done(id, key) })
			both.Wait()
			value, err := visits.Wait(ctx, id)
			require.NoError(t, err)
			require.Equal(t, key, value)
		}
	})
}
