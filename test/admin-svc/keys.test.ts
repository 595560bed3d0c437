/** KeyService through real gRPC: the life of a key, its visibility, and the time from which it is accepted. */
import { type Timestamp, timestampDate, timestampFromDate, timestampNow } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { insertUsage } from "@sluice/admin-svc/store/ledger/usage.js";
import { toRow } from "@sluice/admin-svc/store/ledger/usage-messages.js";
import { currentGeneration } from "@sluice/admin-svc/store/policy.js";
import { KeyKind } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { type CreateKeyResponse, type Key, KeyService } from "@sluice/proto/gen/sluice/admin/v1/key_service_pb.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { hashKey, kindOfKey } from "@sluice/proto/lib/ids/key.js";
import {
  type AdminInstallation,
  addGuardrail,
  addKey,
  addKeys,
  addWorkspace,
  callAsAdministrator,
  assignGuardrail,
  bearerMetadata,
  openInstallation,
  retryUntilWritten,
  resolveKey,
} from "./installation.ts";
import { usageRecord } from "./usage.ts";

let installation: AdminInstallation;
beforeAll(async () => {
  installation = await openInstallation();
});
afterAll(() => installation.close());

const { listKeys, createKey, getKey, updateKey, deleteKey, getCurrentKey } = KeyService.method;

interface RateLimits {
  requestsPerMinute?: number;
  tokensPerMinute?: number;
  concurrentRequests?: number;
}
type NewKey = {
  name?: string;
  expiresAt?: Timestamp;
  externalUser?: string;
  workspaceId?: string;
  rateLimits?: RateLimits;
};
const make = (settings: NewKey = {}): Promise<CreateKeyResponse> =>
  callAsAdministrator(installation, createKey, { name: "made", ...settings });
const get = async (keyHash: string): Promise<Key | undefined> =>
  (await callAsAdministrator(installation, getKey, { keyHash })).key;
const change = (hash: string, key: Partial<Omit<NewKey, "workspaceId">> & { disabled?: boolean }, paths: string[]) =>
  callAsAdministrator(installation, updateKey, { key: { hash, ...key }, updateMask: { paths } });
const later = (ms = 3_600_000) => timestampFromDate(new Date(Math.floor(Date.now() / 1_000) * 1_000 + ms));
const isKnown = async (keyHash: string) => (await resolveKey(installation.client, keyHash)).caller !== undefined;

const notFound = { reason: FaultReason.NOT_FOUND, status: 404, message: "Key not found" };
const refused = (message: string) => ({ reason: FaultReason.INVALID_REQUEST, status: 400, message });

