package redisstore

import (
	"context"
	"crypto/sha1"
	"encoding/hex"

	"github.com/redis/go-redis/v9"
)

// Every script compares the epoch first. The name of the contents lies in one hash with the
// last revision, so that neither is lost without the other. An incarnation is a digest of the
// server's replication id, which a promotion changes, and a restart, after which nobody can
// tell what the server has loaded; of how many keys it has evicted, which may have been
// records; and of the number of epochs that were ended.
//
//	KEYS[1]  the hash with the fields epoch (the contents), life and revision
//	KEYS[2]  the record, a hash with the fields revision, value, expires, and due for some
//	KEYS[3]  the names of the records, by when they expire
//	KEYS[4]  the names of those that are due some day, by when
//
// The server does not expire a record by itself, for which its own clock would be enough, but
// for a late end in case nobody sweeps.
//
// A script answers with a revision, or with one of the negative numbers below. That of
// Create answers with the record if there is one.
const (
	forgotten = -1
	lost      = -2
)

const common = `
local function epoch()
	local is = redis.call('HMGET', KEYS[1], 'epoch', 'life')
	if not is[1] then return false end
	local id = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')
	local evicted = string.match(redis.call('INFO', 'stats'), 'evicted_keys:(%d+)')
	return is[1] .. '-' .. string.sub(redis.sha1hex(id .. '.' .. evicted .. '.' .. (is[2] or '0')), 1, 16)
end
local function now()
	local time = redis.call('TIME')
	return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function ended(expires, early) return expires and tonumber(expires) <= math.min(now(), tonumber(early)) end
`

// ARGV: epoch, value, time to live in milliseconds, the earlier clock of the caller and the
// later one, name, due or nothing, and for an update the revision that the record is at
const commonWrite = common + `
if epoch() ~= ARGV[1] then return -1 end
local is = redis.call('HMGET', KEYS[2], 'revision', 'value', 'expires', 'due')
if ended(is[3], ARGV[4]) then is[1] = false end
local function write()
	local revision = redis.call('HINCRBY', KEYS[1], 'revision', 1)
	local expires = math.max(now(), tonumber(ARGV[5])) + tonumber(ARGV[3])
	redis.call('HSET', KEYS[2], 'revision', revision, 'value', ARGV[2], 'expires', string.format('%.0f', expires))
	redis.call('PEXPIRE', KEYS[2], tonumber(ARGV[3]) + 604800000)
	redis.call('ZADD', KEYS[3], expires, ARGV[6])
	if ARGV[7] ~= '' then
		redis.call('HSET', KEYS[2], 'due', 1)
		redis.call('ZADD', KEYS[4], ARGV[7], ARGV[6])
	elseif is[4] then
		redis.call('HDEL', KEYS[2], 'due')
		redis.call('ZREM', KEYS[4], ARGV[6])
	end
	return revision
end
`

var (
	// ARGV: contents, if there are none
	epochScript = newScript(common + `
if not epoch() then
	redis.call('DEL', KEYS[1])
	redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'life', 0, 'revision', 0)
end
return epoch()`)

	// ARGV: epoch
	endScript = newScript(common + `
if epoch() == ARGV[1] then redis.call('HINCRBY', KEYS[1], 'life', 1) end
return 0`)

	createScript = newScript(commonWrite + `
if is[1] then return {is[1], is[2]} end
return write()`)

	updateScript = newScript(commonWrite + `
if is[1] ~= ARGV[8] then return -2 end
return write()`)

	// ARGV: epoch, the earlier clock
	getScript = newScript(common + `
if epoch() ~= ARGV[1] then return -1 end
local is = redis.call('HMGET', KEYS[2], 'revision', 'value', 'expires')
if not is[1] or ended(is[3], ARGV[2]) then return -2 end
return {is[1], is[2]}`)

	// ARGV: the earlier clock, how many, and what the keys of records begin with
	sweepScript = newScript(common + `
local names = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', math.min(now(), tonumber(ARGV[1])), 'LIMIT', 0, ARGV[2])
for _, name in ipairs(names) do
	redis.call('DEL', ARGV[3] .. name)
	redis.call('ZREM', KEYS[3], name)
	redis.call('ZREM', KEYS[4], name)
end
return {#names, redis.call('ZCARD', KEYS[3])}`)

	// ARGV: the earlier clock, the time before which they are due, how many, and as above
	dueScript = newScript(common + `
local due = {epoch()}
for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', '(' .. ARGV[2], 'LIMIT', 0, ARGV[3])) do
	if not ended(redis.call('HGET', ARGV[4] .. name, 'expires') or 0, ARGV[1]) then due[#due + 1] = name end
end
return due`)
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
