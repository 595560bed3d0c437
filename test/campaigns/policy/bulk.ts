/** Assigning a guardrail to 500 keys in one call, compared with a minimal transaction: both in turn, one at a time and eight at a time. */
import { hashKey, mintKey, KeyKind } from "@sluice/proto/lib/ids/key.js";
import pg from "pg";
import type { Installation } from "../../support/installation.ts";
import { Administrator } from "./administrator.ts";
import { type Figure, quantile, spreadLabel } from "./figure.ts";

const keyCount = 500;
const clients = 8;
const maxTimes = 2;

/** Milliseconds of each of several concurrent calls. */
async function times(count: number, work: (n: number) => Promise<unknown>): Promise<number[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, n) => {
      const at = performance.now();
      await work(n);
      return performance.now() - at;
    }),
  );
}

/** The minimal transaction: locks the keys, and gives them the guardrail. */
async function bare(client: pg.Client, guardrail: string, keyHashes: readonly string[]): Promise<void> {
  await client.query("begin");
  await client.query("select hash from api_keys where hash = any($1) order by hash for update", [keyHashes]);
  await client.query(
    `insert into guardrail_key_assignments (key_hash, guardrail_id) select unnest($1::text[]), $2
     on conflict (key_hash) do update set guardrail_id = excluded.guardrail_id, created_at = now()`,
    [keyHashes, guardrail],
  );
  await client.query("commit");
}

async function makeKeys(database: pg.Client): Promise<string[]> {
  const hashes = Array.from({ length: keyCount }, () => hashKey(mintKey(KeyKind.INFERENCE)));
  await database.query(
    `insert into api_keys (hash, workspace_id, name, kind, label)
     select hash, (select workspace_id from api_keys limit 1), 'bulk', 'inference', 'sk-sl-bulk' from unnest($1::text[]) as hash`,
    [hashes],
  );
  return hashes;
}

export async function measureBulk(installation: Installation, rounds: number): Promise<Figure[]> {
  const administrator = new Administrator(installation);
  const connections = Array.from(
    { length: clients },
    () => new pg.Client({ connectionString: installation.databaseUrl }),
  );
  await Promise.all(connections.map((client) => client.connect()));
  const keyHashes = await makeKeys(connections[0] as pg.Client);
  const guardrails = [await administrator.makeGuardrail("one"), await administrator.makeGuardrail("other")];
  const figures: Figure[] = [];
  for (const atOnce of [1, clients]) {
    const called: number[] = [];
    const direct: number[] = [];
    for (let round = 0; round < rounds; round++) {
      // The guardrail alternates, so each call changes all keys.
      const of = (n: number) => guardrails[(round + n) % 2] as string;
      called.push(...(await times(atOnce, (n) => administrator.assign(of(n), keyHashes))));
      direct.push(...(await times(atOnce, (n) => bare(connections[n] as pg.Client, of(n + 1), keyHashes))));
    }
    const ratio = quantile(called, 0.99) / quantile(direct, 0.99);
    figures.push({
      measure: `${keyCount} keys in one call, ${atOnce} at a time, against the bare transaction`,
      found: `${ratio.toFixed(1)}x: ${spreadLabel(called)} against ${spreadLabel(direct)}`,
      goal: `p99 ${maxTimes}x`,
      reached: ratio <= maxTimes,
    });
  }
  for (const client of connections) await client.end();
  return figures;
}
