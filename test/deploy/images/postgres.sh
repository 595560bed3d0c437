# The steps that the image docker.io/library/postgres:18 takes at its start, as far as the development overlay needs them.
set -e
data=/var/lib/postgresql/18/docker
if [ ! -e $data/PG_VERSION ]; then
  mkdir -p $data
  umask 077
  printf '%s\n' "$POSTGRES_PASSWORD" > $data.password
  initdb --pgdata=$data --username="$POSTGRES_USER" --pwfile=$data.password --auth=scram-sha-256 --encoding=UTF8 --locale=C --no-instructions
  rm $data.password
  printf 'CREATE DATABASE "%s"\n' "$POSTGRES_DB" | postgres --single -D $data postgres
  printf 'host all all all scram-sha-256\n' >> $data/pg_hba.conf
fi
exec postgres -D $data -c 'listen_addresses=*' -c unix_socket_directories=/var/run/postgresql