describe("a new key", () => {
  test("is shown once, stored by its hash, and accepted from the generation of its creation on", async () => {
    const expiresAt = later();
    const { key, secret, generation } = await make({ name: "billing", expiresAt, externalUser: "employee_123" });
    expect(kindOfKey(secret)).toBe(KeyKind.INFERENCE);
    expect(key).toMatchObject({
      hash: hashKey(secret),
      label: `${secret.slice(0, 10)}...${secret.slice(-4)}`,
      name: "billing",
      kind: KeyKind.INFERENCE,
      disabled: false,
      externalUser: "employee_123",
    });
    expect(timestampDate(key?.expiresAt ?? timestampNow())).toEqual(timestampDate(expiresAt));
    expect(key?.updatedAt).toBeUndefined();
    expect(key?.spending?.total).toBe("0");
    // A key without a budget has no remaining amount.
    expect(key?.spending?.remaining).toBeUndefined();
    const resolved = await resolveKey(installation.client, hashKey(secret));
    expect(resolved.caller?.keyHash).toBe(key?.hash);
    expect(resolved.generation).toBeGreaterThanOrEqual(generation);
    expect(await get(hashKey(secret))).toEqual(key);
    const row = await installation.database
      .selectFrom("api_keys")
      .selectAll()
      .where("hash", "=", hashKey(secret))
      .execute();
    expect(JSON.stringify(row)).not.toContain(secret);
  });

  test("has only the configured rate limits, and each lookup of the caller returns them", async () => {
    const given = { requestsPerMinute: 60, tokensPerMinute: 1_000_000_000 };
    const { key } = await make({ rateLimits: given });
    expect(key?.rateLimits).toMatchObject(given);
    expect(key?.rateLimits?.concurrentRequests).toBeUndefined();
    const { caller } = await resolveKey(installation.client, key?.hash ?? "");
    expect(caller?.rateLimits).toEqual(key?.rateLimits);
  });

  test("does not register its end user", async () => {
    await make({ externalUser: "never registered" });
    const rows = installation.database.selectFrom("end_users").select("user").where("user", "=", "never registered");
    expect(await rows.execute()).toEqual([]);
  });

  test.each<[string, NewKey]>([
    ["a name of 200 code points", { name: "\u{1d4b3}".repeat(200) }],
    ["an end user of 512 code points", { externalUser: "\u{1d4b3}".repeat(512) }],
  ])("may have %s", async (_, settings) => {
    expect((await make(settings)).key).toMatchObject(settings);
  });

  test.each<[NewKey, string]>([
    [{ name: "" }, "name: at least 1 character"],
    [{ name: "\u{1d4b3}".repeat(201) }, "name: at most 200 characters"],
    [{ name: "a\0b" }, "name: must not contain NUL"],
    [{ externalUser: "" }, "external.user: at least 1 character"],
    [{ externalUser: "x".repeat(513) }, "external.user: at most 512 characters"],
    [{ externalUser: " x" }, "external.user: must not begin or end with white space"],
    [{ expiresAt: timestampFromDate(new Date(Date.now() - 1)) }, "expires_at: must be in the future"],
    [{ rateLimits: { requestsPerMinute: 0 } }, "requests_per_minute: must be between 1 and 1000000"],
    [{ rateLimits: { requestsPerMinute: 1_000_001 } }, "requests_per_minute: must be between 1 and 1000000"],
    [{ rateLimits: { tokensPerMinute: 1_000_000_001 } }, "tokens_per_minute: must be between 1 and 1000000000"],
    [{ rateLimits: { concurrentRequests: 100_001 } }, "concurrent_requests: must be between 1 and 100000"],
    [
      { expiresAt: { $typeName: "google.protobuf.Timestamp", seconds: 1n << 60n, nanos: 0 } },
      "expires_at: must be an ISO 8601 time with its zone, such as 2027-01-31T00:00:00Z",
    ],
  ])("is refused for wrong settings: case %#", async (settings, message) => {
    const before = await currentGeneration(installation.database);
    await expect(make(settings)).rejects.toMatchObject(refused(message));
    expect(await currentGeneration(installation.database)).toBe(before);
  });
});

