package pgstore

import "strings"

// statements are the texts for one table.
type statements struct{ schema, epoch, begin, create, update, get, sweep, any string }

// The row without a name holds the epoch, in the table that holds the records:
// whatever removes all rows removes it too. A record's row names its epoch, so
// rows that a wipe has left behind are never read.
func statementsOn(table string) statements {
	schema, name, qualified := strings.Cut(table, ".")
	if !qualified {
		schema, name = "", table
	}
	text := func(s string) string {
		return strings.NewReplacer("{table}", table, "{name}", name, "{sequence}", table+"_revision").Replace(s)
	}
	makeSchema := ""
	if qualified {
		makeSchema = "CREATE SCHEMA IF NOT EXISTS " + schema + ";"
	}
	const inEpoch = `EXISTS (SELECT FROM {table} e WHERE e.epoch = $1 AND e.name = '')`
	return statements{
		schema: makeSchema + text(`
CREATE TABLE IF NOT EXISTS {table} (
	epoch    text COLLATE "C" NOT NULL,
	name     text COLLATE "C" NOT NULL,
	value    bytea NOT NULL,
	revision bigint NOT NULL,
	expires  timestamptz NOT NULL,
	PRIMARY KEY (epoch, name)
);
CREATE SEQUENCE IF NOT EXISTS {sequence} OWNED BY {table}.revision;
CREATE INDEX IF NOT EXISTS {name}_expires ON {table} (expires);
CREATE UNIQUE INDEX IF NOT EXISTS {name}_epoch ON {table} (name) WHERE name = '';`),
		epoch: text(`SELECT epoch FROM {table} WHERE name = '' AND expires = 'infinity'`),
		begin: text(`INSERT INTO {table} VALUES ($1, '', '', 0, 'infinity')`),
		// A revision is drawn when the row is locked, so that it is larger than the
		// one it replaces.
		create: text(`
WITH done AS (
	INSERT INTO {table} AS r (epoch, name, value, revision, expires)
	SELECT $1, $2, $3, nextval('{sequence}'), now() + $4::interval WHERE ` + inEpoch + `
	ON CONFLICT (epoch, name) DO UPDATE
		SET value = excluded.value, revision = nextval('{sequence}'), expires = excluded.expires
		WHERE r.expires <= now()
	RETURNING revision
)
SELECT ` + inEpoch + `, (SELECT revision FROM done), r.value, r.revision
FROM (VALUES (1)) one LEFT JOIN {table} r ON r.epoch = $1 AND r.name = $2 AND r.expires > now()`),
		update: text(`
WITH done AS (
	UPDATE {table} SET value = $3, revision = nextval('{sequence}'), expires = now() + $4::interval
	WHERE epoch = $1 AND name = $2 AND revision = $5 AND expires > now() AND ` + inEpoch + `
	RETURNING revision
)
SELECT ` + inEpoch + `, (SELECT revision FROM done), NULL::bytea, NULL::bigint`),
		get: text(`SELECT value, revision FROM {table} WHERE epoch = $1 AND name = $2 AND expires > now() AND ` + inEpoch),
		sweep: text(`
DELETE FROM {table} WHERE ctid IN (SELECT ctid FROM {table} WHERE expires <= now() LIMIT $1 FOR UPDATE SKIP LOCKED)`),
		any: text(`SELECT EXISTS (SELECT FROM {table} WHERE name <> '')`),
	}
}
