// Package deploy has no code. Its tests run instances of a server as processes of their own,
// behind a router, replace and break them under load, and count what became of each call.
package deploy