describe("a change of a key", () => {
  test("changes the fields of the mask, and no others", async () => {
    const { key } = await make({ name: "before", externalUser: "someone", expiresAt: later() });
    const hash = key?.hash ?? "";
    const renamed = (await change(hash, { name: "after", disabled: true, externalUser: "other" }, ["name"])).key;
    expect(renamed).toMatchObject({ name: "after", disabled: false, externalUser: "someone" });
    expect(renamed?.expiresAt).toEqual(key?.expiresAt);
    expect(renamed?.updatedAt).toBeDefined();
    const cleared = (await change(hash, {}, ["expires_at", "external_user"])).key;
    expect([cleared?.expiresAt, cleared?.externalUser, cleared?.name]).toEqual([undefined, undefined, "after"]);
  });

  test("is in force at once when it disables, enables or expires a key; a new name changes no policy", async () => {
    const { key, generation } = await make();
    const hash = key?.hash ?? "";
    expect((await change(hash, { name: "other" }, ["name"])).generation).toBe(generation);
    const off = await change(hash, { disabled: true }, ["disabled"]);
    expect([off.generation, await isKnown(hash)]).toEqual([generation + 1n, false]);
    expect((await change(hash, { disabled: true }, ["disabled"])).generation).toBe(off.generation);
    const on = await change(hash, { disabled: false }, ["disabled"]);
    expect([on.generation, await isKnown(hash)]).toEqual([off.generation + 1n, true]);
    const expiresAt = later();
    const ended = await change(hash, { expiresAt }, ["expires_at"]);
    expect(ended.generation).toBe(on.generation + 1n);
    const { caller } = await resolveKey(installation.client, hash);
    expect(Number(caller?.expiresAtMs)).toBe(timestampDate(expiresAt).getTime());
  });

  test("of one rate limit changes the policy, and keeps the other limits", async () => {
    const { key, generation } = await make({ rateLimits: { requestsPerMinute: 5, concurrentRequests: 2 } });
    const hash = key?.hash ?? "";
    const paths = ["rate_limits.requests_per_minute"];
    const raised = await change(hash, { rateLimits: { requestsPerMinute: 6 } }, paths);
    expect([raised.generation, raised.key?.rateLimits?.concurrentRequests]).toEqual([generation + 1n, 2]);
    expect((await change(hash, { rateLimits: { requestsPerMinute: 6 } }, paths)).generation).toBe(raised.generation);
    const cleared = await change(hash, {}, paths);
    expect(cleared.key?.rateLimits?.requestsPerMinute).toBeUndefined();
    const { caller } = await resolveKey(installation.client, hash);
    expect([caller?.rateLimits?.requestsPerMinute, caller?.rateLimits?.concurrentRequests]).toEqual([undefined, 2]);
  });

  test.each<[Parameters<typeof change>[1], string[], string]>([
    [{ name: "" }, ["name"], "name: at least 1 character"],
    [{}, ["name"], "name: at least 1 character"],
    [{ name: "x".repeat(201) }, ["name"], "name: at most 200 characters"],
    [{ externalUser: "x " }, ["external_user"], "external.user: must not begin or end with white space"],
    [{ expiresAt: timestampFromDate(new Date(0)) }, ["expires_at"], "expires_at: must be in the future"],
    [{}, ["limit"], "update_mask: unknown field limit"],
    [{}, ["toString"], "update_mask: unknown field toString"],
    [{}, ["kind"], "update_mask: unknown field kind"],
  ])("is refused for wrong settings: case %#", async (key, paths, message) => {
    const hash = (await make()).key?.hash ?? "";
    await expect(change(hash, key, paths)).rejects.toMatchObject(refused(message));
    expect((await get(hash))?.updatedAt).toBeUndefined();
  });

  test("is never lost when many callers change the key at once", async () => {
    const hash = (await make()).key?.hash ?? "";
    const before = await currentGeneration(installation.database);
    const changes = Array.from({ length: 40 }, (_, index) =>
      retryUntilWritten(() =>
        index % 2 === 0
          ? change(hash, { name: `name ${index}` }, ["name"])
          : change(hash, { disabled: index % 4 === 1 }, ["disabled"]),
      ),
    );
    const answers = await Promise.all(changes);
    const last = await get(hash);
    expect(last?.name).toMatch(/^name \d+$/);
    expect(await isKnown(hash)).toBe(last?.disabled === false);
    // Each change of state has its own generation, named by the answer.
    const generations = new Set(answers.map((answer) => answer.generation).filter((each) => each > before));
    expect(BigInt(generations.size)).toBe((await currentGeneration(installation.database)) - before);
  });
});

