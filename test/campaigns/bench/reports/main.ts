/**
 * Measures reports over four million turns, by themselves and as they slow down requests: eight clients reload them while 1,000 keys are created and
 * used at once. `node test/dist/campaigns/bench/reports/main.js` (some ten minutes, mostly to fill the tables), or with other numbers of turns and
 * keys. Fails if a request is refused.
 */
import { loadavg } from "node:os";
import { closeNext } from "@sluice/admin-svc/store/ledger/cube.js";
import { hasChanges, tryFold } from "@sluice/admin-svc/store/ledger/fold.js";
import {
  migrationConnectionLimits,
  openDatabase,
  writeConnectionLimits,
} from "@sluice/admin-svc/store/postgres/postgres.js";
import { sql } from "kysely";
import { type Installation, startInstallation } from "../../../support/installation.ts";
import { fillLedger, hashOfKey } from "../../../support/ledger/many-turns.ts";
import { median } from "../measure/rounds.ts";

const turns = Number(process.argv[2] ?? 4_000_000);
const newKeys = Number(process.argv[3] ?? 1_000);
const reports = [
  "activity",
  "activity?group_by=operation",
  "keys?sort=-spent",
  "keys?sort=-last_used",
  "generations?model=acme/model-0&provider=provider-1",
  "generations?status=200&outcome=cancelled",
  "usage/series?step=day&by=user",
  "audit/verify",
];

/** Measured one after the other. */
const key = hashOfKey(7);
const alone = [
  ...reports,
  `usage/series?key=${key}`,
  "usage/series?by=key&model=acme/model-3",
  "usage/series?by=key&status=5xx",
  "usage/series?by=status&door=chat",
  "usage/series?by=status,key",
  "usage/series?by=key,model",
  "usage/series?by=error",
  "usage/series?step=week&by=key,model",
  "usage/series?step=hour&by=key,model",
  "usage/change",
  "usage/health",
  "keys?sort=last_used",
  `keys?q=${key}`,
];
const rounds = 5;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

async function fill({ databaseUrl }: Installation): Promise<void> {
  const database = openDatabase(databaseUrl, migrationConnectionLimits, () => {});
  // A connection with the limits of admin-svc's worker, which adds to the sums at the same time.
  const limited = openDatabase(databaseUrl, writeConnectionLimits, () => {});
  try {
    await fillLedger(database, { turns, days: 40, keys: 1_000, users: 10_000 });
    while (await hasChanges(limited)) await tryFold(limited);
    while ((await closeNext(limited, { before: new Date() })) !== "none");
    await sql`vacuum analyze usage_cube`.execute(database);
  } finally {
    await Promise.all([database.destroy(), limited.destroy()]);
  }
}

const sendRequest = async (installation: Installation, path: string, key: string, body?: object) => {
  const began = performance.now();
  const response = await fetch(`${installation.baseUrl}/${path}`, {
    ...(body && { method: "POST", body: JSON.stringify(body) }),
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
  });
  return { status: response.status, answer: await response.text(), ms: performance.now() - began };
};

/** Requests a report again and again until `stop` aborts. @returns the number of answers by status */
async function reload(installation: Installation, path: string, stop: AbortSignal): Promise<Record<number, number>> {
  const statuses: Record<number, number> = {};
  while (!stop.aborted) {
    const { status } = await sendRequest(installation, path, installation.managementKey);
    statuses[status] = (statuses[status] ?? 0) + 1;
  }
  return statuses;
}

async function useNewKeys(installation: Installation): Promise<void> {
  const took: number[] = [];
  const refused: string[] = [];
  for (let n = 0; n < newKeys; n++) {
    const made = await sendRequest(installation, "keys", installation.managementKey, { name: `new ${n}` });
    const { key } = JSON.parse(made.answer) as { key?: string };
    if (key === undefined) throw new Error(made.answer);
    const { status, answer, ms } = await sendRequest(installation, "responses", key, {
      model: "sluice/echo",
      input: "Hi",
    });
    took.push(ms);
    if (status !== 200) refused.push(`${status}: ${answer.slice(0, 200)}`);
  }
  say(
    `${newKeys} new keys: ${refused.length} refused, median ${Math.round(median(took))} ms, most ${Math.round(Math.max(...took))} ms`,
  );
  for (const each of refused.slice(0, 5)) say(each);
  if (refused.length > 0) process.exitCode = 1;
}

say(`load average ${loadavg()[0]?.toFixed(1)}`);
const installation = await startInstallation({ embeddedPostgres: true });
try {
  say(`filling ${turns.toLocaleString("en")} turns`);
  await fill(installation);
  for (const path of alone) {
    const answers = [];
    for (let n = 0; n < rounds; n++) answers.push(await sendRequest(installation, path, installation.managementKey));
    const took = answers.map(({ ms }) => ms);
    const statuses = [...new Set(answers.map(({ status }) => status))].join(" and ");
    say(`${path}: ${statuses}, median ${Math.round(median(took))} ms, most ${Math.round(Math.max(...took))} ms`);
  }
  const stop = new AbortController();
  const reloading = reports.map((path) => reload(installation, path, stop.signal));
  await useNewKeys(installation);
  stop.abort();
  for (const [n, statuses] of (await Promise.all(reloading)).entries()) {
    say(`${reports[n]}: ${JSON.stringify(statuses)}`);
    if ("500" in statuses) process.exitCode = 1;
  }
} finally {
  await installation.stop();
}
