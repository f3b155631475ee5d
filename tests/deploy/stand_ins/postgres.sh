# As the image `postgres` does: the database is made at the first start, with a password for TCP.
set -eu
install -d -o postgres -m 700 "$PGDATA" /run/postgresql
run() { setpriv --reuid=postgres --regid=postgres --init-groups "$@"; }
if [ ! -e "$PGDATA/PG_VERSION" ]; then
    printf '%s' "$POSTGRES_PASSWORD" >/tmp/password
    chmod 644 /tmp/password
    run initdb --username="$POSTGRES_USER" --pwfile=/tmp/password --auth-host=scram-sha-256 --auth-local=trust
    rm /tmp/password
    echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
    run pg_ctl --wait --options='-c listen_addresses=' start
    run createdb --username="$POSTGRES_USER" --host=/var/run/postgresql "$POSTGRES_DB"
    run pg_ctl --wait stop
fi
exec setpriv --reuid=postgres --regid=postgres --init-groups postgres -c listen_addresses='*'
