import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { hashKey, mintKey, KeyKind } from "@sluice/proto/runtime/key.js";
import pg from "pg";
import { type House, startHouse } from "../support/house.ts";

const keyCount = 500;
const clients = 8;
const rounds = 20;

interface Assigned {
  readonly status: number;
  readonly body: Record<string, number>;
}

describe("assigning 500 keys from eight clients at once", () => {
  let house: House;
  let database: pg.Client;
  const guardrails: string[] = [];
  const hashes = Array.from({ length: keyCount }, () => hashKey(mintKey(KeyKind.INFERENCE)));

  beforeAll(async () => {
    house = await startHouse({});
    for (const name of ["first", "second"]) {
      const created = await house.admin("guardrails", "create", "--name", name, "--block", "never-said", "--json");
      guardrails.push((JSON.parse(created.stdout) as { id: string }).id);
    }
    database = new pg.Client({ connectionString: house.databaseUrl });
    await database.connect();
    // 500 rows beside the two that the house made; their keys exist nowhere else.
    await database.query(
      `insert into api_keys (hash, workspace_id, name, kind, label)
       select hash, (select workspace_id from api_keys limit 1), 'bulk', 'inference', 'sk-sl-bulk' from unnest($1::text[]) as hash`,
      [hashes],
    );
  });
  afterAll(async () => {
    await database?.end();
    await house?.stop();
  });

  const assign = async (guardrail: string, remove: boolean): Promise<Assigned> => {
    const shuffled = hashes.toSorted(() => Math.random() - 0.5);
    const response = await fetch(
      `${house.baseUrl}/guardrails/${guardrail}/assignments/keys${remove ? "/remove" : ""}`,
      {
        method: "POST",
        headers: { authorization: `Bearer ${house.managementKey}`, "content-type": "application/json" },
        body: JSON.stringify({ key_hashes: shuffled }),
      },
    );
    const body = (await response.json()) as Record<string, number>;
    // On a slow machine writes wait for one another longer than the service lets them.
    if (response.status === 500 && response.headers.get("x-should-retry") === "true") return assign(guardrail, remove);
    return { status: response.status, body };
  };

  test(`${rounds} rounds: no failure, every key ends with exactly one guardrail, and the counts add up`, async () => {
    for (let round = 0; round < rounds; round++) {
      const answers = await Promise.all(
        Array.from({ length: clients }, (_, n) => assign(guardrails[n % 2] as string, false)),
      );
      expect(answers).toEqual(
        Array.from({ length: clients }, () => ({ status: 200, body: { assigned_count: keyCount } })),
      );
      const { rows } = await database.query<{ held: string; of: string }>(
        "select count(*) as held, count(distinct guardrail_id) as of from guardrail_key_assignments",
      );
      // All or nothing: whoever came last has all of them.
      expect(rows).toEqual([{ held: String(keyCount), of: "1" }]);
    }
    const removed = await Promise.all(guardrails.map((guardrail) => assign(guardrail, true)));
    expect(removed.reduce((sum, { body }) => sum + (body["unassigned_count"] ?? 0), 0)).toBe(keyCount);
  }, 300_000);
});
