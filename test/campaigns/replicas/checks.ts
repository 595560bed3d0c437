/** Compares the final records with the answers that clients got. Each check has a name and a list of complaints. */
import { auditStates } from "@sluice/admin-svc/store/audit-check.js";
import { commandConnectionLimits, openDatabase } from "@sluice/admin-svc/store/postgres/postgres.js";
import pg from "pg";
import { wrongRecords } from "../chaos/records.ts";
import type { ReplicaAdministrator } from "./administrator.ts";
import { type Clients, budgetCalls, callCost } from "./clients.ts";
import type { ReplicaCluster } from "./cluster.ts";
import type { CountingProvider } from "./provider.ts";

export type Findings = Readonly<Record<string, readonly string[]>>;

export interface CheckedState {
  readonly cluster: ReplicaCluster;
  readonly provider: CountingProvider;
  readonly clients: Clients;
  readonly administrator: ReplicaAdministrator;
}

/** Number of latest generations that are also read over HTTP. */
const shownGenerations = 20;
/** Number of keys on a page of the list. */
const pageSize = 100;

export async function compareStates(checked: CheckedState): Promise<Findings> {
  const { cluster, provider, clients, administrator } = checked;
  const { url } = cluster.postgres;
  const database = new pg.Client({ connectionString: url });
  await database.connect();
  try {
    const { missing, doubled, unrecorded, sums } = await wrongRecords(url, database, provider.calls, clients.answered);
    return {
      "acknowledged changes that are not in the audit log": await unaudited(database, administrator.acknowledged),
      "acknowledged keys that are not there as they were named": await wrongKeys(administrator),
      "entries of the audit log that do not fit": await wrongAudit(url),
      "calls of the provider without a record": missing,
      "calls charged twice": [...doubled, ...(await wrongCosts(database))],
      "answered turns without a record": [...unrecorded, ...(await wrongGenerations(cluster, clients, administrator))],
      "sums and numbers of the ledger that do not fit": sums,
      "calls above a budget and one more of each process": overshot(provider, cluster.inference.length),
      "repeats that asked the provider again": [...clients.repeated, ...(await askedTwice(database, clients.once))],
    };
  } finally {
    await database.end();
  }
}

async function unaudited(database: pg.Client, acknowledged: readonly string[]): Promise<string[]> {
  const { rows } = await database.query<{ request_id: string }>("select distinct request_id from audit_log");
  const audited = new Set(rows.map((row) => row.request_id));
  return acknowledged.filter((id) => !audited.has(id)).map((id) => `${id} was acknowledged`);
}

async function wrongAudit(databaseUrl: string): Promise<string[]> {
  const database = openDatabase(databaseUrl, commandConnectionLimits, () => {});
  try {
    return (await auditStates(database)).flatMap(({ name, wrong }) =>
      wrong.map((entry) => `entry ${entry} of ${name}`),
    );
  } finally {
    await database.destroy();
  }
}

/** Reads every key over HTTP. */
async function wrongKeys(administrator: ReplicaAdministrator): Promise<string[]> {
  const names = new Map<string, string>();
  for (let total = 1, offset = 0; offset < total; offset += pageSize) {
    const path = `/keys?limit=${pageSize}&offset=${offset}&include_disabled=true`;
    const { status, body } = await administrator.send(0, "GET", path);
    if (status !== 200) return [`${status} to ${path}: ${JSON.stringify(body)}`];
    const page = body as { data: { hash: string; name: string }[]; total_count: number };
    total = page.total_count;
    for (const { hash, name } of page.data) names.set(hash, name);
  }
  return administrator.keys
    .filter(({ hash, acknowledged, uncertain }) => {
      const name = names.get(hash);
      return name === undefined || (name !== acknowledged && !uncertain.has(name));
    })
    .map(({ hash, acknowledged }) => `${hash} is "${names.get(hash)}" and was named "${acknowledged}"`);
}

async function wrongCosts(database: pg.Client): Promise<string[]> {
  const { rows } = await database.query<{ session_id: string; cost_usd: string }>(
    `select session_id, cost_usd from all_calls
     where model = 'acme/large' and status = 'completed' and cost_usd is distinct from $1::numeric limit 10`,
    [callCost],
  );
  return rows.map(({ session_id, cost_usd }) => `a call for ${session_id} costs ${cost_usd}`);
}

interface ShownGeneration {
  readonly outcome?: string;
  readonly provider_responses?: readonly { readonly status: number }[];
}

async function wrongGenerations(
  cluster: ReplicaCluster,
  { generations }: Clients,
  administrator: ReplicaAdministrator,
): Promise<string[]> {
  const wrong: string[] = [];
  for (const [n, id] of generations.slice(-shownGenerations).entries()) {
    const path = `/generation?id=${encodeURIComponent(id)}`;
    const { status, body } = await administrator.send(n % cluster.gateways.length, "GET", path);
    // An outage (slow statements on a busy machine) says nothing about the record, which the other checks have read from the database.
    if (status === 500) continue;
    const { outcome, provider_responses: calls = [] } = (body as { data?: ShownGeneration } | undefined)?.data ?? {};
    const whole = calls.filter((call) => call.status === 200).length;
    if (outcome !== "completed" || whole !== 1) wrong.push(`${id}: ${status}, ${outcome}, ${whole} whole answers`);
  }
  return wrong;
}

function overshot(provider: CountingProvider, processes: number): string[] {
  const spent = new Map<string, number>();
  for (const [text, count] of provider.calls) {
    const [, key] = /^budget-([\d.]+)-/.exec(text) ?? [];
    if (key !== undefined) spent.set(key, (spent.get(key) ?? 0) + count);
  }
  return [...spent]
    .filter(([, count]) => count > budgetCalls + processes)
    .map(([key, count]) => `key ${key} made ${count} calls with money for ${budgetCalls}`);
}

/**
 * Sessions with more than one call that was not given up. A turn handed over from a lost process has a second call, but one of the two is given up.
 */
async function askedTwice(database: pg.Client, once: readonly string[]): Promise<string[]> {
  const { rows } = await database.query<{ session_id: string; calls: string }>(
    `select session_id, count(*) as calls from all_calls
     where session_id = any($1) and status not in ('lost', 'cancelled') group by session_id having count(*) > 1`,
    [once],
  );
  return rows.map(({ session_id, calls }) => `${calls} calls for ${session_id}`);
}
