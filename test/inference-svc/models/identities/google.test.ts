/** Requests to Vertex AI with tokens of Google Cloud, from every source open to scripting. */
import { generateKeyPairSync, verify } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { type Reply, type Upstream, chatAnswer } from "../../../support/providers/upstream.js";
import { testRequest, testConfig, openEngine, runTestTurn } from "../../asking.js";
import { CloudTests, requestAnswer, oneHourLater, failureOutput } from "./cloud.js";

let tests: CloudTests;
beforeEach(() => {
  tests = new CloudTests();
});
afterEach(() => tests.end());

const json = (body: object, status = 200): Reply => ({ status, chunks: [{ json: body }] });
const hi: Reply = json({
  candidates: [{ content: { role: "model", parts: [{ text: "Hi" }] }, finishReason: "STOP" }],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 },
});
const token = (number: number, seconds = 3_600): Reply =>
  json({ access_token: `ya29.token-${number}`, expires_in: seconds, token_type: "Bearer" });

const vertex = (provider: Upstream, google: object = {}) => ({
  id: "vertex",
  dialect: "gemini",
  base_url: `${provider.url}/v1/projects/acme/locations/global/publishers/google`,
  google,
});

const bearers = ({ requests }: Upstream) => requests.map(({ headers }) => headers.authorization);

/** The metadata server, as programs on Google Cloud and pods with workload identity find it. */
async function metadataServer(...replies: readonly Reply[]): Promise<Upstream> {
  const head = { "metadata-flavor": "Google" };
  const server = await tests.server(replies.map((reply) => ({ ...reply, headers: head })));
  tests.set({ GCE_METADATA_HOST: new URL(server.url).host, METADATA_SERVER_DETECTION: "assume-present" });
  return server;
}

describe("sources of Google application default credentials", () => {
  test("include the metadata server", async () => {
    const metadata = await metadataServer(token(1));
    const provider = await tests.server([hi]);
    expect((await requestAnswer(tests.open(vertex(provider)))).fault).toBeUndefined();
    expect(bearers(provider)).toEqual(["Bearer ya29.token-1"]);
    expect(provider.requests[0]?.path).toBe(
      "/v1/projects/acme/locations/global/publishers/google/models/large-2:generateContent",
    );
    expect(metadata.requests.at(-1)?.path).toContain("/computeMetadata/v1/instance/service-accounts/default/token");
    expect(metadata.requests.at(-1)?.headers["metadata-flavor"]).toBe("Google");
  });

  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const account = {
    type: "service_account",
    project_id: "acme",
    private_key_id: "1",
    private_key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    client_email: "sluice@acme.iam.gserviceaccount.com",
  };

  test.each(["GOOGLE_APPLICATION_CREDENTIALS", "credentials_file"])(
    "include a service account, named by %s, which signs its tokens itself",
    async (by) => {
      const credentials_file = tests.file("account.json", account);
      if (by !== "credentials_file") tests.set({ [by]: credentials_file });
      const provider = await tests.server([hi]);
      const engine = tests.open(vertex(provider, by === "credentials_file" ? { credentials_file } : {}));
      expect((await requestAnswer(engine)).fault).toBeUndefined();
      const [head = "", claims = "", signature = ""] = bearers(provider)[0]?.replace("Bearer ", "").split(".") ?? [];
      expect(
        verify("RSA-SHA256", Buffer.from(`${head}.${claims}`), publicKey, Buffer.from(signature, "base64url")),
      ).toBe(true);
      expect(JSON.parse(Buffer.from(claims, "base64url").toString())).toMatchObject({
        iss: account.client_email,
        scope: "https://www.googleapis.com/auth/cloud-platform",
      });
    },
  );

  test("include the web identity of another cloud or cluster (workload identity federation)", async () => {
    const sts = await tests.server([
      json({
        access_token: "federated",
        issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
        token_type: "Bearer",
        expires_in: 3600,
      }),
      json({ accessToken: "ya29.impersonated", expireTime: oneHourLater() }),
    ]);
    const external = {
      type: "external_account",
      audience: "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/eks",
      subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
      token_url: `${sts.url}/v1/token`,
      service_account_impersonation_url: `${sts.url}/v1/projects/-/serviceAccounts/sluice@acme.iam.gserviceaccount.com:generateAccessToken`,
      credential_source: { file: tests.file("subject", "projected-token-of-the-pod") },
    };
    tests.set({ GOOGLE_APPLICATION_CREDENTIALS: tests.file("external.json", external) });
    const provider = await tests.server([hi]);
    expect((await requestAnswer(tests.open(vertex(provider)))).fault).toBeUndefined();
    expect(bearers(provider)).toEqual(["Bearer ya29.impersonated"]);
    expect(sts.requests[0]?.body).toContain("subject_token=projected-token-of-the-pod");
    expect(sts.requests[1]?.headers.authorization).toBe("Bearer federated");
  });
});

