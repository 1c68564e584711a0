// Package bench measures mrtr beside its peers, and rounds with a store beside the two writes
// that they need at least. Its benchmarks are compared by benchstat:
//
//	go -C lab test -run '^$' -bench Calls -count 10 ./bench | go -C lab tool benchstat -col /server -
//	go -C lab test -run '^$' -bench Rounds -count 10 ./bench | go -C lab tool benchstat -col /work -
package bench