describe("the deletion of a key", () => {
  test("refuses the key from the deletion's generation on, takes its guardrail, and may be repeated", async () => {
    const { key, secret } = await make();
    const hash = key?.hash ?? "";
    const id = await addGuardrail(installation.database);
    await assignGuardrail(installation.client, id, [hash], bearerMetadata(installation.managementKey));
    const { generation } = await callAsAdministrator(installation, deleteKey, { keyHash: hash });
    expect(await isKnown(hash)).toBe(false);
    const held = installation.database.selectFrom("guardrail_key_assignments").selectAll().where("key_hash", "=", hash);
    expect(await held.execute()).toEqual([]);
    expect((await callAsAdministrator(installation, deleteKey, { keyHash: hash })).generation).toBe(generation);
    await expect(get(hash)).rejects.toMatchObject(notFound);
    await expect(change(hash, { disabled: false }, ["disabled"])).rejects.toMatchObject(notFound);
    await expect(callAsAdministrator(installation, getCurrentKey, {}, bearerMetadata(secret))).rejects.toMatchObject({
      status: 401,
    });
  });

  test("is final during concurrent changes and assignments: the key stays deleted and has no guardrail", async () => {
    const id = await addGuardrail(installation.database);
    for (let round = 0; round < 10; round++) {
      const hash = (await make()).key?.hash ?? "";
      const outcomes = await Promise.allSettled([
        retryUntilWritten(() => change(hash, { disabled: false, name: "late" }, ["name", "disabled"])),
        retryUntilWritten(() =>
          assignGuardrail(installation.client, id, [hash], bearerMetadata(installation.managementKey)),
        ),
        retryUntilWritten(() => callAsAdministrator(installation, deleteKey, { keyHash: hash })),
        retryUntilWritten(() => change(hash, { disabled: true }, ["disabled"])),
      ]);
      expect(outcomes[2]?.status).toBe("fulfilled");
      for (const outcome of outcomes) {
        if (outcome.status === "rejected") expect(outcome.reason).toMatchObject(notFound);
      }
      expect(await isKnown(hash)).toBe(false);
      const held = installation.database
        .selectFrom("guardrail_key_assignments")
        .selectAll()
        .where("key_hash", "=", hash);
      expect(await held.execute()).toEqual([]);
    }
  });
});

describe("an absent key", () => {
  const nothing = ["0".repeat(64), "", "x", "../keys", "a\0b", "x".repeat(10_000)];
  test.each(nothing)("is not found by wrong hash %#", async (hash) => {
    await expect(get(hash)).rejects.toMatchObject(notFound);
    await expect(change(hash, { name: "x" }, ["name"])).rejects.toMatchObject(notFound);
    await expect(callAsAdministrator(installation, deleteKey, { keyHash: hash })).rejects.toMatchObject(notFound);
  });

  test("is not found when it is of another workspace, a management key, or spelled in another way", async () => {
    const workspaceId = await addWorkspace(installation.database);
    const foreign = await addKey(installation.database, { workspaceId });
    const own = await addKey(installation.database);
    const hashes = [hashKey(foreign), hashKey(installation.managementKey), hashKey(own).toUpperCase()];
    for (const hash of hashes) {
      await expect(get(hash)).rejects.toMatchObject(notFound);
      await expect(change(hash, { disabled: true }, ["disabled"])).rejects.toMatchObject(notFound);
      await expect(callAsAdministrator(installation, deleteKey, { keyHash: hash })).rejects.toMatchObject(notFound);
    }
    expect([await isKnown(hashKey(foreign)), await isKnown(hashKey(installation.managementKey))]).toEqual([true, true]);
  });

  test("is 404 when its workspace is inaccessible", async () => {
    const workspaceId = await addWorkspace(installation.database);
    for (const id of [workspaceId, "x", "a\0b"]) {
      const missing = { status: 404, message: "Workspace not found" };
      await expect(make({ workspaceId: id })).rejects.toMatchObject(missing);
      await expect(callAsAdministrator(installation, listKeys, { workspaceId: id })).rejects.toMatchObject(missing);
    }
  });
});

