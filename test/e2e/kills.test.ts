import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { hashKey } from "@sluice/proto/runtime/key.js";
import pg from "pg";
import { type House, startHouse } from "../support/house.ts";

const kills = 10;
const keyCount = 6;

/** What one key was told to hold, and what the writer knows of it. */
interface Journal {
  /** As of the last acknowledged write. */
  acknowledged: string | undefined;
  /** Of a write whose answer never came: it may or may not have happened. */
  uncertain: (string | undefined)[];
}

describe("kill -9 in the middle of acknowledged writes", () => {
  let house: House;
  const guardrails: string[] = [];
  /** Statuses of what was not acknowledged; 0 for no answer. */
  const refusals = new Set<number>();
  const keys: string[] = [];

  beforeAll(async () => {
    house = await startHouse({ embeddedPostgres: true });
    const json = async (...args: string[]) => JSON.parse((await house.admin(...args, "--json")).stdout) as never;
    for (const name of ["first", "second"]) {
      const created: { id: string } = await json("guardrails", "create", "--name", name, "--block", "never-said");
      guardrails.push(created.id);
    }
    for (let n = 0; n < keyCount; n++) {
      const created: { key: string } = await json("keys", "create", "--name", `k${n}`);
      keys.push(hashKey(created.key));
    }
  });
  afterAll(() => house?.stop());

  const write = (guardrail: string, remove: boolean, keyHash: string) =>
    fetch(`${house.baseUrl}/guardrails/${guardrail}/assignments/keys${remove ? "/remove" : ""}`, {
      method: "POST",
      headers: { authorization: `Bearer ${house.managementKey}`, "content-type": "application/json" },
      body: JSON.stringify({ key_hashes: [keyHash] }),
      signal: AbortSignal.timeout(120_000),
    });

  async function writeUntil(over: () => boolean, keyHash: string, journal: Journal, count: () => void): Promise<void> {
    for (let n = 0; !over(); n++) {
      const guardrail = guardrails[n % 2] as string;
      const remove = n % 5 === 4 && journal.acknowledged === guardrail && journal.uncertain.length === 0;
      const wanted = remove ? undefined : guardrail;
      const response = await write(guardrail, remove, keyHash).catch(() => undefined);
      const body = await response?.text().catch(() => undefined);
      if (response?.status === 200 && body !== undefined) {
        journal.acknowledged = wanted;
        journal.uncertain = [];
        count();
      } else {
        refusals.add(response?.status ?? 0);
        journal.uncertain.push(wanted);
      }
    }
  }

  test(`nothing acknowledged is lost in ${kills} kills of admin-svc and Postgres`, async () => {
    const journals = new Map<string, Journal>(keys.map((key) => [key, { acknowledged: undefined, uncertain: [] }]));
    let acknowledged = 0;
    const moreAcknowledged = async (count: number) => {
      const enough = acknowledged + count;
      const waiting = () => acknowledged < enough;
      while (waiting()) await new Promise((resolve) => setTimeout(resolve, 5));
    };
    let over = false;
    const writers = keys.map((key) =>
      writeUntil(
        () => over,
        key,
        journals.get(key) as Journal,
        () => acknowledged++,
      ),
    );
    for (let n = 0; n < kills; n++) {
      await moreAcknowledged(20);
      const name = n % 2 === 0 ? "admin-svc" : "postgres";
      process.kill(house.pids()[name] ?? Number.NaN, "SIGKILL");
      // The next round begins when writes are acknowledged again: the house has healed itself.
    }
    await moreAcknowledged(20);
    over = true;
    await Promise.all(writers);

    const client = new pg.Client({ connectionString: house.databaseUrl });
    await client.connect();
    const { rows } = await client.query<{ key_hash: string; guardrail_id: string }>(
      "select key_hash, guardrail_id from guardrail_key_assignments",
    );
    await client.end();
    const stored = new Map(rows.map((row) => [row.key_hash, row.guardrail_id]));
    for (const [key, journal] of journals) {
      expect([journal.acknowledged, ...journal.uncertain]).toContain(stored.get(key));
    }
    expect(acknowledged).toBeGreaterThan(kills * 20);
    // An outage is 500 with the word that a retry may help: the contract lists no 503 for these operations.
    expect([...refusals].filter((status) => status !== 500)).toEqual([]);
  }, 600_000);
});
