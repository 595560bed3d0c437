/**
 * Sends random requests against the budgets of real processes, and compares the cost with the provider's own journal.
 *
 * By the journal, a key's calls cost at most its limit plus a bound. The bound has two parts, both zero for a provider with exact counts and a
 * connected client: the amount by which estimated records (of cancelled calls, or calls without figures from the provider) are below the journal; and
 * the amount by which concurrent calls exceed their worst case, if a provider counts more than any rule explains.
 */
import { setTimeout as wait } from "node:timers/promises";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { ledgerState } from "@sluice/admin-svc/store/ledger/ledger-check.js";
import { commandConnectionLimits, openDatabase } from "@sluice/admin-svc/store/postgres/postgres.js";
import pg from "pg";
import { Random } from "../../support/random.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { type JournalEntry, costOf, modelBehaviours, prices, startJournalProvider, windowTokens } from "./provider.ts";
import { type PlannedRequest, behaviourNames, planRequest } from "./requests.ts";

export interface BudgetReport {
  readonly asked: number;
  /** Number of answers by status; status 0 for clients that left. */
  readonly statuses: Readonly<Record<string, number>>;
  readonly groups: readonly Group[];
  readonly complaints: readonly string[];
}

/** Keys whose requests go to one kind of model, from clients that stay or leave. Amounts are in USD. */
export interface Group {
  readonly name: string;
  readonly keys: number;
  readonly limits: number;
  readonly journal: number;
  /** Maximum amount by which a key's journal exceeds its limit, and the bound of the same key. */
  readonly overshoot: number;
  readonly bound: number;
}

export interface BudgetOptions {
  readonly seed: number;
  readonly requests: number;
  /** Whether the installation runs a Postgres of its own; otherwise it uses that of the test run. */
  readonly embeddedPostgres?: boolean;
  readonly progress?: (line: string) => void;
}

/** Number of concurrent requests with one key. */
const clientsPerKey = 4;
const requestsPerKey = 40;
/** Number of keys in use at the same time. */
const keysAtOnce = 4;
/** Milliseconds until all records must be delivered. */
const settledLimitMs = 120_000;
/** Difference between sums that is ignored: they are floats with ten significant digits. */
const rounding = 1e-9;

interface Key {
  readonly secret: string;
  readonly limit: number;
  readonly manner: string;
  readonly leaves: boolean;
  readonly requests: readonly PlannedRequest[];
}

export async function runBudgetCampaign({
  seed,
  requests,
  embeddedPostgres = false,
  progress = () => {},
}: BudgetOptions): Promise<BudgetReport> {
  const provider = await startJournalProvider(seed);
  const installation = await startInstallation({
    embeddedPostgres,
    inferenceReplicas: 2,
    config: configOf(provider.url),
  });
  try {
    await limitTags(installation);
    const keys = await makeKeys(installation, Math.ceil(requests / requestsPerKey), new Random(seed));
    const statuses: Record<string, number> = {};
    let used = 0;
    const left = [...keys];
    await Promise.all(
      Array.from({ length: keysAtOnce }, async () => {
        for (let key = left.shift(); key; key = left.shift()) {
          await use(installation, key, statuses);
          progress(`${++used} of ${keys.length} keys, ${provider.journal.length} calls`);
        }
      }),
    );
    const database = new pg.Client({ connectionString: installation.databaseUrl });
    await database.connect();
    try {
      const complaints = [...(await settled(installation, database)), ...untold(provider.journal)];
      const groups = await judged(database, keys, provider.journal, complaints);
      return { asked: keys.length * requestsPerKey, statuses, groups, complaints };
    } finally {
      await database.end();
    }
  } finally {
    await installation.stop();
    await provider.stop();
  }
}

const configOf = (url: string): string => `
providers:
  - {id: journal, dialect: chat, base_url: "${url}/v1"}
models:
${behaviourNames
  .map(
    (name) => `  - id: journal/${name}
    context_length: ${windowTokens}
    input_modalities: [text, image, file, audio]
    endpoints: [{provider: journal, pricing: {prompt: "${prices.prompt}", completion: "${prices.completion}"}}]`,
  )
  .join("\n")}
limits: {streams_per_key: 1000}
`;

/** USD limit of a tag budget, from which some keys are paid instead of from their own. */
const tagLimit = 1;

/** Gives each value of the tag of a key its own budget. */
async function limitTags(installation: Installation): Promise<void> {
  const answer = await fetch(`${installation.baseUrl}/workspaces/${defaultWorkspaceId}`, {
    method: "PATCH",
    headers: { authorization: `Bearer ${installation.managementKey}`, "content-type": "application/json" },
    body: JSON.stringify({ tag_budgets: [{ tag: "paid_by", value: "*", limit: tagLimit }] }),
  });
  if (!answer.ok) throw new Error(`budgets for tags: ${answer.status} ${await answer.text()}`);
}

async function makeKeys(installation: Installation, count: number, random: Random): Promise<readonly Key[]> {
  const keys: Key[] = [];
  for (let n = 0; n < count; n++) {
    // USD limit: enough for the worst case of a document and an answer of default length, and for some ten more calls.
    const ownLimit = Math.round((0.6 + random.next()) * 1_000) / 1_000;
    const isOfTag = n % 3 === 0;
    const limit = isOfTag ? tagLimit : ownLimit;
    const answer = await fetch(`${installation.baseUrl}/keys`, {
      method: "POST",
      headers: { authorization: `Bearer ${installation.managementKey}`, "content-type": "application/json" },
      body: JSON.stringify({ name: `key ${n}`, ...(isOfTag ? { tags: { paid_by: `key ${n}` } } : { limit }) }),
    });
    const { key: secret } = (await answer.json()) as { key: string };
    const manner = behaviourNames[n % behaviourNames.length] as string;
    const leaves = n % (2 * behaviourNames.length) >= behaviourNames.length;
    const requests = Array.from({ length: requestsPerKey }, (_, m) =>
      planRequest(n * requestsPerKey + m, random, manner, leaves),
    );
    keys.push({ secret, limit, manner, leaves, requests });
  }
  return keys;
}

