/** Permission to administrate: management keys, and the gateway on behalf of one. */
import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { Metadata } from "@grpc/grpc-js";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { createEndUser } from "@sluice/admin-svc/store/end-users.js";
import { revokeKey, updateKey } from "@sluice/admin-svc/store/keys.js";
import {
  AccessService,
  FilterAction,
  ResolveKeyRequestSchema,
} from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { EndUserService, UpdateEndUserRequestSchema } from "@sluice/proto/gen/sluice/admin/v1/end_user_service_pb.js";
import { GuardrailService } from "@sluice/proto/gen/sluice/admin/v1/guardrail_service_pb.js";
import { KeyService } from "@sluice/proto/gen/sluice/admin/v1/key_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { KeyKind, hashKey, mintKey } from "@sluice/proto/lib/ids/key.js";
import { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { Access } from "@sluice/proto/lib/policy/access.js";
import { call, dial, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import {
  type AdminInstallation,
  addGuardrail,
  addKey,
  addKeys,
  callAsAdministrator,
  assignGuardrail,
  bearerMetadata,
  openInstallation,
  resolveKey,
  serviceToken,
  timeoutMs,
  unassignGuardrail,
  testAuthor,
} from "./installation.ts";

let installation: AdminInstallation;
let guardrailId: string;
/** Hash of a key used by no other test. */
let known: string;
beforeAll(async () => {
  installation = await openInstallation();
  guardrailId = await addGuardrail(installation.database);
  known = hashKey(await addKey(installation.database));
  await createEndUser(installation.database, testAuthor(), "known");
});
afterAll(() => installation.close());

const update = (metadata: Metadata) =>
  call(
    installation.client,
    EndUserService.method.updateEndUser,
    create(UpdateEndUserRequestSchema, { user: "known", isActive: true }),
    metadata,
    timeoutMs,
  );

const endUsers = EndUserService.method;
const keys = KeyService.method;
const guardrails = GuardrailService.method;

const operations: [string, (metadata: Metadata) => Promise<unknown>][] = [
  ["ListEndUsers", (metadata) => callAsAdministrator(installation, endUsers.listEndUsers, {}, metadata)],
  [
    "CreateEndUser",
    (metadata) => callAsAdministrator(installation, endUsers.createEndUser, { user: crypto.randomUUID() }, metadata),
  ],
  ["GetEndUser", (metadata) => callAsAdministrator(installation, endUsers.getEndUser, { user: "known" }, metadata)],
  [
    "DeleteEndUser",
    (metadata) => callAsAdministrator(installation, endUsers.deleteEndUser, { user: "known" }, metadata),
  ],
  ["ListKeyAssignments", (metadata) => callAsAdministrator(installation, guardrails.listKeyAssignments, {}, metadata)],
  ["ListGuardrails", (metadata) => callAsAdministrator(installation, guardrails.listGuardrails, {}, metadata)],
  [
    "CreateGuardrail",
    (metadata) => callAsAdministrator(installation, guardrails.createGuardrail, { name: "x" }, metadata),
  ],
  ["GetGuardrail", (metadata) => callAsAdministrator(installation, guardrails.getGuardrail, { guardrailId }, metadata)],
  [
    "UpdateGuardrail",
    (metadata) =>
      callAsAdministrator(installation, guardrails.updateGuardrail, { guardrail: { id: guardrailId } }, metadata),
  ],
  [
    "DeleteGuardrail",
    async (metadata) => {
      const doomed = await addGuardrail(installation.database);
      return callAsAdministrator(installation, guardrails.deleteGuardrail, { guardrailId: doomed }, metadata);
    },
  ],
  ["ListKeys", (metadata) => callAsAdministrator(installation, keys.listKeys, {}, metadata)],
  ["CreateKey", (metadata) => callAsAdministrator(installation, keys.createKey, { name: "x" }, metadata)],
  ["GetKey", (metadata) => callAsAdministrator(installation, keys.getKey, { keyHash: known }, metadata)],
  ["UpdateKey", (metadata) => callAsAdministrator(installation, keys.updateKey, { key: { hash: known } }, metadata)],
  ["DeleteKey", (metadata) => callAsAdministrator(installation, keys.deleteKey, { keyHash: known }, metadata)],
  ["AssignKeys", (metadata) => assignGuardrail(installation.client, guardrailId, ["x"], metadata)],
  ["UnassignKeys", (metadata) => unassignGuardrail(installation.client, guardrailId, ["x"], metadata)],
  ["UpdateEndUser", update],
];

const faultOf = (promise: Promise<unknown>): Promise<Fault> =>
  promise.then(
    () => {
      throw new Error("was not refused");
    },
    (error: unknown) => error as Fault,
  );

describe.each(operations)("%s", (_, operation) => {
  test("requires a key", async () => {
    expect(await faultOf(operation(new Metadata()))).toMatchObject({
      reason: FaultReason.UNAUTHENTICATED,
      message: "Missing Authentication header",
    });
  });

  test("gives the same answer to malformed, unknown, disabled, revoked and expired keys and a bare hash", async () => {
    const disabled = await addKey(installation.database, { kind: KeyKind.MANAGEMENT });
    await updateKey(installation.database, testAuthor(), hashKey(disabled), { disabled: true });
    const revoked = await addKey(installation.database, { kind: KeyKind.MANAGEMENT });
    await revokeKey(installation.database, testAuthor(), hashKey(revoked));
    const expired = await addKey(installation.database, {
      kind: KeyKind.MANAGEMENT,
      expiresAt: new Date(Date.now() - 1),
    });
    const refused = ["x", `mk-sl-${"0".repeat(49)}`, mintKey(KeyKind.MANAGEMENT), disabled, revoked, expired];
    const faults = await Promise.all(
      [...refused, hashKey(installation.managementKey)].map((key) => faultOf(operation(bearerMetadata(key)))),
    );
    for (const fault of faults) expect(fault.toMessage()).toEqual(faults[0]?.toMessage());
    expect(faults[0]).toMatchObject({ reason: FaultReason.UNAUTHENTICATED, message: "Invalid API key" });
  });

  test("refuses an inference key", async () => {
    expect(await faultOf(operation(bearerMetadata(await addKey(installation.database))))).toMatchObject({
      reason: FaultReason.PERMISSION_DENIED,
      status: 403,
      message: "Only management keys can perform this operation",
    });
  });

  test("accepts an unexpired management key", async () => {
    const key = await addKey(installation.database, {
      kind: KeyKind.MANAGEMENT,
      expiresAt: new Date(Date.now() + 60_000),
    });
    await expect(operation(bearerMetadata(key))).resolves.toBeDefined();
  });

  test("accepts the caller's hash only from the gateway", async () => {
    const keyHash = hashKey(installation.managementKey);
    await expect(operation(serviceMetadata(serviceToken, { keyHash }))).resolves.toBeDefined();
    const unknown = serviceMetadata(serviceToken, { keyHash: hashKey("nobody") });
    expect(await faultOf(operation(unknown))).toMatchObject({ message: "Invalid API key" });
    const forged = serviceMetadata(serviceToken.replace("a", "b"), { keyHash });
    expect(await faultOf(operation(forged))).toMatchObject({ message: "Missing Authentication header" });
  });
});

test("a request without a key gives the same answer whether the record exists or not", async () => {
  const fault = await faultOf(assignGuardrail(installation.client, "no such guardrail", [], bearerMetadata("x")));
  expect(fault).toMatchObject({ reason: FaultReason.UNAUTHENTICATED });
});

describe("ResolveKey", () => {
  test("requires the service token, and accepts no API key instead of it", async () => {
    const request = create(ResolveKeyRequestSchema, { keyHash: hashKey(installation.managementKey) });
    for (const metadata of [
      new Metadata(),
      bearerMetadata(installation.managementKey),
      serviceMetadata("x".repeat(40)),
    ]) {
      const fault = await faultOf(
        call(installation.client, AccessService.method.resolveKey, request, metadata, timeoutMs),
      );
      expect(fault).toMatchObject({ reason: FaultReason.UNAUTHENTICATED });
    }
  });

  test("returns key, workspace and guardrail with their generation", async () => {
    const expiresAt = new Date(Date.now() + 60_000);
    const keyHash = hashKey(await addKey(installation.database, { expiresAt }));
    const before = await resolveKey(installation.client, keyHash);
    expect(before.caller).toMatchObject({
      keyHash,
      workspaceId: defaultWorkspaceId,
      kind: KeyKind.INFERENCE,
      expiresAtMs: BigInt(expiresAt.getTime()),
    });
    expect(before.caller?.guardrail).toBeUndefined();
    const { generation } = await assignGuardrail(
      installation.client,
      guardrailId,
      [keyHash],
      bearerMetadata(installation.managementKey),
    );
    const after = await resolveKey(installation.client, keyHash);
    expect(after.generation).toBe(generation);
    expect(generation).toBe(before.generation + 1n);
    expect(after.caller?.guardrail).toMatchObject({
      id: guardrailId,
      name: "test",
      contentFilters: [{ pattern: "secret-\\d+", label: "Secret", action: FilterAction.BLOCK }],
    });
  });

  test("marks a management key as a management key", async () => {
    const { caller } = await resolveKey(installation.client, hashKey(installation.managementKey));
    expect(caller).toMatchObject({ kind: KeyKind.MANAGEMENT });
    expect(caller?.expiresAtMs).toBeUndefined();
  });

  test("returns several keys from one snapshot, and sends each of their guardrails once", async () => {
    const [first = "", ...hashes] = await addKeys(installation.database, 4);
    const held = hashes.slice(0, 2);
    const { generation } = await assignGuardrail(
      installation.client,
      guardrailId,
      held,
      bearerMetadata(installation.managementKey),
    );
    const further = [...hashes, hashKey("nobody"), "a\0b"];
    const askFor = (refusesUnknown: boolean) =>
      call(
        installation.client,
        AccessService.method.resolveKey,
        create(ResolveKeyRequestSchema, { keyHash: first, refusesUnknown, furtherKeyHashes: further }),
        serviceMetadata(serviceToken),
        timeoutMs,
      );
    const answer = await askFor(true);
    expect([answer.caller?.keyHash, answer.generation]).toEqual([first, generation]);
    expect(answer.further.map(({ caller }) => caller?.keyHash)).toEqual([...hashes, undefined, undefined]);
    expect(answer.further.map((key) => key.guardrailId)).toEqual([guardrailId, guardrailId, "", "", ""]);
    expect(answer.guardrails).toEqual([(await resolveKey(installation.client, held[0] ?? "")).caller?.guardrail]);
    // A process that can enforce only a part of the guardrail never gets the key unguarded.
    expect((await askFor(false)).further).toEqual([]);
  });

  test("is called once for two hundred keys that are needed at once, and each gets its policy", async () => {
    const hashes = await addKeys(installation.database, 200);
    await assignGuardrail(
      installation.client,
      guardrailId,
      hashes.slice(100),
      bearerMetadata(installation.managementKey),
    );
    const client = dial(`127.0.0.1:${installation.port}`);
    const calls = jest.spyOn(client, "makeUnaryRequest");
    const registry = new Registry();
    const access = new Access({ client, token: serviceToken, process: "burst", log: installation.log, registry });
    await access.watch();
    const found = await Promise.all(hashes.map(async (hash) => (await access.resolve(hash)).caller));
    access.stop();
    for (const hash of hashes) {
      const alone = (await resolveKey(installation.client, hash)).caller;
      expect(found[hashes.indexOf(hash)]).toEqual(alone);
    }
    expect(calls.mock.calls.length).toBeLessThanOrEqual(6);
  });

  test("returns no caller for unknown, revoked and expired keys", async () => {
    const revoked = hashKey(await addKey(installation.database));
    await revokeKey(installation.database, testAuthor(), revoked);
    const expired = hashKey(await addKey(installation.database, { expiresAt: new Date(Date.now() - 1) }));
    for (const keyHash of [revoked, expired, hashKey("nobody"), "", "a\0b", "x".repeat(100_000)]) {
      const response = await resolveKey(installation.client, keyHash);
      expect(response.caller).toBeUndefined();
      expect(response.generation).toBeGreaterThan(0n);
    }
  });
});
