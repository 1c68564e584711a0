// Package serve runs a go-sdk server over HTTP the way it should run in production, in one
// call: clients of both eras on one URL, one well-formed result for every call, bounds on
// everything that a client can make large, a readiness check for the load balancer, and a
// stop that loses no call.
//
//	err := serve.HTTP(ctx, "127.0.0.1:8080", server, &serve.Options{Runtime: rt})
//
// It is [boundary.Install], [mcphttp.NewHandler] and the order of the stop that
// docs/operating.md explains, put together. Take those where a server needs another shape.
package serve
