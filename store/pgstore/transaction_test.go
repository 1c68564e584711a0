package pgstore_test

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
)

type booking struct {
	Seat string `json:"seat"`
}

var seat = mrtr.Choose("seat", "Which seat?", mrtr.Choices("window", "aisle")...)

// seats are bookings in the program's own database, whose table is
//
//	CREATE TABLE bookings (idem text PRIMARY KEY, seat text NOT NULL)
//
// A booking and its idem are one row, and so they are committed together or not at all.
type seats struct{ pool *pgxpool.Pool }

// book makes the booking. The primary key lets another attempt at it wait until this one has
// been committed or rolled back, and then makes it the same booking.
func (s seats) book(ctx context.Context, idem, seat string) (booking, error) {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, "INSERT INTO bookings VALUES ($1, $2) ON CONFLICT DO NOTHING", idem, seat)
		if err != nil || tag.RowsAffected() == 0 {
			return err // or it is booked already
		}
		return nil // whatever else belongs to the booking goes here
	})
	if err != nil {
		return booking{}, errors.Join(mrtr.ErrIndeterminate, err) // the commit may have arrived
	}
	return booking{seat}, nil
}

// find tells whether the booking was made. If there is no row it will not appear without book,
// which can be called again: so an attempt that still runs does no harm.
func (s seats) find(ctx context.Context, idem string) (b booking, found bool, err error) {
	err = s.pool.QueryRow(ctx, "SELECT seat FROM bookings WHERE idem = $1", idem).Scan(&b.Seat)
	if errors.Is(err, pgx.ErrNoRows) {
		return booking{}, false, nil
	}
	return b, err == nil, err
}

// An effect in a PostgreSQL database of your own happens once, whatever dies: its row settles
// every doubt.
func Example_transaction() {
	var s seats // with the pool of your database
	_ = linear.Journal(func(ctx context.Context, c *mrtr.Call, _ struct{}) (booking, error) {
		chosen, err := linear.Ask(ctx, c, seat)
		if err != nil {
			return booking{}, err
		}
		return mrtr.Once(ctx, c, "book", func(ctx context.Context, idem string) (booking, error) {
			return s.book(ctx, idem, chosen)
		}, &mrtr.EffectOptions[booking]{Check: s.find})
	})
}