async function use(installation: Installation, key: Key, statuses: Record<string, number>): Promise<void> {
  const left = [...key.requests];
  await Promise.all(
    Array.from({ length: clientsPerKey }, async () => {
      for (let request = left.shift(); request; request = left.shift()) {
        const status = await sendRequest(installation, key.secret, request);
        statuses[status] = (statuses[status] ?? 0) + 1;
      }
    }),
  );
}

/** @returns the status; 0 if the client left */
async function sendRequest(
  installation: Installation,
  secret: string,
  { body, leavesMs }: PlannedRequest,
): Promise<number> {
  const leave = new AbortController();
  const timer = leavesMs === undefined ? undefined : setTimeout(() => leave.abort(), leavesMs);
  try {
    const answer = await fetch(`${installation.baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: leave.signal,
    });
    await answer.arrayBuffer();
    return answer.status;
  } catch (error) {
    if (!leave.signal.aborted) throw error;
    return 0;
  } finally {
    clearTimeout(timer);
  }
}

/** Waits until nothing is reserved and the ledger is complete. @returns the violations that remain after the time limit */
async function settled(installation: Installation, database: pg.Client): Promise<string[]> {
  const ledger = openDatabase(installation.databaseUrl, commandConnectionLimits, () => {});
  const limit = performance.now() + settledLimitMs;
  try {
    for (;;) {
      const { gaps, wrongSums } = await ledgerState(ledger);
      const { rows } = await database.query<{ held: string }>("select count(*) as held from budget_reservations");
      const held = Number(rows[0]?.held);
      const complaints = [
        ...(held > 0 ? [`${held} reservations are left`] : []),
        ...gaps.map(({ missing }) => `${missing} records are missing`),
        ...wrongSums.map(({ owner }) => `the sums of ${owner} are not those of its records`),
      ];
      if (complaints.length === 0 || performance.now() > limit) return complaints;
      await wait(100);
    }
  } finally {
    await ledger.destroy();
  }
}

const untold = (journal: readonly JournalEntry[]): string[] =>
  journal.flatMap(({ request, limit }) =>
    limit === undefined ? [`the provider was told no maximum for ${request}`] : [],
  );

interface RecordRow {
  readonly session_id: string;
  readonly cost: string | null;
  readonly is_estimated: boolean;
}

async function judged(
  database: pg.Client,
  keys: readonly Key[],
  journal: readonly JournalEntry[],
  complaints: string[],
): Promise<readonly Group[]> {
  const { rows } = await database.query<RecordRow>("select session_id, cost_usd as cost, is_estimated from all_calls");
  const records = new Map<string, RecordRow[]>();
  for (const row of rows) records.set(row.session_id, [...(records.get(row.session_id) ?? []), row]);
  const calls = new Map(journal.map((entry) => [entry.request, entry]));
  const results = keys.map((key) => resultOf(key, calls, records, complaints));
  const names = [...new Set(results.map(({ name }) => name))];
  return names.map((name) => {
    const own = results.filter((result) => result.name === name);
    const worst = own.reduce((most, result) => (result.overshoot > most.overshoot ? result : most));
    return {
      name,
      keys: own.length,
      limits: sum(own.map(({ limit }) => limit)),
      journal: sum(own.map(({ cost }) => cost)),
      overshoot: worst.overshoot,
      bound: worst.bound,
    };
  });
}

interface Result {
  readonly name: string;
  readonly limit: number;
  readonly cost: number;
  readonly overshoot: number;
  readonly bound: number;
}

function resultOf(
  { limit, manner, leaves, requests }: Key,
  calls: ReadonlyMap<string, JournalEntry>,
  records: ReadonlyMap<string, readonly RecordRow[]>,
  complaints: string[],
): Result {
  const name = `${manner}, clients ${leaves ? "leave" : "stay"}`;
  const own = requests.flatMap(({ id }) => calls.get(id) ?? []);
  let unseen = 0;
  for (const entry of own) {
    const found = records.get(entry.request) ?? [];
    const recorded = sum(found.map((record) => Number(record.cost)));
    const missing = costOf(entry) - recorded;
    if (found.length === 0) complaints.push(`${entry.request} is not on record`);
    else if (found.some((record) => record.is_estimated)) unseen += Math.max(0, missing);
    else if (Math.abs(missing) > rounding)
      complaints.push(`${entry.request} cost ${costOf(entry)} and is on record with ${recorded}`);
  }
  const cost = sum(own.map(costOf));
  const dearest = own.reduce((most, entry) => Math.max(most, costOf(entry)), 0);
  // For each call, at least its cost by the rules was reserved, which is the cost divided by the provider's factor.
  const excess = dearest * (1 - 1 / (modelBehaviours[manner]?.factor ?? 1));
  const bound = unseen + clientsPerKey * excess;
  const overshoot = cost - limit;
  if (overshoot > bound + rounding)
    complaints.push(`a key of ${limit} USD (${name}) spent ${cost}: ${overshoot - bound} above its bound of ${bound}`);
  return { name, limit, cost, overshoot, bound };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
