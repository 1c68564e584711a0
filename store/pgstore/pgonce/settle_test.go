package pgonce

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/store"
)

// rows is a database in memory whose operations fail as a test says.
type rows struct {
	fail func(op string) error // nil means never

	mu    sync.Mutex
	begun int
	kept  map[string][]byte
}

func (db *rows) failed(op string) error {
	if db.fail == nil {
		return nil
	}
	return db.fail(op)
}

func (db *rows) Begin(context.Context) (pgx.Tx, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.begun++
	return &rowsTx{db: db}, db.failed("begin")
}

type rowsTx struct {
	pgx.Tx
	db    *rows
	idem  string
	value []byte
}

func (tx *rowsTx) Exec(_ context.Context, statement string, args ...any) (pgconn.CommandTag, error) {
	tx.db.mu.Lock()
	defer tx.db.mu.Unlock()
	tx.idem = args[0].(string)
	switch {
	case statement != begin:
		tx.value = args[1].([]byte)
		return pgconn.NewCommandTag("UPDATE 1"), tx.db.failed("update")
	case tx.db.kept[tx.idem] != nil:
		return pgconn.NewCommandTag("INSERT 0 0"), tx.db.failed("insert")
	}
	return pgconn.NewCommandTag("INSERT 0 1"), tx.db.failed("insert")
}

func (tx *rowsTx) QueryRow(context.Context, string, ...any) pgx.Row { return tx }

func (tx *rowsTx) Scan(to ...any) error {
	tx.db.mu.Lock()
	defer tx.db.mu.Unlock()
	*to[0].(*[]byte) = tx.db.kept[tx.idem]
	return tx.db.failed("select")
}

func (tx *rowsTx) Commit(context.Context) error {
	tx.db.mu.Lock()
	defer tx.db.mu.Unlock()
	if err := tx.db.failed("commit"); err != nil {
		return err
	}
	if tx.db.kept == nil {
		tx.db.kept = map[string][]byte{}
	}
	tx.db.kept[tx.idem] = tx.value
	return tx.db.failed("answer")
}

func (tx *rowsTx) Rollback(context.Context) error { return nil }
func (tx *rowsTx) Conn() *pgx.Conn                { return nil }

// at fails at one operation, the first times.
func at(op string, times int, err error) func(string) error {
	return func(now string) error {
		if now != op || times == 0 {
			return nil
		}
		times--
		return err
	}
}

var reset = &net.OpError{Op: "read", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 5432}, Err: errors.New("connection reset by peer")}

// A connection that is lost before the commit has done nothing, so the effect is tried
// again. So is one whose commit got no answer, which the row settles.
func TestAttemptsAreRepeated(t *testing.T) {
	for _, op := range []string{"begin", "insert", "update", "commit", "answer"} {
		for _, err := range []error{reset, io.ErrUnexpectedEOF, io.EOF, &pgconn.PgError{Code: "57P01", SeverityUnlocalized: "FATAL"}} {
			synctest.Test(t, func(t *testing.T) {
				db, ran := &rows{fail: at(op, 3, err)}, 0
				value, err := settle(t.Context(), db, "idem", func(context.Context, pgx.Tx) (int, error) {
					ran++
					return ran, nil
				})
				require.NoError(t, err, op)
				require.Equal(t, ran, value, op)
				require.Equal(t, map[string]int{"begin": 1, "insert": 1, "update": 4, "commit": 4, "answer": 1}[op], ran, op)
				require.Len(t, db.kept, 1)
			})
		}
	}
}

// Whatever the database says, its clients read neither addresses nor users nor statements,
// and the program finds the cause. The attempts are bounded.
func TestFailuresTellNothingOfTheDatabase(t *testing.T) {
	_, refused := pgconn.Connect(t.Context(), "host=127.0.0.1 port=1 user=secret_user password=secret dbname=secret_db sslmode=disable")
	require.ErrorContains(t, refused, "secret_user")
	syntax := &pgconn.PgError{Code: "42601", SeverityUnlocalized: "ERROR", Severity: "ERROR", Message: `syntax error at or near "secret"`}
	serial := &pgconn.PgError{Code: "40001", SeverityUnlocalized: "ERROR", Message: "could not serialize secret"}
	const (
		lost    = "The effect did not happen: the database could not be reached."
		doubt   = "The database did not answer a commit, so nobody knows whether the effect happened."
		syntaxT = "The effect did not happen: the database refused it (SQLSTATE 42601)."
		serialT = "The effect did not happen: the database undid it time and again for the sake of others."
	)
	declined := fmt.Errorf("the card was declined by 10.1.2.3: %w", io.EOF)
	for _, c := range []struct {
		op       string
		err      error
		text     string
		again    bool
		attempts int
	}{
		{"begin", refused, lost, true, 10},
		{"insert", reset, lost, true, 10},
		{"insert", syntax, syntaxT, false, 1},
		{"insert", serial, serialT, true, 10},
		{"update", io.ErrUnexpectedEOF, lost, true, 10},
		{"update", errors.New("secret"), "The effect did not happen: the database failed.", false, 1},
		{"commit", reset, doubt, true, 10},
		{"commit", pgx.ErrTxCommitRollback, "The effect did not happen: the database failed.", false, 1},
		{"commit", syntax, syntaxT, false, 1},
		{"f", syntax, syntaxT, false, 1},
		{"f", fmt.Errorf("secret: %w", serial), serialT, true, 10},
		{"f", pgx.ErrTxClosed, "The effect did not happen: the database failed.", false, 1},
		{"f", declined, declined.Error(), false, 1}, // the author's own
	} {
		synctest.Test(t, func(t *testing.T) {
			db := &rows{fail: at(c.op, 100, c.err)}
			began := time.Now()
			_, err := settle(t.Context(), db, "idem", func(context.Context, pgx.Tx) (int, error) {
				return 0, db.failed("f")
			})
			require.EqualError(t, err, c.text)
			require.ErrorIs(t, err, c.err)
			require.Equal(t, c.attempts, db.begun, c.text)
			require.Less(t, time.Since(began), 10*time.Second)
			require.Equal(t, c.text == doubt, errors.Is(err, mrtr.ErrIndeterminate))
			var again interface{ ToolErrorRetryable() bool }
			if errors.As(err, &again) {
				require.Equal(t, c.again, again.ToolErrorRetryable(), c.text)
			} else {
				require.Equal(t, c.err, err)
			}
		})
	}
}

