import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { hashKey, mintKey, KeyKind } from "@sluice/proto/lib/ids/key.js";
import pg from "pg";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { Random } from "../../support/random.ts";
import { fixedSeed } from "../../support/runner/fixed-seed.ts";

const random = new Random(fixedSeed);

const keyCount = 500;
const clients = 60;
const rounds = 5;

interface Answer {
  readonly status: number;
  readonly body: Record<string, number>;
}

describe("assigning and removing 500 keys from sixty clients at once", () => {
  let installation: Installation;
  let database: pg.Client;
  const guardrails: string[] = [];
  const hashes = Array.from({ length: keyCount }, () => hashKey(mintKey(KeyKind.INFERENCE)));

  beforeAll(async () => {
    installation = await startInstallation({});
    for (const name of ["first", "second"]) {
      const created = await installation.admin(
        "guardrails",
        "create",
        "--name",
        name,
        "--block",
        "never-said",
        "--json",
      );
      guardrails.push((JSON.parse(created.stdout) as { id: string }).id);
    }
    database = new pg.Client({ connectionString: installation.databaseUrl });
    await database.connect();
    // 500 rows next to the two made before; their keys exist nowhere else.
    await database.query(
      `insert into api_keys (hash, workspace_id, name, kind, label)
       select hash, (select workspace_id from api_keys limit 1), 'bulk', 'inference', 'sk-sl-bulk' from unnest($1::text[]) as hash`,
      [hashes],
    );
  });
  afterAll(async () => {
    await database?.end();
    await installation?.stop();
  });

  const bulk = async (guardrail: string, remove: boolean): Promise<Answer> => {
    const shuffled = hashes.toSorted(() => random.next() - 0.5);
    const response = await fetch(
      `${installation.baseUrl}/guardrails/${guardrail}/assignments/keys${remove ? "/remove" : ""}`,
      {
        method: "POST",
        headers: { authorization: `Bearer ${installation.managementKey}`, "content-type": "application/json" },
        body: JSON.stringify({ key_hashes: shuffled }),
      },
    );
    return { status: response.status, body: (await response.json()) as Record<string, number> };
  };

  test(`fails in none of ${rounds} rounds, leaves every key with one guardrail or all without, and counts right`, async () => {
    for (let round = 0; round < rounds; round++) {
      const answers = await Promise.all(
        Array.from({ length: clients }, (_, n) => bulk(guardrails[n % 2] as string, n % 3 === 2)),
      );
      expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: clients }, () => 200));
      const assigned = answers.filter((_, n) => n % 3 !== 2).map(({ body }) => body["assigned_count"]);
      expect(new Set(assigned)).toEqual(new Set([keyCount]));
      // A removal counts all keys or none, because bulk operations do not interleave.
      for (const { body } of answers.filter((_, n) => n % 3 === 2)) {
        expect([0, keyCount]).toContain(body["unassigned_count"]);
      }
      const { rows } = await database.query<{ held: number; of: number }>(
        "select count(*)::int as held, count(distinct guardrail_id)::int as of from guardrail_key_assignments",
      );
      expect([
        { held: keyCount, of: 1 },
        { held: 0, of: 0 },
      ]).toContainEqual(rows[0]);
    }
    await bulk(guardrails[0] as string, false);
    const removed = await Promise.all(guardrails.map((guardrail) => bulk(guardrail, true)));
    expect(removed.map(({ body }) => body["unassigned_count"])).toEqual([keyCount, 0]);
  }, 900_000);
});
