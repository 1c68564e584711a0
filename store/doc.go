// Package store says how the rounds of calls are remembered, so that a round
// that comes again gets the result of the first time and runs nothing twice.
//
// A [Store] keeps small records that expire. It decides two races: of all who
// [Store.Create] a key one wins, and of all who [Store.Update] a record at one
// revision one wins. Everything else, such as the content of a record and when a
// silent holder is given up, is up to the caller and the same for every store.
//
// [Memory] is the store of one process. The others are modules of their own,
// so that nobody builds a database driver they do not use:
//
//	sqlitestore   the processes of one machine, on one file
//	natsmrtr      a fleet, on NATS JetStream
//	pgmrtr        a fleet, on PostgreSQL
//	redisstore    a fleet, on Redis
//
// Package storetest is the suite that each of them passes, and that a store of
// your own should pass.
package store