const byText = (one: object, other: object): number => JSON.stringify(one).localeCompare(JSON.stringify(other));

describe("formats on Google Vertex AI", () => {
  const place = "/v1/projects/acme/locations/eu";

  test("include Claude's Messages format", async () => {
    await metadataServer(token(1));
    const message = { id: "msg_1", type: "message", role: "assistant", model: "claude", stop_reason: "end_turn" };
    const content = [{ type: "text", text: "Hi" }];
    const provider = await tests.server([json({ ...message, content, usage: { input_tokens: 1, output_tokens: 1 } })]);
    const base_url = `${provider.url}${place}/publishers/anthropic`;
    const { fault } = await requestAnswer(tests.open({ id: "vertex", dialect: "messages", base_url, google: {} }));
    expect(fault).toBeUndefined();
    const [request] = provider.requests;
    expect(request?.path).toBe(`${place}/publishers/anthropic/models/large-2:rawPredict`);
    expect(request?.json).toMatchObject({ anthropic_version: "vertex-2023-10-16", max_tokens: 4096 });
    expect(request?.json).not.toHaveProperty("model");
    expect(request?.headers).toMatchObject({ authorization: "Bearer ya29.token-1" });
    expect(request?.headers).not.toHaveProperty("anthropic-version");
  });

  test("include Claude's Messages format as a stream", async () => {
    await metadataServer(token(1));
    const start = {
      message: { id: "msg_1", role: "assistant", model: "claude", content: [], usage: { input_tokens: 1 } },
    };
    const events = [
      { type: "message_start", ...start },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hi" } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 1 } },
      { type: "message_stop" },
    ];
    const provider = await tests.server([{ chunks: [{ sse: events }] }]);
    const base_url = `${provider.url}${place}/publishers/anthropic`;
    const { turn } = tests.open({ id: "vertex", dialect: "messages", base_url, google: {} });
    expect((await runTestTurn(turn, testRequest())).fault).toBeUndefined();
    const [request] = provider.requests;
    expect(request?.path).toBe(`${place}/publishers/anthropic/models/large-2:streamRawPredict`);
    expect(request?.json).toMatchObject({ anthropic_version: "vertex-2023-10-16", stream: true });
  });

  test("include embeddings, with one text a call for Gemini", async () => {
    await metadataServer(token(1));
    const prediction = { embeddings: { values: [0.1, 0.2], statistics: { token_count: 3, truncated: false } } };
    const provider = await tests.server([json({ predictions: [prediction] })]);
    const engine = openEngine(
      testConfig({
        providers: [vertex(provider)],
        models: [
          {
            id: "acme/large-2",
            output_modalities: ["embeddings"],
            endpoints: [{ provider: "vertex", upstream_model: "gemini-embedding-001" }],
          },
        ],
      }),
    );
    const input = ["a", "b"].map((content) => ({ type: "message" as const, role: "user" as const, content }));
    const embedding = { encodingFormat: "float" as const, dimensions: 2, inputType: "RETRIEVAL_QUERY" };
    const { fault, events } = await runTestTurn(engine.embed, testRequest({ stream: false, input, embedding }));
    await engine.upstreams.close();
    expect(fault).toBeUndefined();
    expect(JSON.stringify(events)).toContain('["[0.1,0.2]","[0.1,0.2]"]');
    expect(events.at(-1)).toMatchObject({ outcome: { usage: { inputTokens: 6 } } });
    expect(provider.requests.map(({ json: body }) => body).toSorted(byText)).toEqual(
      ["a", "b"].map((content) => ({
        instances: [{ content, task_type: "RETRIEVAL_QUERY" }],
        parameters: { outputDimensionality: 2 },
      })),
    );
    expect(provider.requests[0]?.path).toMatch(/\/publishers\/google\/models\/gemini-embedding-001:predict$/);
  });

  test("include chat completions for any model", async () => {
    await metadataServer(token(1));
    const provider = await tests.server([chatAnswer("Hi")]);
    const base_url = `${provider.url}${place}/endpoints/openapi`;
    const { fault } = await requestAnswer(tests.open({ id: "vertex", dialect: "chat", base_url, google: {} }));
    expect(fault).toBeUndefined();
    expect(provider.requests[0]?.path).toBe(`${place}/endpoints/openapi/chat/completions`);
    expect(bearers(provider)).toEqual(["Bearer ya29.token-1"]);
  });
});