// An effect that describes its error to agents has written the text for them.
type described struct{ error }

func (described) ToolErrorType() string { return "sold_out" }
func (e described) Unwrap() error       { return e.error }

func TestADescribedErrorKeepsItsText(t *testing.T) {
	want := described{&pgconn.PgError{Code: "23505", Message: "sold out"}}
	_, err := settle(t.Context(), &rows{}, "idem", func(context.Context, pgx.Tx) (int, error) { return 0, want })
	require.Equal(t, want, err)
}

// An effect whose time is up tells so.
func TestAnEffectThatIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := settle(ctx, &rows{fail: at("begin", 100, reset)}, "idem", func(context.Context, pgx.Tx) (int, error) { return 0, nil })
		require.EqualError(t, err, "The effect was cut off before it happened.")
		_, err = settle(ctx, &rows{fail: at("commit", 100, reset)}, "idem", func(context.Context, pgx.Tx) (int, error) { return 0, nil })
		require.ErrorIs(t, err, mrtr.ErrIndeterminate)
	})
}

// With a store too, the request that met a database which was away may come again: no
// doubt, and no failure, stays as the outcome of its round, however often it was tried.
func TestTheRowSettlesADoubtWhenTheDatabaseIsBack(t *testing.T) {
	for _, op := range []string{"begin", "insert", "update", "commit", "answer"} {
		for _, rounds := range []store.Store{nil, store.NewMemory(nil)} {
			t.Run(fmt.Sprintf("%s %t", op, rounds != nil), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					db, ran := &rows{}, 0
					client := shop(t, &mrtr.Options{Store: rounds}, db, &ran)
					answer := asked(t, client)
					happened := 0
					for range 6 {
						db.fail = at(op, 100, reset)
						if op == "answer" { // the first commit happens, and then the database is away
							db.fail = func(now string) error {
								if now == "answer" || now == "begin" && len(db.kept) > 0 {
									return reset
								}
								return nil
							}
						}
						away, err := client.Send(t.Context(), answer)
						require.NoError(t, err)
						require.True(t, away.IsError, string(away.Result))
						require.NotContains(t, string(away.Result), "10.1.2.3")
						happened = len(db.kept)
					}
					db.fail = nil
					last, err := client.Send(t.Context(), answer)
					require.NoError(t, err)
					require.False(t, last.IsError, last.Text)
					require.Len(t, db.kept, 1)
					if happened == 1 {
						require.JSONEq(t, `{"paid":1}`, string(last.Structured))
						require.Equal(t, 1, ran)
					} else {
						require.JSONEq(t, fmt.Sprintf(`{"paid":%d}`, ran), string(last.Structured))
					}
				})
			})
		}
	}
}

// An effect waits for another attempt at it as long as its context lasts, and not only as
// often as an attempt may fail.
func TestABusyEffectIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &rows{}
		db.fail = func(op string) error {
			if op == "select" && db.begun < 100 {
				return pgx.ErrNoRows
			}
			return nil
		}
		db.kept = map[string][]byte{"idem": []byte("7")}
		value, err := settle(t.Context(), db, "idem", func(context.Context, pgx.Tx) (int, error) { return 0, nil })
		require.NoError(t, err)
		require.Equal(t, 7, value)
		require.Equal(t, 100, db.begun)
	})
}

// shop is a client of a server whose one tool asks whether to pay, and then pays: the value
// of the payment is how often it ran.
func shop(t *testing.T, opts *mrtr.Options, db DB, ran *int) *wire.Client {
	rt, err := mrtr.New(opts)
	require.NoError(t, err)
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	mrtr.AddTool(server, &mcp.Tool{Name: "pay"}, mrtr.Tool(rt, mrtr.Journal(func(ctx context.Context, c *mrtr.Call, _ struct{}) (map[string]int, error) {
		if _, err := mrtr.Ask(ctx, c, mrtr.Confirm("ok", "Pay?")); err != nil {
			return nil, err
		}
		paid, err := Do(ctx, c, db, "pay", func(context.Context, pgx.Tx) (int, error) {
			*ran++
			return *ran, nil
		})
		return map[string]int{"paid": paid}, err
	}), nil))
	client, err := wire.Connect(t.Context(), server, nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		client.Close()
		_ = rt.Close()
	})
	return client
}

// asked begins a call, and returns the request that answers its question.
func asked(t *testing.T, client *wire.Client) wire.Request {
	first, err := client.Send(t.Context(), wire.Request{Name: "pay"})
	require.NoError(t, err)
	return wire.Request{Name: "pay", State: first.State, Responses: map[string]any{
		"ok": map[string]any{"action": "accept", "content": map[string]any{"ok": true}}}}
}
