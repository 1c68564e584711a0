// Package statecodec seals the request_state of a multi-round call: bytes in,
// token out, and the same bytes again only for the same request.
//
// A server that asks a question gives its client a token and keeps nothing of the
// call. The client can forge, alter or delay the token, or present it with another
// call. A token sealed here opens only if all of this holds:
//
//   - one of the codec's keys sealed it, and no character has changed since;
//   - it was sealed for the same [Binding]: method, target, arguments,
//     principal, audience and session, and the same purpose ([Codec.For]);
//   - its lifetime has begun and has not ended, give or take the clock skew.
//
// The payload is encrypted unless [Options.Readable] is set. A token opens as often
// as it is presented: single use needs a store on the server.
//
// There are three kinds of error. A [*UsageError] is a mistake in the calling code. A
// [*TokenError] is a refused token: its text is one fixed sentence that the client
// may read, and [TokenError.Reason] is for the log. An [*InternalError] is neither's
// fault.
//
// The construction is that of Go's TLS session tickets: AES-256-CTR under
// HMAC-SHA256, encrypt-then-MAC, with sub-keys from HKDF. SPEC.md fixes every
// byte, and the files in testdata hold an implementation to it.
package statecodec
