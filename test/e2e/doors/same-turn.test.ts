/** The same request through three doors: the provider gets the same body, the guardrail decides the same, and the ledger differs only in the door. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import pg from "pg";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { type Upstream, chatAnswer, startUpstream } from "../../support/providers/upstream.ts";
import fc from "../../support/properties.ts";
import {
  type Conversation,
  type DoorName,
  conversationBodies,
  doorNames,
  shortConversation,
  doorPaths,
} from "./conversation.ts";

let upstream: Upstream;
let installation: Installation;

beforeAll(async () => {
  upstream = await startUpstream([chatAnswer({ role: "assistant", content: "Fine." })]);
  installation = await startInstallation({
    config: `
providers:
  - {id: acme, dialect: chat, base_url: "${upstream.url}/v1"}
models:
  - {id: acme/large-2, input_modalities: [text, image], endpoints: [{provider: acme}]}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});

const post = (name: DoorName, conversation: Conversation, key = installation.apiKey) =>
  fetch(`${installation.baseUrl}${doorPaths[name]}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(conversationBodies[name](conversation)),
  });

/** The body sent to the provider. */
async function asked(name: DoorName, conversation: Conversation, key = installation.apiKey): Promise<string> {
  const response = await post(name, conversation, key);
  const text = await response.text();
  expect([name, response.status, text]).toEqual([name, 200, expect.any(String)]);
  return (upstream.requests.at(-1) as { body: string }).body;
}

const words = fc.string({ unit: "grapheme", minLength: 1, maxLength: 60 }).filter((text) => text.trim() !== "");
const conversations: fc.Arbitrary<Conversation> = fc.record({
  system: words,
  said: fc
    .integer({ min: 0, max: 4 })
    .chain((pairs) => fc.array(words, { minLength: 2 * pairs + 1, maxLength: 2 * pairs + 1 })),
  temperature: fc.integer({ min: 0, max: 10 }).map((tenths) => tenths / 10),
  maxTokens: fc.integer({ min: 1, max: 4_000 }),
  stop: words,
  tool: fc.boolean(),
  call: fc.option(fc.record({ q: words, found: words }), { nil: undefined }),
  picture: fc.boolean(),
});

const runs = Number(process.env["DOOR_RUNS"] ?? 100);

test(
  "any conversation leads to the same bytes at the provider through every door",
  async () => {
    const property = fc.asyncProperty(conversations, async (conversation) => {
      const sent = [];
      for (const name of doorNames) sent.push(await asked(name, conversation));
      expect(new Set(sent).size).toBe(1);
    });
    await fc.assert(property, { numRuns: runs });
  },
  Math.max(600_000, runs * 1_000),
);

test("a long conversation leads to the same bytes, whether or not the key has sent the step before", async () => {
  const { stdout } = await installation.admin("keys", "create", "--name", "another", "--json");
  const { key: another } = JSON.parse(stdout) as { key: string };
  const said = Array.from({ length: 9 }, (_, step) => `${step}: ${"She said “no”.\n".repeat(40)}`);
  const edited = said.with(3, "something else");
  for (const told of [said.slice(0, 5), said.slice(0, 7), said, edited, said.slice(0, 5), said]) {
    const conversation = { ...shortConversation, said: told, call: { q: "a", found: told[0]! } };
    const sent = new Set<string>();
    for (const name of doorNames) {
      for (const key of [installation.apiKey, installation.apiKey]) sent.add(await asked(name, conversation, key));
    }
    // A conversation new to this key.
    if (told === edited) for (const name of doorNames) sent.add(await asked(name, conversation, another));
    expect(sent.size).toBe(1);
  }
});

describe.each(doorNames)("a turn through the door of %s", (name) => {
  test("is refused by a guardrail with its message", async () => {
    const { stdout } = await installation.admin("keys", "create", "--name", `guarded ${name}`, "--json");
    const { key, hash } = JSON.parse(stdout) as { key: string; hash: string };
    const named = ["--name", `no secrets ${name}`, "--block", "secret", "--json"];
    const guardrail = JSON.parse((await installation.admin("guardrails", "create", ...named)).stdout) as { id: string };
    await installation.admin("guardrails", "assign", guardrail.id, hash);
    const from = upstream.requests.length;
    const refused = await post(name, { ...shortConversation, said: ["a secret"] }, key);
    expect([refused.status, await refused.text()]).toEqual([
      403,
      expect.stringContaining("blocked by content filter: secret"),
    ]);
    expect(upstream.requests).toHaveLength(from);
  });

  test("has the door in its record", async () => {
    const response = await post(name, shortConversation);
    await response.arrayBuffer();
    const id = response.headers.get("x-generation-id");
    const record = async () => {
      const found = await fetch(`${installation.baseUrl}/generation?id=${id}`, {
        headers: { authorization: `Bearer ${installation.apiKey}` },
      });
      return found.ok ? ((await found.json()) as { data: { door: string } }).data.door : undefined;
    };
    await eventually(async () => (await record()) !== undefined);
    expect(await record()).toBe(name);
    const requestId = response.headers.get("x-request-id") as string;
    expect(await installation.logged("inference-svc", requestId)).toContain(`"door":"${name}"`);
    const health = `http://127.0.0.1:${installation.ports.inference_health}/metrics`;
    expect(await (await fetch(health)).text()).toMatch(
      new RegExp(`sluice_turns_total\\{[^}]*door="${name}"[^}]*\\} [1-9]`),
    );
  });
});

/** Columns that differ between two equal turns: ids of the turn, times, and its place among the records of its process. */
const own = /^(?:written|near|turn_id|generation_id|request_id|sequence|.*_at|.*_ms|door)$/;

test("a turn through every door has the same record except the door", async () => {
  const database = new pg.Client({ connectionString: installation.databaseUrl });
  await database.connect();
  try {
    const records = [];
    for (const name of doorNames) {
      const response = await post(name, { ...shortConversation, call: { q: "a", found: "b" }, picture: true });
      await response.arrayBuffer();
      const id = response.headers.get("x-generation-id");
      const find = async () =>
        (await database.query<Record<string, unknown>>("select * from all_calls where generation_id = $1", [id])).rows;
      await eventually(async () => (await find()).length === 1);
      const [row = {}] = await find();
      expect(row["door"]).toBe(name);
      records.push(Object.fromEntries(Object.entries(row).filter(([column]) => !own.test(column))));
    }
    expect(Object.keys(records[0] as object).length).toBeGreaterThan(15);
    expect(records[1]).toEqual(records[0]);
    expect(records[2]).toEqual(records[0]);
  } finally {
    await database.end();
  }
});
