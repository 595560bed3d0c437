/** Rotation of a key over HTTP, gRPC and the command line: the new key has the settings and the guardrail of the old one. */
import { create } from "@bufbuild/protobuf";
import { Metadata } from "@grpc/grpc-js";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { KeyService } from "@sluice/proto/gen/sluice/admin/v1/key_service_pb.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { call, dial } from "@sluice/proto/lib/rpc/dial.js";
import { type Installation, startInstallation } from "../../support/installation.ts";

interface KeyAnswer {
  readonly data: { readonly hash: string; readonly name: string; readonly expires_at: string | null };
  readonly key: string;
  readonly error: { readonly message: string };
}

let installation: Installation;
let guardrail: string;

async function send(method: string, path: string, body: unknown, key = installation.managementKey) {
  const response = await fetch(`${installation.baseUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as KeyAnswer };
}

const turn = async (key: string, input: string): Promise<number> =>
  (await send("POST", "/responses", { model: "sluice/echo", input }, key)).status;

/** Statuses of a harmless request and of a request blocked by the test's guardrail. */
const statuses = async (key: string) => [await turn(key, "Hello"), await turn(key, "a secret word")];

/** Makes a key with the guardrail. */
async function makeGuarded() {
  const { body } = await send("POST", "/keys", { name: "old", requests_per_minute: 600 });
  await send("POST", `/guardrails/${guardrail}/assignments/keys`, { key_hashes: [body.data.hash] });
  return { key: body.key, path: `/keys/${body.data.hash}`, hash: body.data.hash };
}

beforeAll(async () => {
  installation = await startInstallation();
  const filters = [{ pattern: "secret", action: "block" }];
  const { body } = await send("POST", "/guardrails", { name: "no-secrets", content_filters: filters });
  guardrail = (body.data as unknown as { readonly id: string }).id;
});
afterAll(() => installation?.stop());

test("after a rotation without an overlap the old key is refused on the next request", async () => {
  const old = await makeGuarded();
  expect(await statuses(old.key)).toEqual([200, 403]);
  const { status, body } = await send("POST", `${old.path}/rotate`, {});
  expect([status, hashKey(body.key)]).toEqual([201, body.data.hash]);
  expect(body.data).toMatchObject({ name: "old", requests_per_minute: 600, expires_at: null });
  expect(await statuses(old.key)).toEqual([401, 401]);
  expect(await statuses(body.key)).toEqual([200, 403]);
  expect((await send("POST", `${old.path}/rotate`, {})).status).toBe(404);
});

test("after a rotation both keys work under the guardrail during the overlap, then only the new key", async () => {
  // On a busy machine a short overlap may be over before the old key is used.
  for (let seconds = 3; ; seconds *= 2) {
    const old = await makeGuarded();
    const { body } = await send("POST", `${old.path}/rotate`, { overlap_seconds: seconds });
    const ofOld = await statuses(old.key);
    const shown = await fetch(`${installation.baseUrl}${old.path}`, {
      headers: { authorization: `Bearer ${installation.managementKey}` },
    });
    const { data } = (await shown.json()) as KeyAnswer;
    const expiry = Date.parse(data.expires_at ?? "");
    if (Date.now() >= expiry) continue;
    expect([ofOld, await statuses(body.key)]).toEqual([
      [200, 403],
      [200, 403],
    ]);
    while (Date.now() <= expiry) await turn(old.key, "Hello");
    expect(await turn(old.key, "Hello")).toBe(401);
    expect(await turn(body.key, "Hello")).toBe(200);
    return;
  }
});

test.each<[unknown, string]>([
  [{ overlap_seconds: -1 }, "overlap_seconds: must be between 0 and 2592000"],
  [{ overlap_seconds: 2_592_001 }, "overlap_seconds: must be between 0 and 2592000"],
  [{ overlap_seconds: "5" }, "overlap_seconds: must be an integer"],
  [{ seconds: 5 }, "seconds: unknown field"],
])("a rotation with %j is refused with 400", async (body, message) => {
  const old = await makeGuarded();
  const answer = await send("POST", `${old.path}/rotate`, body);
  expect([answer.status, answer.body.error.message]).toEqual([400, message]);
  expect(await turn(old.key, "Hello")).toBe(200);
});

test("a rotation of an unknown or management key, and any by an inference key, is refused", async () => {
  const old = await makeGuarded();
  expect((await send("POST", `/keys/${"0".repeat(64)}/rotate`, {})).status).toBe(404);
  expect((await send("POST", `/keys/${hashKey(installation.managementKey)}/rotate`, {})).status).toBe(404);
  expect((await send("POST", `${old.path}/rotate`, {}, old.key)).status).toBe(403);
});

test("a rotation over gRPC is the same as over HTTP", async () => {
  const old = await makeGuarded();
  const client = dial(`127.0.0.1:${installation.ports.admin}`);
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${installation.managementKey}`);
  const rotate = (overlapSeconds: number) => {
    const input = create(KeyService.method.rotateKey.input, { keyHash: old.hash, overlapSeconds });
    return call(client, KeyService.method.rotateKey, input, metadata, 10_000);
  };
  try {
    await expect(rotate(2_592_001)).rejects.toThrow("overlap_seconds");
    const { secret, key } = await rotate(600);
    expect([hashKey(secret), key?.name]).toEqual([key?.hash, "old"]);
    expect([await statuses(old.key), await statuses(secret)]).toEqual([
      [200, 403],
      [200, 403],
    ]);
  } finally {
    client.close();
  }
});

test("a rotation on the command line is the same as over HTTP", async () => {
  const old = await makeGuarded();
  await expect(installation.admin("keys", "rotate", old.hash, "--overlap-seconds", "many")).rejects.toThrow(
    "overlap_seconds",
  );
  const { stdout } = await installation.admin("keys", "rotate", old.hash, "--overlap-seconds", "600", "--json");
  const { key } = JSON.parse(stdout) as { readonly key: string };
  expect([await statuses(old.key), await statuses(key)]).toEqual([
    [200, 403],
    [200, 403],
  ]);
});