describe("the list of keys", () => {
  test("has the keys of the caller's workspace in pages, oldest first, with their total number", async () => {
    const workspaceId = await addWorkspace(installation.database);
    const manager = await addKey(installation.database, { workspaceId, kind: KeyKind.MANAGEMENT });
    const list = (request: { offset?: number; limit?: number; includeDisabled?: boolean }) =>
      callAsAdministrator(installation, listKeys, request, bearerMetadata(manager));
    expect(await list({})).toMatchObject({ keys: [], totalCount: 0n });
    const made: string[] = [];
    for (let index = 0; index < 103; index++) made.push(hashKey(await addKey(installation.database, { workspaceId })));
    const asManager = bearerMetadata(manager);
    await callAsAdministrator(installation, deleteKey, { keyHash: made[0] ?? "" }, asManager);
    const mask = { updateMask: { paths: ["disabled"] } };
    await callAsAdministrator(
      installation,
      updateKey,
      { key: { hash: made[1] ?? "", disabled: true }, ...mask },
      asManager,
    );
    const hashes = ({ keys }: { keys: Key[] }) => keys.map(({ hash }) => hash);

    const first = await list({});
    expect([hashes(first), first.totalCount]).toEqual([made.slice(2, 102), 101n]);
    const second = await list({ offset: 100, limit: 100 });
    expect([hashes(second), second.totalCount]).toEqual([made.slice(102), 101n]);
    const beyond = await list({ offset: 101, limit: 1 });
    expect([hashes(beyond), beyond.totalCount]).toEqual([[], 101n]);
    const all = await list({ includeDisabled: true, limit: 2 });
    expect([hashes(all), all.totalCount]).toEqual([made.slice(1, 3), 102n]);
    expect(all.keys.map(({ disabled }) => disabled)).toEqual([true, false]);
    await expect(list({ limit: 101 })).rejects.toMatchObject(refused("limit: must be between 1 and 100"));
    await expect(list({ offset: 2 ** 31 })).rejects.toMatchObject(refused("offset: must be at most 2147483647"));
  });

  test("is consistent during creations and deletions: a page and its total belong together", async () => {
    const workspaceId = await addWorkspace(installation.database);
    const manager = bearerMetadata(await addKey(installation.database, { workspaceId, kind: KeyKind.MANAGEMENT }));
    const churn = async () => {
      for (let round = 0; round < 20; round++) {
        const { key } = await retryUntilWritten(() =>
          callAsAdministrator(installation, createKey, { name: "short" }, manager),
        );
        await retryUntilWritten(() =>
          callAsAdministrator(installation, deleteKey, { keyHash: key?.hash ?? "" }, manager),
        );
      }
    };
    const look = async () => {
      for (let round = 0; round < 60; round++) {
        const { keys, totalCount } = await retryUntilWritten(() =>
          callAsAdministrator(installation, listKeys, {}, manager),
        );
        expect(BigInt(keys.length)).toBe(totalCount);
      }
    };
    await Promise.all([churn(), churn(), look()]);
  });
});

test("any key may look itself up", async () => {
  const { secret, key } = await make({ name: "self" });
  expect((await callAsAdministrator(installation, getCurrentKey, {}, bearerMetadata(secret))).key).toEqual(key);
  const own = await callAsAdministrator(installation, getCurrentKey, {});
  expect(own.key).toMatchObject({ hash: hashKey(installation.managementKey), kind: KeyKind.MANAGEMENT });
  const disabled = (await addKeys(installation.database, 1))[0] ?? "";
  await change(disabled, { disabled: true }, ["disabled"]);
  await expect(callAsAdministrator(installation, getCurrentKey, {}, bearerMetadata("x"))).rejects.toMatchObject({
    status: 401,
  });
});

