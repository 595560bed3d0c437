/** Attacks 144 to 159: keys trying to reach data of other keys, and concurrent writes. 146 and 147 are with Idempotency-Key. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import pg from "pg";
import { eventually } from "../../support/processes.ts";
import type { HttpAnswer } from "../../support/raw-http.ts";
import { responsesAnswer } from "../../support/providers/upstream.ts";
import { AttackedInstallation, expectFault, attackedModel, parseBody } from "./attacked.ts";

let attacked: AttackedInstallation;
let database: pg.Client;
beforeAll(async () => {
  attacked = await AttackedInstallation.start();
  database = new pg.Client({ connectionString: attacked.installation.databaseUrl });
  await database.connect();
});
beforeEach(() => attacked.upstream.script([responsesAnswer()]));
afterAll(async () => {
  await database?.end();
  await attacked?.stop();
});
afterEach(() => attacked.stands());

const echo = { model: "sluice/echo", input: "x" };
const guardrail = async (): Promise<string> => {
  const made = await attacked.manage("POST", "/guardrails", { name: "mine" });
  return (parseBody(made) as { data: { id: string } }).data.id;
};
const assign = (id: string, keyHashes: readonly unknown[], remove = "", key = attacked.installation.managementKey) =>
  attacked.manage("POST", `/guardrails/${id}/assignments/keys${remove}`, { key_hashes: keyHashes }, key);
const numbers = (answer: HttpAnswer) => [answer.status, Object.values(parseBody(answer) as object)];
const holderOf = async (keyHash: string): Promise<string | undefined> => {
  const { rows } = await database.query<{ guardrail_id: string }>(
    "select guardrail_id from guardrail_key_assignments where key_hash = $1",
    [keyHash],
  );
  return rows[0]?.guardrail_id;
};
const generation = async (): Promise<string> =>
  (await database.query<{ generation: string }>("select generation from policy_generation")).rows[0]?.generation ?? "";

test("attack 144: the same session_id from two keys is two sessions", async () => {
  const [one, other] = [await attacked.makeKey(), await attacked.makeKey()];
  const served = async (key: string, session: string) => {
    const answer = await attacked.respond(
      { model: "sluice/spread", input: "x", session_id: session },
      ["X-Service-Metadata: enabled"],
      key,
    );
    const { service_metadata: receipt } = parseBody(answer) as {
      service_metadata: { endpoints: { available: { provider: string; selected: boolean }[] } };
    };
    return receipt.endpoints.available.find(({ selected }) => selected)?.provider;
  };
  const places = async (key: string) => {
    const found: (string | undefined)[] = [];
    for (let n = 0; n < 20; n++) found.push(await served(key, `s${n}`));
    return found;
  };
  const first = await places(one);
  expect(first).toEqual(await places(one));
  expect(first).not.toEqual(await places(other));
});

test("attack 145: a session_id may have 256 characters or be __proto__, and an empty session_id is ignored", async () => {
  for (const session of ["s".repeat(256), "__proto__", "constructor", ""]) {
    expect((await attacked.respond({ ...echo, session_id: session })).status).toBe(200);
  }
});

test("attack 148: a prompt_cache_key is sent to providers under a name that other keys cannot reach", async () => {
  const told = async (key: string) => {
    const asked = attacked.upstream.nextRequest();
    expect(
      (await attacked.respond({ model: attackedModel, input: "x", prompt_cache_key: "shared" }, [], key)).status,
    ).toBe(200);
    return (await asked).json["prompt_cache_key"];
  };
  const [one, other] = [await attacked.makeKey(), await attacked.makeKey()];
  const name = await told(one);
  expect(name).toMatch(/^[\w-]{43}$/);
  expect(await told(one)).toBe(name);
  expect(await told(other)).not.toBe(name);
});

test("attack 149: previous_response_id is refused unless it is null or absent", async () => {
  for (const id of ["", 0, false, [], {}]) {
    expectFault(await attacked.respond({ ...echo, previous_response_id: id }), 400, /previous_response_id/);
  }
  expect((await attacked.respond({ ...echo, previous_response_id: null })).status).toBe(200);
});

test("attack 150: store is refused when it is true", async () => {
  expectFault(await attacked.respond({ ...echo, store: true }), 400, /store/);
  expect((await attacked.respond({ ...echo, store: false })).status).toBe(200);
});

test("attack 153: invalid lists of key_hashes are refused, a repeated hash counts once, and upper case is unknown", async () => {
  const id = await guardrail();
  const own = hashKey(await attacked.makeKey());
  const strangers = Array.from({ length: 500 }, (_, n) => `k${n}`);
  for (const list of [[], [...strangers, own], ["x".repeat(1_000_000)], [1], [null], [[own]], [""]]) {
    expectFault(await assign(id, list), 400, /key_hashes|too large/);
  }
  expect(numbers(await assign(id, [own.toUpperCase()]))).toEqual([200, [0]]);
  expect(numbers(await assign(id, [own, own, ...strangers.slice(2)]))).toEqual([200, [1]]);
});

test("attack 154: removing a guardrail from a key with another guardrail changes no key", async () => {
  const [held, other] = [await guardrail(), await guardrail()];
  const keyHash = hashKey(await attacked.makeKey());
  await assign(held, [keyHash]);
  expect(numbers(await assign(other, [keyHash], "/remove"))).toEqual([200, [0]]);
  expect(await holderOf(keyHash)).toBe(held);
});

test("attack 155: assigning a key's present guardrail again is counted, and changes no key", async () => {
  const id = await guardrail();
  const keyHash = hashKey(await attacked.makeKey());
  await assign(id, [keyHash]);
  const before = await generation();
  expect(numbers(await assign(id, [keyHash]))).toEqual([200, [1]]);
  expect(await generation()).toBe(before);
});

test("attack 156: a change of an end user takes only is_active, a required boolean; /responses takes unknown fields", async () => {
  await attacked.manage("POST", "/end-users", { user: "bob" });
  for (const body of [{}, { is_active: "true" }, { is_active: null }, { is_active: true, x: 1 }]) {
    expectFault(await attacked.manage("PATCH", "/end-users/bob", body), 400);
  }
  expect((await attacked.respond({ ...echo, nobody_knows: 1 })).status).toBe(200);
});

test("attack 157: concurrent updates differ in their time", async () => {
  await attacked.manage("POST", "/end-users", { user: "busy" });
  // A hundred updates of one row: on a busy machine some wait longer for it than admin-svc allows, and get a retryable failure.
  const update = async (isActive: boolean) => {
    for (;;) {
      const answer = await attacked.manage("PATCH", "/end-users/busy", { is_active: isActive });
      if (answer.headers["x-should-retry"] !== "true") return answer;
    }
  };
  const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => update(n % 2 === 0)));
  const times = answers.map((answer) => (parseBody(answer) as { data: { updated_at: string } }).data.updated_at);
  expect(new Set(times).size).toBe(100);
});

test("attack 159: a bulk whose management key is revoked while it waits is all or nothing", async () => {
  const made = JSON.parse(
    (await attacked.installation.admin("keys", "create", "--name", "short", "--management", "--json")).stdout,
  ) as { key: string };
  const id = await guardrail();
  const keyHashes: string[] = [];
  for (let n = 0; n < 5; n++) keyHashes.push(hashKey(await attacked.makeKey()));
  await database.query("begin");
  await database.query("select hash from api_keys where hash = $1 for update", [keyHashes[2]]);
  const waiting = assign(id, keyHashes, "", made.key);
  await eventually(async () => {
    const { rowCount } = await database.query("select 1 from pg_locks where not granted");
    return (rowCount ?? 0) > 0;
  });
  await attacked.installation.admin("keys", "revoke", hashKey(made.key));
  await database.query("commit");
  const answer = await waiting;
  let held = 0;
  for (const keyHash of keyHashes) if ((await holderOf(keyHash)) === id) held++;
  expect([answer.status, held]).toEqual(answer.status === 200 ? [200, 5] : [401, 0]);
  expectFault(await assign(id, keyHashes, "/remove", made.key), 401);
});
