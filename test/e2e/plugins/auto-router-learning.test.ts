/** service/auto learns only from paid requests that name their model. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import pg from "pg";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { type Upstream, chatAnswer, startUpstream } from "../../support/providers/upstream.ts";

let upstream: Upstream;
let installation: Installation;
let database: pg.Client;
const model = (id: string, general: number) => `
  - id: ${id}
    endpoints: [{provider: acme, pricing: {prompt: "2000", completion: "2000"}}]
    scores: {general: ${general}}`;
const config = (limits: string) => `
providers: [{id: acme, dialect: chat, base_url: "${upstream.url}/v1"}]
auto_router: {learning_share: 1}
models:${model("a/best", 0.8)}${model("b/favourite", 0.6)}
${limits}`;

beforeAll(async () => {
  upstream = await startUpstream();
  installation = await startInstallation({ config: config("") });
  database = new pg.Client({ connectionString: installation.databaseUrl });
  await database.connect();
});
afterAll(async () => {
  await database?.end();
  await installation?.stop();
  await upstream?.stop();
});

const code = "Fix the bug in this Python function: def add(a, b): return a - b";
const translation = "Translate into French: the cat sleeps on the warm stove all day long.";
/** The highest token count that is accepted without a doubt for these requests. */
const usage = { prompt_tokens: 16_000, completion_tokens: 0, total_tokens: 16_000 };

interface Told {
  readonly model: string;
  readonly service_metadata: { readonly pipeline: readonly { readonly data: Readonly<Record<string, unknown>> }[] };
}
async function sendRequest(body: object, path = ""): Promise<Told> {
  upstream.script([chatAnswer({ role: "assistant", content: "Done" }, "stop", { usage })]);
  const answer = await fetch(`${installation.baseUrl}/responses${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${installation.apiKey}`,
      "content-type": "application/json",
      "x-service-metadata": "enabled",
    },
    body: JSON.stringify({ model: "service/auto", ...body }),
  });
  return (await answer.json()) as Told;
}
const best = { plugins: [{ id: "auto-router", cost_tier: "low" }] };
async function ranked(input: string): Promise<readonly unknown[]> {
  const { service_metadata } = await sendRequest({ input, ...best }, "/dry-run");
  const { task_type, ranking, candidates } = service_metadata.pipeline[0]?.data ?? {};
  return [task_type, ranking, (candidates as string[])[0]];
}
async function rows(count: number): Promise<readonly Record<string, unknown>[]> {
  let found: Record<string, unknown>[] = [];
  await eventually(async () => {
    ({ rows: found } = await database.query("select * from all_calls order by turn_id"));
    return found.length >= count;
  });
  return found;
}
let reloads = 0;
/** A reload reads the learned spending again, as the hourly timer does. */
const reload = () => writeFileSync(join(installation.dataDir, "sluice.yaml"), config(`# ${++reloads}`));

test("records of requests with a named model have a guessed task and no text, and those of routers have no task", async () => {
  await sendRequest({ model: "b/favourite", input: code });
  await sendRequest({ input: code, ...best });
  const found = await rows(2);
  expect(found.map(({ model: slug, task }) => [slug, task])).toEqual([
    ["b/favourite", "code"],
    ["a/best", null],
  ]);
  expect(JSON.stringify(found)).not.toMatch(/bug|Python/);
});

test("activity sums each kind of task separately on request", async () => {
  const answer = await fetch(`${installation.baseUrl}/activity?group_by=task`, {
    headers: { authorization: `Bearer ${installation.managementKey}` },
  });
  const { data } = (await answer.json()) as { data: { model: string; task?: string; operation?: string }[] };
  expect(
    data
      .map(({ model: slug, task, operation }) => [slug, task, operation])
      .toSorted(([a = ""], [b = ""]) => a.localeCompare(b)),
  ).toEqual([
    ["a/best", undefined, undefined],
    ["b/favourite", "code", undefined],
  ]);
});

test("the model favoured by users is ranked higher only for its task, and the receipt shows it", async () => {
  expect(await ranked(code)).toEqual(["code", "prior", "a/best"]);
  reload();
  await eventually(async () => (await ranked(code))[1] === "learned");
  expect(await ranked(code)).toEqual(["code", "learned", "b/favourite"]);
  expect(await ranked(translation)).toEqual(["translate", "prior", "a/best"]);
});
