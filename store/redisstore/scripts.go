package redisstore

import (
	"context"
	"crypto/sha1"
	"encoding/hex"

	"github.com/redis/go-redis/v9"
)

// Every script compares the epoch first. It lies in one hash with the last
// revision, so that neither is lost without the other.
//
//	KEYS[1]  the hash with the fields epoch and revision
//	KEYS[2]  the record, a hash with the fields revision and value
//
// A script answers with a revision, or with one of the negative numbers below. That of
// Create answers with the record if there is one.
const (
	forgotten = -1
	lost      = -2
)

var (
	epochScript = newScript(`
local epoch = redis.call('HGET', KEYS[1], 'epoch')
if not epoch then
	redis.call('DEL', KEYS[1])
	redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'revision', 0)
	epoch = ARGV[1]
end
return epoch`)

	// ARGV: epoch, value, time to live in milliseconds
	createScript = newScript(`
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return -1 end
if redis.call('EXISTS', KEYS[2]) == 1 then
	return {redis.call('HGET', KEYS[2], 'revision'), redis.call('HGET', KEYS[2], 'value')}
end
local revision = redis.call('HINCRBY', KEYS[1], 'revision', 1)
redis.call('HSET', KEYS[2], 'revision', revision, 'value', ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return revision`)

	// ARGV: as above, and the revision that the record is at
	updateScript = newScript(`
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return -1 end
if redis.call('HGET', KEYS[2], 'revision') ~= ARGV[4] then return -2 end
local revision = redis.call('HINCRBY', KEYS[1], 'revision', 1)
redis.call('HSET', KEYS[2], 'revision', revision, 'value', ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return revision`)
)

// script is a Lua script, which Redis knows by its digest once it has seen it.
type script struct{ text, digest string }

func newScript(text string) *script {
	digest := sha1.Sum([]byte(text))
	return &script{text, hex.EncodeToString(digest[:])}
}

// run runs the script, once. If the client repeated one whose answer was lost,
// the second run would conflict with the first.
func (s *script) run(ctx context.Context, client *redis.Client, keys []string, args ...any) *redis.Cmd {
	cmd := evaluate(ctx, client, "evalsha", s.digest, keys, args)
	if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") { // it has not run
		cmd = evaluate(ctx, client, "eval", s.text, keys, args)
	}
	return cmd
}

func evaluate(ctx context.Context, client *redis.Client, command, which string, keys []string, args []any) *redis.Cmd {
	words := []any{command, which, len(keys)}
	for _, key := range keys {
		words = append(words, key)
	}
	cmd := redis.NewCmd(ctx, append(words, args...)...)
	if err := ctx.Err(); err != nil {
		cmd.SetErr(err)
		return cmd
	}
	_ = client.Process(ctx, onlyOnce{cmd}) // the command has the error
	return cmd
}

// onlyOnce is a command that the client does not repeat.
type onlyOnce struct{ *redis.Cmd }

// NoRetry is how go-redis asks.
func (onlyOnce) NoRetry() bool { return true }
