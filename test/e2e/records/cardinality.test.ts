/** Names invented by clients make no series: 100,000 models and users leave the metrics unchanged. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { samplesOf, scrape } from "../../support/metrics.ts";

/** Maximum of models in one request. */
const modelsEach = 32;
const requests = 3_125;
const atOnce = 32;

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation();
});
afterAll(() => installation?.stop());

function send(method: string, path: string, key: string, body?: object): Promise<Response> {
  return fetch(`${installation.baseUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "x-request-id": path.slice(-20) },
    ...(body && { body: JSON.stringify(body) }),
  });
}

/** A request with a new name in every field where a client can put one. */
async function invent(n: number): Promise<void> {
  const named = {
    user: `user-${n}`,
    session_id: `session-${n}`,
    safety_identifier: `safe-${n}`,
    metadata: { [`m-${n}`]: "1" },
  };
  const models = Array.from({ length: modelsEach }, (_, m) => `nobody/model-${n}-${m}`);
  const answers = [send("POST", "/responses", installation.apiKey, { models, input: "Hi", ...named })];
  // Served requests cost more, and do more work, than refused ones.
  if (n % 25 === 0) {
    answers.push(
      send("POST", "/responses", installation.apiKey, {
        model: "sluice/echo",
        input: "Hi",
        trace: { [`t-${n}`]: n },
        ...named,
      }),
      send("GET", `/end-users/user-${n}`, installation.managementKey),
      send("GET", `/nothing/${n}`, installation.apiKey),
      send("GET", `/models/author-${n}/slug/endpoints`, installation.apiKey),
      send("GET", `/keys/${n}`, installation.managementKey),
    );
  }
  for (const answer of await Promise.all(answers)) await answer.arrayBuffer();
}

/** Every series of the metrics, by its name and labels. */
async function series(): Promise<string[]> {
  const own = samplesOf(await scrape(installation)).filter(({ name }) => name.startsWith("sluice_"));
  return own.map(({ name, labels }) => `${name} ${JSON.stringify(labels)}`).toSorted();
}

test("100,000 invented models and users make no series of metrics", async () => {
  await invent(0);
  const before = new Set(await series());
  expect(before.size).toBeGreaterThan(100);
  let next = 1;
  const work = async () => {
    for (let n = next++; n <= requests; n = next++) await invent(n);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  const added = (await series()).filter((name) => !before.has(name));
  expect(added.filter((name) => /nobody|author|user-|session-|safe-|[mt]-\d|nothing/.test(name))).toEqual([]);
  // A busy machine may have been the first to show a status, or how long something can take.
  expect(added.length).toBeLessThan(50);
}, 900_000);
