package visit_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/shop"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/visit"
)

// A page where the user pays. The accept of the question tells that the user agreed to go
// there; the page tells the handler when the user is done, and with what.
func ExampleVisits() {
	var visits visit.Visits[string]
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println("somebody is at the page")
		// A real page knows its user by a cookie, and asks the payment provider here.
		const user = "" // nobody logs in here
		if err := visits.Done(r.Context(), r.URL.Query().Get("visit"), user, "receipt 17"); err != nil {
			http.Error(w, "This payment is not waited for.", http.StatusNotFound)
		}
	}))
	defer page.Close()
	style := linear.Journal(func(ctx context.Context, c *mrtr.Call, _ shop.Order) (shop.Receipt, error) {
		id, err := visits.Begin(ctx, c, "pay")
		if err != nil {
			return shop.Receipt{}, err
		}
		if _, err := linear.Ask(ctx, c, mrtr.ElicitURL("pay", "Chairs cost ten euros.", page.URL+"/pay?visit="+id)); err != nil {
			return shop.Receipt{}, err
		}
		receipt, err := mrtr.Once(ctx, c, "paid", func(ctx context.Context, _ string) (string, error) {
			ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
			defer cancel()
			return visits.Wait(ctx, c, "pay")
		})
		return shop.Receipt{Summary: "Chairs, for " + receipt}, err
	})
	rt, err := mrtr.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	mrtr.Add(server, rt, &mcp.Tool{Name: "order"}, style)
	session := connectVisitor(server)
	defer session.Close()
	result, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "order", Arguments: shop.Order{Item: "chairs"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Content[0].(*mcp.TextContent).Text)
	again, err := http.Get(page.URL + "/pay?visit=made-up")
	if err != nil {
		log.Fatal(err)
	}
	again.Body.Close()
	fmt.Println("another visit:", again.Status)
	// Output:
	// asked: Chairs cost ten euros.
	// somebody is at the page
	// Chairs, for receipt 17
	// somebody is at the page
	// another visit: 404 Not Found
}

// connectVisitor connects a client whose user agrees at once, and is done later.
func connectVisitor(server *mcp.Server) *mcp.ClientSession {
	serverSide, clientSide := mcp.NewInMemoryTransports()
	if _, err := server.Connect(context.Background(), serverSide, nil); err != nil {
		log.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}},
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			fmt.Println("asked:", req.Params.Message)
			time.AfterFunc(20*time.Millisecond, func() {
				res, err := http.Get(req.Params.URL)
				if err != nil {
					log.Fatal(err)
				}
				res.Body.Close()
			})
			return &mcp.ElicitResult{Action: "accept"}, nil
		},
	})
	session, err := client.Connect(context.Background(), clientSide, nil)
	if err != nil {
		log.Fatal(err)
	}
	return session
}
