package mrtr_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/linear"
)

// hiddenError does not survive JSON, as kit.FullError does.
type hiddenError struct{ why string }

func (e hiddenError) Error() string { return e.why }

// like tells what code can find out about an error.
func like(err error) string {
	var full *kit.FullError
	var hidden hiddenError
	var usage *mrtr.UsageError
	var stopped *mrtr.Error
	var wire *jsonrpc.Error
	var typed interface{ ToolErrorType() string }
	var expected interface{ ToolErrorExpected() bool }
	var hinted interface{ ToolErrorHints() []string }
	var selector interface{ ToolErrorSelector() (string, []string) }
	var timeout interface{ Timeout() bool }
	words := []string{fmt.Sprintf("%q", err.Error())}
	for _, sentinel := range []struct {
		name string
		err  error
	}{{"closed", kit.ErrClosed}, {"late", context.DeadlineExceeded}, {"no file", fs.ErrNotExist}} {
		if errors.Is(err, sentinel.err) {
			words = append(words, "is:"+sentinel.name)
		}
	}
	if errors.As(err, &full) {
		words = append(words, "full:"+full.Train)
	}
	if errors.As(err, &hidden) {
		words = append(words, "hidden:"+hidden.why)
	}
	if errors.As(err, &usage) {
		words = append(words, "usage:"+usage.Error())
	}
	if errors.As(err, &stopped) {
		words = append(words, "stopped:"+string(stopped.Reason)+stopped.Key)
	}
	if errors.As(err, &wire) {
		_, itself := err.(*jsonrpc.Error)
		words = append(words, fmt.Sprintf("wire:%d %s %t", wire.Code, wire.Message, itself))
	}
	if errors.As(err, &typed) {
		words = append(words, "type:"+typed.ToolErrorType())
	}
	if errors.As(err, &expected) {
		words = append(words, fmt.Sprint("expected:", expected.ToolErrorExpected()))
	}
	if errors.As(err, &hinted) {
		words = append(words, fmt.Sprint("hints:", hinted.ToolErrorHints()))
	}
	if errors.As(err, &selector) {
		name, candidates := selector.ToolErrorSelector()
		words = append(words, fmt.Sprintf("selector:%s %v", name, candidates))
	}
	if errors.As(err, &timeout) {
		words = append(words, fmt.Sprint("timeout:", timeout.Timeout()))
	}
	return strings.Join(words, " ")
}

// An error of an effect is the same when it is returned first and when a replay meets
// it, in every style, with the promised text.
func TestAnErrorOfOnceIsTheSameWhenReplayed(t *testing.T) {
	tests := map[string]struct {
		err  error
		want string
	}{
		"a sentinel":             {kit.ErrClosed, `"the desk is closed" is:closed`},
		"a wrapped sentinel":     {fmt.Errorf("booking: %w", kit.ErrClosed), `"booking: the desk is closed" is:closed`},
		"a joined one":           {errors.Join(errors.New("x"), kit.ErrClosed), `"x\nthe desk is closed" is:closed`},
		"no file":                {&fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}, `"open x: file does not exist" is:no file timeout:false`},
		"out of time":            {mrtr.NotDone(fmt.Errorf("desk: %w", context.DeadlineExceeded)), `"desk: context deadline exceeded" is:late timeout:true`},
		"a type with JSON":       {fmt.Errorf("x: %w", &kit.FullError{Train: "IC 1"}), `"x: IC 1 is full" full:IC 1 type:full expected:true hints:[Take another train.] selector:train [IC 2]`},
		"a type without":         {hiddenError{"secret"}, `"secret"`},
		"a decline":              {&mrtr.Error{Reason: mrtr.Declined, Key: "q"}, `"Stopped: \"q\" was declined." stopped:declinedq type:declined expected:true`},
		"a JSON-RPC error":       {&jsonrpc.Error{Code: -32002, Message: "own"}, `"own" wire:-32002 own true`},
		"a wrapped JSON-RPC one": {fmt.Errorf("x: %w", &jsonrpc.Error{Code: -32002, Message: "own"}), `"x: own" wire:-32002 own false`},
		"misuse":                 {mrtr.Question[int]{}.Err(), `"mrtr: the zero Question asks nothing: make one with Elicit, Choose, Confirm or Known" usage:mrtr: the zero Question asks nothing: make one with Elicit, Choose, Confirm or Known type:usage expected:false`},
	}
	require.NotEmpty(t, tests)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			kit.EachOnce(t, func(t *testing.T, style func(kit.Body) kit.Style) {
				var met []string
				instance := func() *kit.Trip {
					return kit.ServeTrip(t, style(func(ctx context.Context, c *mrtr.Call) (string, error) {
						for range 2 {
							_, err := mrtr.Once(ctx, c, "book", func(context.Context, string) (string, error) { return "", test.err })
							met = append(met, like(err))
						}
						return "later", nil
					}))
				}
				tool := instance()
				asked := tool.Begin()
				require.NoError(t, asked.Err)
				if !strings.HasSuffix(t.Name(), "/coroutine") { // that goes on where it is
					tool = instance()
				}
				require.NoError(t, tool.Answer(asked, "x").Err)
				require.GreaterOrEqual(t, len(met), 4)
				for _, words := range met {
					require.Equal(t, test.want, words)
				}
			})
		})
	}
}

