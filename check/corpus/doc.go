// Command corpus judges the prover. It proves servers whose verdict is known: in three
// languages and many designs, each as it should be and with one mistake at a time. It
// prints how many of the mistakes the right rule found, and which rules condemned a
// server that is correct:
//
//	go run ./check/corpus
//	go run ./check/corpus -full -only python/jwt
//
// Each server is proved twice: with every ability that a prover can be given, and with
// its URL and a count of its effects alone.
//
// A language has one program, which serves each of its designs with each mistake under
// a path of its own. To add a mistake, build it into a program and name it in
// mistakes.go with the rule that must find it.
package main
