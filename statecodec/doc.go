// Package statecodec seals the request_state of a multi-round call: bytes in,
// token out, and the same bytes again only for the same request.
//
// A server that asks a question hands its client a token and forgets the call.
// What comes back is the client's to forge, alter, delay, or move to another
// call. A token sealed here opens only if all of this holds:
//
//   - one of the codec's keys sealed it, and not a character has changed since;
//   - it was sealed for the same [Binding]: method, target, arguments,
//     principal, audience and session, and the same purpose ([Codec.For]);
//   - its lifetime has begun and has not ended, give or take the clock skew.
//
// The payload is encrypted unless [Options.Readable] is set. What a token does
// not do is count: it opens as often as it is presented. Single use needs
// something on the server that remembers.
//
// Three kinds of failure reach three kinds of people. [*UsageError]: the caller
// must change something. [*TokenError]: the token is refused; its text is one
// fixed sentence, fit for the client, and [TokenError.Reason] is for the log.
// [*InternalError]: neither is to blame.
//
// The construction is that of Go's TLS session tickets: AES-256-CTR under
// HMAC-SHA256, encrypt-then-MAC, with sub-keys from HKDF. SPEC.md fixes every
// byte, and the files in testdata hold an implementation to it.
package statecodec
