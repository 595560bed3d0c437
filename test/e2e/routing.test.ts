/** Provider preferences on their way through both processes. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { type Installation, startInstallation } from "../support/installation.ts";
import { validateError } from "../support/answers/published.ts";
import { type Upstream, chatAnswer, chatStream, startUpstream } from "../support/providers/upstream.ts";

let acme: Upstream;
let borealis: Upstream;
let installation: Installation;

beforeAll(async () => {
  acme = await startUpstream([chatStream("acme")]);
  borealis = await startUpstream([chatStream("borealis")]);
  installation = await startInstallation({
    config: `
providers:
  - {id: acme, name: Acme, dialect: chat, base_url: "${acme.url}/v1"}
  - {id: borealis, name: Borealis, dialect: chat, base_url: "${borealis.url}/v1", data_policy: {retention: none}}
models:
  - id: acme/large-2
    endpoints:
      - {provider: acme, pricing: {prompt: "1", completion: "4"}}
      - {provider: borealis, pricing: {prompt: "1", completion: "4"}}
model_aliases:
  - {match: "claude-*", model: acme/large-2}
  - {match: "ours-*", model: acme/large-2, workspace: ${defaultWorkspaceId}}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await acme?.stop();
  await borealis?.stop();
});

const post = (body: object, headers: Record<string, string> = {}) =>
  fetch(`${installation.baseUrl}/responses`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${installation.apiKey}`,
      "content-type": "application/json",
      "x-service-metadata": "enabled",
      ...headers,
    },
    body: JSON.stringify({ model: "acme/large-2", input: "Hi", stream: true, ...body }),
  });

/** Name of the provider that answered the request, which is the text of its answer. */
async function answeredBy(body: object, headers: Record<string, string> = {}): Promise<string> {
  const answer = await post(body, headers);
  expect(answer.status).toBe(200);
  const [, name] = /"response\.output_text\.done".*?"text":"(acme|borealis)"/.exec(await answer.text()) ?? [];
  return name ?? "nobody";
}

test.each<[object, string]>([
  [{ order: ["borealis"] }, "borealis"],
  [{ order: ["acme"] }, "acme"],
  [{ only: ["acme/default"] }, "acme"],
  [{ ignore: ["acme"] }, "borealis"],
  [{ zdr: true }, "borealis"],
])("a request with the models %j is sent to %s", async (provider, expected) => {
  expect(await answeredBy({ provider })).toBe(expected);
});

test("sessions named in a body or a header share the load, and each keeps its endpoint", async () => {
  const sessions = Array.from({ length: 12 }, (_, index) => `session-${index}`);
  const first = [];
  for (const session_id of sessions) first.push(await answeredBy({ session_id }));
  expect(new Set(first).size).toBe(2);
  const again = [];
  for (const session of sessions) again.push(await answeredBy({ input: "And?" }, { "x-session-id": session }));
  expect(again).toEqual(first);
});

describe("a request without candidates", () => {
  test("is 404 with the counted reasons, in the published form", async () => {
    const answer = await post({ provider: { only: ["acme", "nobody"], max_price: { completion: "3.99" } } });
    const body = (await answer.json()) as { error: object; service_metadata: object };
    expect([answer.status, body.error]).toEqual([
      404,
      {
        code: 404,
        message:
          "No endpoint can serve this request: acme/large-2 has no endpoint left after max_price, allowed_providers",
        type: "invalid_request_error",
        metadata: {
          error_type: "not_found",
          availability: {
            code: "no_endpoints",
            retryable: false,
            requested_models: ["acme/large-2"],
            excluded_by: { max_price: 1, allowed_providers: 1 },
          },
        },
      },
    ]);
    expect(validateError(404, body)).toEqual([]);
  });
});

test("the receipt lists endpoints in the order of the request, and a variant of a slug is the same model", async () => {
  const answer = await post({ model: "acme/large-2:floor", stream: false, provider: { order: ["borealis"] } });
  // The scripted answer is a stream: both endpoints are tried, and both are named.
  const body = (await answer.json()) as { service_metadata: object };
  expect(body.service_metadata).toMatchObject({
    requested: "acme/large-2:floor",
    strategy: "direct",
    endpoints: { available: [{ provider: "Borealis" }, { provider: "Acme" }], total: 2 },
  });
});

describe("aliases of models", () => {
  test.each([
    ["claude-opus-5-5", undefined],
    ["large-2", undefined],
    ["large-2-20260101:nitro", undefined],
    ["acme/large-2-latest", ["claude-haiku-4-5"]],
  ])("serve a request for %s and a request for %j by their model", async (model, models) => {
    const answer = await post({ model, models, input: "Hi", stream: false });
    expect([answer.status, ((await answer.json()) as { model: string }).model]).toEqual([200, "acme/large-2"]);
  });

  test("include none for an unknown name, which is refused with the nearest name", async () => {
    const answer = await post({ model: "large-3", input: "Hi" });
    expect(answer.status).toBe(404);
    expect(((await answer.json()) as { error: { message: string } }).error.message).toBe(
      "model: large-3 is not in the catalogue; did you mean acme/large-2; GET /api/v1/models lists the models",
    );
  });
});

test("an alias of a workspace works only for its keys", async () => {
  await installation.admin("workspaces", "create", "--name", "others");
  const made = await installation.admin("keys", "create", "--workspace", "others", "--name", "theirs", "--json");
  const { key } = JSON.parse(made.stdout) as { key: string };
  const theirs = { authorization: `Bearer ${key}` };
  for (const path of ["/responses", "/responses/dry-run"]) {
    const sendRequest = (headers: Record<string, string>) =>
      fetch(`${installation.baseUrl}${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json", ...headers },
        body: JSON.stringify({ model: "ours-best", input: "Hi" }),
      });
    acme.script([chatAnswer({ role: "assistant", content: "acme" })]);
    borealis.script([chatAnswer({ role: "assistant", content: "borealis" })]);
    expect((await sendRequest({})).status).toBe(200);
    const refused = await sendRequest(theirs);
    expect([refused.status, await refused.text()]).toEqual([
      404,
      expect.stringContaining("ours-best is not in the catalogue"),
    ]);
  }
  expect((await post({ model: "claude-any" }, theirs)).status).toBe(200);
});