describe("the renewal of Google tokens", () => {
  test("is awaited by fifty requests together, and not needed again soon", async () => {
    const metadata = await metadataServer(token(1));
    const provider = await tests.server([hi]);
    const engine = tests.open(vertex(provider));
    for (const count of [50, 50]) {
      const endings = await Promise.all(Array.from({ length: count }, () => requestAnswer(engine)));
      expect(endings.flatMap(({ fault }) => fault ?? [])).toEqual([]);
    }
    const asked = metadata.requests.filter(({ path }) => path.includes("/token"));
    expect([asked.length, provider.requests.length]).toEqual([1, 100]);
  });

  const refused = json(
    { error: { code: 401, status: "UNAUTHENTICATED", message: "Request had invalid credentials" } },
    401,
  );

  test("happens once when the provider refuses the token, and the request is sent again", async () => {
    await metadataServer(token(1), token(2));
    const provider = await tests.server([refused, hi]);
    const engine = tests.open(vertex(provider));
    expect((await requestAnswer(engine)).fault).toBeUndefined();
    expect(bearers(provider)).toEqual(["Bearer ya29.token-1", "Bearer ya29.token-2"]);
    expect(engine.errors).toEqual([]);
  });

  test("ends the request when the provider refuses the new token as well", async () => {
    const metadata = await metadataServer(token(1), token(2));
    const provider = await tests.server([refused]);
    const engine = tests.open(vertex(provider));
    const { fault } = await requestAnswer(engine);
    expect(fault?.reason).toBe(FaultReason.PROVIDER_FAILED);
    expect([provider.requests.length, metadata.requests.length]).toEqual([2, 2]);
    expect(engine.errors).toMatchObject([{ provider: "vertex", status: 401 }]);
    expect(failureOutput(engine, fault)).not.toContain("ya29");
  });
});

describe("unavailable credentials of Google Cloud", () => {
  test("fail the request without their file", async () => {
    tests.set({ GOOGLE_APPLICATION_CREDENTIALS: "/nowhere/account.json" });
    const { fault } = await requestAnswer(tests.open(vertex(await tests.server([hi]))));
    expect(String(fault?.cause)).toMatch(/no credentials: .*no such file/);
  });

  test("fail the request without a source", async () => {
    const { fault } = await requestAnswer(tests.open(vertex(await tests.server([hi]))));
    expect(String(fault?.cause)).toContain("no credentials: Could not load the default credentials");
  });
});
