package pgstore

import "strings"

// statements are the texts for one table.
type statements struct{ schema, epoch, begin, end, create, update, get, sweep, any, due string }

// The row without a name holds the name of the contents, in the table that holds the
// records: whatever removes all rows removes it too. A record's row names its contents, so
// rows that a wipe has left behind are never read.
//
// An incarnation is a digest of three things: the cluster, its timeline, which a promotion or
// a recovery to a point in time changes, and the transaction that wrote that row, which is
// another one once the row was restored from a dump, or written again to end an epoch.
//
// A revision is the number of the transaction that made the write. The server counts those
// in its own log: none comes twice unless the log was cut, and nobody waits for a counter.
func statementsOn(table string) statements {
	schema, name, qualified := strings.Cut(table, ".")
	if !qualified {
		schema, name = "", table
	}
	makeSchema := ""
	if qualified {
		makeSchema = "CREATE SCHEMA IF NOT EXISTS " + schema + ";"
	}
	text := func(s string) string {
		const epoch = `(SELECT e.epoch || '-' || to_hex(hashtextextended(concat_ws('.', (SELECT system_identifier FROM pg_control_system()),
	left(pg_walfile_name(pg_current_wal_insert_lsn()), 8), e.xmin), 0)) FROM {table} e WHERE e.name = '' AND e.expires = 'infinity')`
		return strings.NewReplacer("{table}", table, "{name}", name).Replace(strings.NewReplacer(
			"{epoch}", epoch, "{revision}", "pg_current_xact_id()::text::bigint",
			// Both clocks have to agree that a record has expired, and it lives from the later one.
			"{ended}", "least(now(), $4::timestamptz)", "{expires}", "greatest(now(), $5::timestamptz) + $6::interval",
		).Replace(s))
	}
	return statements{
		schema: makeSchema + text(`
CREATE TABLE IF NOT EXISTS {table} (
	epoch    text COLLATE "C" NOT NULL,
	name     text COLLATE "C" NOT NULL,
	value    bytea NOT NULL,
	revision bigint NOT NULL,
	expires  timestamptz NOT NULL,
	due      timestamptz,
	PRIMARY KEY (epoch, name)
);
ALTER TABLE {table} ADD COLUMN IF NOT EXISTS due timestamptz;
CREATE INDEX IF NOT EXISTS {name}_expires ON {table} (expires);
CREATE INDEX IF NOT EXISTS {name}_due ON {table} (due) WHERE due IS NOT NULL;
CREATE UNIQUE INDEX IF NOT EXISTS {name}_epoch ON {table} (name) WHERE name = '';`),
		// A table of an earlier release has no column due, which this finds out.
		epoch: text(`SELECT epoch FROM (SELECT {epoch} AS epoch, (SELECT due FROM {table} LIMIT 0)) one WHERE epoch IS NOT NULL`),
		begin: text(`INSERT INTO {table} VALUES ($1, '', '', 0, 'infinity')`),
		end:   text(`UPDATE {table} SET revision = revision + 1 WHERE name = '' AND {epoch} = $1`),
		// $1 epoch, $2 contents, $3 name, $4 the earlier clock, $5 the later one, $6 time to live,
		// $7 value, $8 due, $9 revision
		create: text(`
WITH now AS MATERIALIZED (SELECT {epoch} = $1 AS known),
done AS (
	INSERT INTO {table} AS r (epoch, name, value, revision, expires, due)
	SELECT $2, $3, $7::bytea, {revision}, {expires}, $8::timestamptz FROM now WHERE known
	ON CONFLICT (epoch, name) DO UPDATE
		SET value = excluded.value, revision = excluded.revision, expires = excluded.expires, due = excluded.due
		WHERE r.expires <= {ended}
	RETURNING revision
)
SELECT known, (SELECT revision FROM done), r.value, r.revision
FROM now LEFT JOIN {table} r ON r.epoch = $2 AND r.name = $3 AND r.expires > {ended}`),
		update: text(`
WITH now AS MATERIALIZED (SELECT {epoch} = $1 AS known),
done AS (
	UPDATE {table} SET value = $7, revision = {revision}, expires = {expires}, due = $8::timestamptz
	WHERE epoch = $2 AND name = $3 AND revision = $9 AND expires > {ended} AND (SELECT known FROM now)
	RETURNING revision
)
SELECT known, (SELECT revision FROM done), NULL::bytea, NULL::bigint FROM now`),
		// A standby has no timeline of its own to tell.
		get: text(`SELECT value, revision FROM {table} WHERE epoch = $2 AND name = $3 AND expires > {ended} AND
	CASE WHEN pg_is_in_recovery() THEN EXISTS (SELECT FROM {table} e WHERE e.name = '' AND e.epoch = $2) ELSE {epoch} = $1 END`),
		sweep: text(`
DELETE FROM {table} WHERE ctid IN (SELECT ctid FROM {table} WHERE expires <= least(now(), $1) LIMIT $2 FOR UPDATE SKIP LOCKED)`),
		any: text(`SELECT EXISTS (SELECT FROM {table} WHERE name <> '')`),
		due: text(`SELECT {epoch}, name FROM {table}
WHERE due < $1 AND expires > least(now(), $2) AND epoch = (SELECT e.epoch FROM {table} e WHERE e.name = '') ORDER BY due LIMIT $3`),
	}
}
