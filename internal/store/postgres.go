package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"pawl/internal/diag"
)

// configOf reads the address of a database.
func configOf(address string) (*pgx.ConnConfig, error) {
	if !strings.HasPrefix(address, "postgres://") && !strings.HasPrefix(address, "postgresql://") {
		return nil, &diag.Problem{Message: "open the history: PAWL_DB is no address that pawl knows", Hint: "expected postgres://USER:PASSWORD@HOST/DATABASE; without PAWL_DB the history is .pawl/history.db"}
	}
	config, err := pgx.ParseConfig(address)
	if err != nil { // its text has the address
		return nil, &diag.Problem{Message: "open the history: PAWL_DB cannot be read as an address", Hint: "expected postgres://USER:PASSWORD@HOST/DATABASE, with %40 for an @ in the password"}
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 10 * time.Second
	}
	config.RuntimeParams["application_name"] = "pawl"
	config.RuntimeParams["search_path"] = schemaName
	return config, nil
}

// openPostgres connects to a database. What the URL says besides host and database is not repeated:
// it may hold a password.
func openPostgres(ctx context.Context, address string) (*DB, error) {
	config, err := configOf(address)
	if err != nil {
		return nil, err
	}
	handle := stdlib.OpenDB(*config)
	handle.SetMaxOpenConns(8)
	handle.SetConnMaxIdleTime(time.Minute)
	db := &DB{sql: handle, dialect: postgresDialect, where: "PostgreSQL at " + net.JoinHostPort(config.Host, fmt.Sprint(config.Port)) + ", database " + config.Database}
	for _, secret := range []string{config.Password, address} {
		if secret != "" {
			db.secrets = append(db.secrets, secret)
		}
	}
	if err := db.migrate(ctx, migrations); err != nil {
		db.sql.Close()
		return nil, db.explain("open the history", err)
	}
	return db, nil
}

// schemaName is where the tables are: the database may have other ones.
const schemaName = "pawl"

// schemaLock is the number of the lock that migrations hold: any, and always the same.
const schemaLock = 0x7061776c

var postgresDialect = dialect{
	stamp: `SELECT (SELECT coalesce(max(seq), 0) FROM runs), (SELECT count(*) FROM runs), (SELECT coalesce(max(id), 0) FROM notes), (SELECT count(*) FROM notes)`,
	types: strings.NewReplacer("{serial}", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "{never again}", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "{key}", "BIGINT PRIMARY KEY", "{bytes}", "BYTEA", "{real}", "DOUBLE PRECISION",
		"{c}", `COLLATE "C"`, "{clustered}", ""),
	rewrite: func(query string) string { return query },
	again: func(err error) bool {
		e, ok := errors.AsType[*pgconn.PgError](err)
		switch {
		case !ok:
			// The server went away before anything was sent.
			return pgconn.SafeToRetry(err)
		case e.Code == "40001", e.Code == "40P01": // serialization failure, deadlock
			return true
		}
		return false
	},
	lockSchema: func(ctx context.Context, tx querier) error {
		if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, schemaLock); err != nil {
			return err
		}
		var there int
		err := tx.QueryRowContext(ctx, `SELECT count(*) FROM pg_namespace WHERE nspname = $1`, schemaName).Scan(&there)
		if err == nil && there == 0 { // even where it is there, making it needs a privilege
			_, err = tx.ExecContext(ctx, `CREATE SCHEMA `+schemaName)
		}
		return err
	},
	version: func(ctx context.Context, q querier) (version int, err error) {
		// A table, unlike a cache of names, shows what others have just made.
		var there int
		if err = q.QueryRowContext(ctx, `SELECT count(*) FROM pg_tables WHERE schemaname = $1 AND tablename = 'version'`, schemaName).Scan(&there); err != nil || there == 0 {
			return 0, err
		}
		err = q.QueryRowContext(ctx, `SELECT version FROM version`).Scan(&version)
		return version, err
	},
	setVersion: func(ctx context.Context, tx querier, version int) error {
		for _, query := range []string{
			`CREATE TABLE IF NOT EXISTS version (version BIGINT NOT NULL)`,
			`DELETE FROM version`,
			fmt.Sprintf(`INSERT INTO version VALUES (%d)`, version),
		} {
			if _, err := tx.ExecContext(ctx, query); err != nil {
				return err
			}
		}
		return nil
	},
	remedy: func(_ *DB, err error) string {
		e, ok := errors.AsType[*pgconn.PgError](err)
		switch {
		case ok && (strings.HasPrefix(e.Code, "28") || e.Code == "42501"): // authorization, privilege
			return "PAWL_DB names a user who may not do this: it must own the tables of its database"
		case ok && e.Code == "3D000":
			return "create the database first: createdb NAME"
		case ok && strings.HasPrefix(e.Code, "53"): // disk full, too many connections
			return "the server lacks room; pawl history import .pawl/runs adds what is missing"
		}
		return "is the server there? pawl history import .pawl/runs adds what is missing"
	},
}