// An error chain that never ends is cut, and ends the call like any other.
func TestAnErrorThatUnwrapsToItself(t *testing.T) {
	loop := &endless{}
	last := kit.ServeTrip(t, linear.Journal(kit.Linear(kit.Around(func(ctx context.Context, c *mrtr.Call) (string, error) {
		_, err := mrtr.Once(ctx, c, "book", func(context.Context, string) (string, error) { return "", loop })
		return "", err
	})))).Begin()
	require.EqualError(t, last.Err, "again")
}

// endless unwraps to an error of the same chain as often as a chain is looked at.
type endless struct{ depth int }

func (e *endless) Error() string { return "again" }
func (e *endless) Unwrap() error {
	if e.depth > 100 {
		return nil
	}
	return &endless{e.depth + 1}
}

// A replay meets the failure in the state, and one that cannot be read as an error too.
func TestFailuresAreReadFromTheState(t *testing.T) {
	var did kit.Deeds
	rt := kit.TripRuntime(t, nil)
	mrtr.Unsigned(rt)
	var met []string
	tool := kit.NewTrip(rt, linear.Journal(func(ctx context.Context, c *mrtr.Call, _ kit.In) (kit.Out, error) {
		_, err := mrtr.Once(ctx, c, "book", did.Do("book"))
		met = append(met, fmt.Sprint(err))
		return kit.Out{}, nil
	}), "")
	last := tool.Round(t.Context(), "", `{"v":4,"call":"mine","round":1,"style":"journaled code","done":[{"key":"book","kind":"failed","value":{"text":"the desk is closed"}}]}`, nil)
	require.NoError(t, last.Err)
	require.Equal(t, []string{"the desk is closed"}, met)
	last = tool.Round(t.Context(), "", `{"v":4,"call":"mine","round":1,"style":"journaled code","done":[{"key":"book","kind":"failed","value":1}]}`, nil)
	require.NoError(t, last.Err, "the handler goes on from any error")
	require.Contains(t, met[1], "cannot be read")
	require.Zero(t, did.Count("book"))
}

// FuzzFailure reads back whatever an error said.
func FuzzFailure(f *testing.F) {
	for _, text := range []string{"", "closed", "a\nb", "\xff", `"`, "\x00", "The tool failed unexpectedly."} {
		f.Add(text, true)
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, wrapped bool) {
		err := errors.New(text)
		said := err
		if wrapped {
			said = fmt.Errorf("x: %w", err)
		}
		first, replayed := mrtr.Failures(said)
		require.EqualError(t, replayed, first.Error())
		require.ErrorIs(t, first, err)
		require.ErrorIs(t, replayed, err)
		require.NotErrorIs(t, replayed, kit.ErrClosed)
	})
}
