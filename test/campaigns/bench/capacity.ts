/**
 * Measures every resource needed to size a deployment, for one turn: `node test/dist/campaigns/bench/capacity.js` (a few minutes). The installation
 * has its default settings, and the provider answers at once; docs/deploy/capacity.md shows the figures of one machine.
 */
import { Agent, request as ask } from "node:http";
import pg from "pg";
import { cpuNs, residentBytes } from "../../support/machine.ts";
import { type Installation, services, startInstallation } from "../../support/installation.ts";
import { samplesOf, scrape } from "../../support/metrics.ts";
import { eventually } from "../../support/processes.ts";
import { chatAnswer, chatChunk, startUpstream } from "../../support/providers/upstream.ts";

const turns = 2_000;
/** Requests before the measurement: the first ten thousand of a process cost more than later ones. */
const warmUp = 10_000;
const atOnce = 8;
const openStreams = 1_000;
/** Rows in each table besides those of the turns: enough for an additional index page to be negligible. */
const rows = 100_000;

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

function turn(
  installation: Installation,
  key: string,
  body: object,
  answered: (status: number) => void = () => {},
): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const request = ask(`${installation.baseUrl}/responses`, { method: "POST", agent, headers }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`status ${response.statusCode}`));
      answered(response.statusCode ?? 0);
      response.resume().on("end", resolve).on("error", reject);
    });
    request.on("error", reject).end(JSON.stringify({ model: "acme/large", input: "Hi", ...body }));
  });
}

async function many(installation: Installation, key: string, count: number): Promise<void> {
  let left = count;
  const work = async () => {
    while (left-- > 0) await turn(installation, key, { max_output_tokens: 100 });
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  await eventually(async () => (await metric(installation, "sluice_ledger_undelivered_records")) === 0);
}

const metric = async (installation: Installation, wanted: string): Promise<number> =>
  samplesOf(await scrape(installation)).find(({ name }) => name === wanted)?.value ?? Number.NaN;

const kib = (bytes: number): string => `${(bytes / 1_024).toFixed(1)} KiB`;

/** Statistics of the database since its start. Postgres publishes them up to a second late. */
async function done(database: pg.Client) {
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const { rows: found } = await database.query<Record<"wal" | "commits" | "changed", string>>(`
    select pg_current_wal_insert_lsn() - '0/0' as wal,
      (select xact_commit from pg_stat_database where datname = current_database()) as commits,
      (select sum(n_tup_ins + n_tup_upd + n_tup_del) from pg_stat_user_tables) as changed`);
  const { wal, commits, changed } = found[0] as Record<"wal" | "commits" | "changed", string>;
  return { wal: Number(wal), commits: Number(commits), changed: Number(changed) };
}

async function measureTurns(installation: Installation, database: pg.Client, name: string, key: string): Promise<void> {
  await many(installation, key, warmUp);
  const pids = installation.pids();
  const cpu = () => services.map((service) => cpuNs(pids[service] ?? 0) / 1_000);
  const [before, used, spool] = [await done(database), cpu(), await metric(installation, "sluice_ledger_spool_bytes")];
  await many(installation, key, turns);
  const after = await done(database);
  const us = cpu().map((now, n) => `${services[n]} ${((now - (used[n] ?? 0)) / turns).toFixed(0)} us`);
  const each = (field: keyof typeof after) => (after[field] - before[field]) / turns;
  const written = (await metric(installation, "sluice_ledger_spool_bytes")) - spool;
  console.log(`a turn of ${name}: processor ${us.join(", ")}`);
  console.log(
    `  spool ${kib(written / turns)}, WAL ${kib(each("wal"))}, ${each("changed").toFixed(2)} rows written, ${each("commits").toFixed(2)} transactions`,
  );
}

async function measureRecords(database: pg.Client): Promise<void> {
  await database.query("begin");
  await database.query(
    `insert into ledger
      select (jsonb_populate_record(r, jsonb_build_object(
        'turn_id', (lpad(to_hex((extract(epoch from (r).opened_at) * 1000)::bigint + n), 12, '0') || substr(md5(n::text), 1, 20))::uuid,
        'call_sequence', 10000000 + n, 'log_sequence', nextval('ledger_log'), 'opened_at', (r).opened_at + n * interval '1 ms',
        'generation_id', 'gen-' || substr(md5(n::text), 1, 22), 'request_id', 'req_' || substr(md5(n::text), 1, 22)))).*
      from (select ledger as r from ledger limit 1) one, generate_series(1, $1) n`,
    [rows],
  );
  const { rows: found } = await database.query<{ whole: string; heap: string; count: string }>(
    `select sum(pg_total_relation_size(inhrelid)) as whole, sum(pg_relation_size(inhrelid)) as heap, (select count(*) from ledger) as count
     from pg_inherits where inhparent = 'ledger'::regclass`,
  );
  const { whole, heap, count } = found[0] as { whole: string; heap: string; count: string };
  const each = (bytes: string) => `${(Number(bytes) / Number(count)).toFixed(0)} bytes`;
  console.log(`a turn in Postgres: ${each(whole)}, of which ${each(heap)} are the row (${count} of them)`);
  await database.query("rollback");
}

async function measureStreams(installation: Installation): Promise<void> {
  const pids = installation.pids();
  const resident = () => services.slice(0, 2).map((service) => residentBytes(pids[service] ?? 0));
  const before = resident();
  let begun = 0;
  const open = Array.from({ length: openStreams }, () =>
    turn(installation, installation.apiKey, { stream: true }, () => begun++),
  );
  for (const one of open) one.catch(() => {});
  await eventually(() => begun === openStreams);
  const each = resident().map((now, n) => `${services[n]} ${kib((now - (before[n] ?? 0)) / openStreams)}`);
  console.log(`an open stream, ${openStreams} at once, resident memory: ${each.join(", ")}`);
}

const upstream = await startUpstream([chatAnswer({ role: "assistant", content: "Hello" })]);
const installation = await startInstallation({
  embeddedPostgres: true,
  config: `
providers: [{id: acme, dialect: chat, base_url: "${upstream.url}/v1"}]
models: [{id: acme/large, endpoints: [{provider: acme, pricing: {prompt: "1", completion: "2"}}]}]
limits: {streams_per_key: 10000}
`,
});
const database = new pg.Client({ connectionString: installation.databaseUrl });
try {
  await database.connect();
  const pids = installation.pids();
  const idle = services.map(
    (service) => `${service} ${(residentBytes(pids[service] ?? 0) / 1_048_576).toFixed(0)} MiB`,
  );
  console.log(`resident memory after the start: ${idle.join(", ")}`);
  const made = await installation.admin("keys", "create", "--name", "budget", "--limit", "1000", "--json");
  await measureTurns(installation, database, "a key without a budget", installation.apiKey);
  await measureTurns(installation, database, "a key with a budget", (JSON.parse(made.stdout) as { key: string }).key);
  await measureRecords(database);
  const { rows: connections } = await database.query<{ count: string }>(
    "select count(*) from pg_stat_activity where application_name like 'sluice%'",
  );
  console.log(`connections of one admin-svc now: ${connections[0]?.count}`);
  upstream.script([{ chunks: [{ sse: [chatChunk({ content: "Hello" })] }], hang: true }]);
  await measureStreams(installation);
} finally {
  agent.destroy();
  await database.end();
  await installation.stop();
  await upstream.stop();
}