describe("the searched list of keys", () => {
  const names = async (fields: { query?: string; sort?: string; offset?: number; limit?: number }) => {
    const { keys, totalCount } = await callAsAdministrator(installation, listKeys, fields);
    return { names: keys.map(({ name }) => name), total: Number(totalCount) };
  };
  const used = async (keyHash: string, costUsd: string, openedAtMs: number) => {
    const record = usageRecord({ keyHash, costUsd, openedAtMs: BigInt(openedAtMs) });
    await insertUsage(installation.database, [toRow(record)]);
  };
  const hashes: string[] = [];

  beforeAll(async () => {
    for (const name of ["list 50%", "List b", "list_a", "list b"]) {
      hashes.push((await make({ name })).key?.hash ?? "");
    }
    const [percent = "", second = "", third = ""] = hashes;
    await used(percent, "2", Date.parse("2026-01-01"));
    await used(second, "1", Date.parse("2026-01-03"));
    await used(third, "3", Date.parse("2026-01-02"));
  });

  test("finds parts of names and labels and prefixes of hashes, without wildcards", async () => {
    expect(await names({ query: "LIST" })).toMatchObject({ total: 4 });
    expect(await names({ query: "list b" })).toEqual({ names: ["List b", "list b"], total: 2 });
    expect(await names({ query: "50%" })).toEqual({ names: ["list 50%"], total: 1 });
    expect(await names({ query: "t_" })).toEqual({ names: ["list_a"], total: 1 });
    expect(await names({ query: (hashes[2] ?? "").slice(0, 20) })).toEqual({ names: ["list_a"], total: 1 });
    expect(await names({ query: (hashes[2] ?? "").slice(-20) })).toEqual({ names: [], total: 0 });
    const { keys } = await callAsAdministrator(installation, listKeys, { query: "list_a" });
    expect((await names({ query: keys[0]?.label ?? "" })).names).toEqual(["list_a"]);
  });

  test("supports every order in both directions", async () => {
    const order = async (sort: string) => (await names({ query: "list", sort })).names;
    expect(await order("created")).toEqual(["list 50%", "List b", "list_a", "list b"]);
    expect(await order("-created")).toEqual(["list b", "list_a", "List b", "list 50%"]);
    expect(await order("spent")).toEqual(["list b", "List b", "list 50%", "list_a"]);
    expect(await order("-spent")).toEqual(["list_a", "list 50%", "List b", "list b"]);
    expect(await order("last_used")).toEqual(["list b", "list 50%", "list_a", "List b"]);
    expect(await order("-last_used")).toEqual(["List b", "list_a", "list 50%", "list b"]);
    expect((await order("name")).map((name) => name.toLowerCase())).toEqual(
      (await order("-name")).map((name) => name.toLowerCase()).toReversed(),
    );
    const { keys } = await callAsAdministrator(installation, listKeys, { query: "list", sort: "last_used" });
    expect(keys.map(({ lastUsedAt }) => lastUsedAt && timestampDate(lastUsedAt).toISOString().slice(0, 10))).toEqual([
      undefined,
      "2026-01-01",
      "2026-01-02",
      "2026-01-03",
    ]);
  });

  test("has pages without overlaps or gaps for keys with equal sort values", async () => {
    const added = await addKeys(installation.database, 30);
    const page = (offset: number) => callAsAdministrator(installation, listKeys, { sort: "-spent", offset, limit: 10 });
    const total = Number((await page(0)).totalCount);
    const listed: string[] = [];
    while (listed.length < total) listed.push(...(await page(listed.length)).keys.map(({ hash }) => hash));
    expect(new Set(listed).size).toBe(total);
    expect(listed).toEqual(expect.arrayContaining(added));
  });

  test.each([
    [{ sort: "age" }, "sort: must be one of"],
    [{ query: "x".repeat(201) }, "q: "],
  ])("is refused with 400 for the query %j", async (fields, message) => {
    await expect(callAsAdministrator(installation, listKeys, fields)).rejects.toMatchObject({
      reason: FaultReason.INVALID_REQUEST,
      message: expect.stringContaining(message),
    });
  });
});
