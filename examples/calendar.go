package examples

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/mrtr-go/sdk/mrtr"
)

// Day is the input of the agenda tool.
type Day struct {
	Date string `json:"date,omitempty"`
}

// Agenda is its output.
type Agenda struct {
	Events []string `json:"events"`
}

// Agenda reads the user's calendar, which a third party keeps. Whoever has not agreed to
// that yet is sent to a page of this server, which sends them on to the third party.
//
// The access token stays in c.tokens, under the user: neither the outcome of the visit nor
// any effect has it as its value, because those are in the state.
func (c *Calendar) Agenda(ctx context.Context, call *mrtr.Call, in Day) (Agenda, error) {
	user := call.Principal()
	// Remembered, because it is different after the question.
	connected, err := mrtr.Once(ctx, call, "connected", func(context.Context, string) (bool, error) { return c.tokens.of(user) != "", nil })
	if err != nil {
		return Agenda{}, err
	}
	if !connected {
		page, err := c.begin(ctx, call, "calendar")
		if err != nil {
			return Agenda{}, err
		}
		if _, err := mrtr.Ask(ctx, call, mrtr.ElicitURL("calendar", "May this server read your calendar?", page)); err != nil {
			return Agenda{}, err
		}
		if _, err := mrtr.Once(ctx, call, "granted", c.granted(call)); err != nil {
			return Agenda{}, err
		}
	}
	if in.Date == "" {
		if in.Date, err = mrtr.Ask(ctx, call, mrtr.Elicit[string]("date", "Which day?")); err != nil {
			return Agenda{}, err
		}
	}
	return c.events(ctx, user, in.Date)
}

// granted waits until the user is done at the page.
func (c *Calendar) granted(call *mrtr.Call) func(context.Context, string) (bool, error) {
	return func(ctx context.Context, _ string) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, c.Wait)
		defer cancel()
		switch refusal, err := c.visits.Wait(ctx, call, "calendar"); {
		case errors.Is(err, context.DeadlineExceeded):
			return false, errors.New("the calendar was not connected in time: call the tool again when it is")
		case err != nil:
			return false, err
		case refusal != "":
			return false, errors.New("the calendar was not connected: " + refusal)
		}
		return true, nil
	}
}

// events asks the third party, with the user's token.
func (c *Calendar) events(ctx context.Context, user, date string) (Agenda, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Provider.Events+"?date="+url.QueryEscape(date), nil)
	if err != nil {
		return Agenda{}, err
	}
	req.Header.Set("Authorization", "Bearer "+c.tokens.of(user))
	res, err := (&http.Client{Timeout: 30 * time.Second}).Do(req)
	if err != nil {
		return Agenda{}, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return Agenda{}, fmt.Errorf("the calendar answered %s", res.Status)
	}
	var a Agenda
	err = json.NewDecoder(http.MaxBytesReader(nil, res.Body, 1<<20)).Decode(&a.Events)
	return a, err
}
