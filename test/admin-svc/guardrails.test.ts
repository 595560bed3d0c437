/** The records of GuardrailService over real gRPC: the settings of a guardrail, and the keys reached by a change. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { findPatternErrors } from "@sluice/admin-svc/rules/patterns.js";
import { currentGeneration, lockGeneration, maxNamedKeys } from "@sluice/admin-svc/store/policy.js";
import {
  AppliesTo,
  ErrorPolicy,
  FilterAction,
  GuardrailMode,
  KeyKind,
  ScanScope,
} from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import {
  type CreateGuardrailRequestSchema,
  type GuardrailRecord,
  GuardrailService,
} from "@sluice/proto/gen/sluice/admin/v1/guardrail_service_pb.js";
import { KeyService } from "@sluice/proto/gen/sluice/admin/v1/key_service_pb.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { Metadata } from "@grpc/grpc-js";
import { sql } from "kysely";
import { setImmediate as nextTurn } from "node:timers/promises";
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
  waitingStatements,
} from "./installation.ts";
import { eventually } from "../support/processes.ts";
import { PolicyWatcher } from "./watching.ts";

let installation: AdminInstallation;
beforeAll(async () => {
  installation = await openInstallation();
});
afterAll(() => installation.close());

const { listGuardrails, createGuardrail, getGuardrail, updateGuardrail, deleteGuardrail } = GuardrailService.method;

type Settings = Omit<MessageInitShape<typeof CreateGuardrailRequestSchema>, "$typeName" | "$unknown">;

const block = (pattern: string, label = "") => ({ pattern, label, action: FilterAction.BLOCK });

const builtin = (slug: string, action = FilterAction.BLOCK) => ({ slug, action });

const judged = (rule: string, action: FilterAction, threshold = 0.5) => ({ rule, action, threshold });

const found = (detector: string, more: object = {}) => ({
  detector,
  category: "person-name",
  action: FilterAction.REDACT,
  ...more,
});

/** Paths for the update mask: the field, or each field of a routing policy. */
function pathsOf(name: string, { routingPolicy }: Settings): string[] {
  const snake = (camel: string) => camel.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  if (name !== "routingPolicy") return [snake(name)];
  return Object.keys(routingPolicy ?? {}).map((field) => `routing_policy.${snake(field)}`);
}

async function make(settings: Settings = {}): Promise<GuardrailRecord> {
  const { guardrail } = await callAsAdministrator(installation, createGuardrail, { name: "made", ...settings });
  if (!guardrail) throw new Error("no guardrail in the answer");
  return guardrail;
}
const get = async (guardrailId: string) =>
  (await callAsAdministrator(installation, getGuardrail, { guardrailId })).guardrail;
const change = (id: string, settings: Settings, paths: string[]) =>
  callAsAdministrator(installation, updateGuardrail, { guardrail: { id, ...settings }, updateMask: { paths } });
const remove = (guardrailId: string) => callAsAdministrator(installation, deleteGuardrail, { guardrailId });
const give = (id: string, hashes: string[]) =>
  assignGuardrail(installation.client, id, hashes, bearerMetadata(installation.managementKey));

const notFound = { reason: FaultReason.NOT_FOUND, status: 404, message: "Guardrail not found" };
const refused = (message: string) => ({ reason: FaultReason.INVALID_REQUEST, status: 400, message });

const logged = async (generation: bigint) => {
  const row = installation.database
    .selectFrom("policy_log")
    .select("key_hashes")
    .where("generation", "=", String(generation));
  return (await row.executeTakeFirstOrThrow()).key_hashes;
};

describe("a guardrail", () => {
  test("is stored as requested, and applies to no key yet", async () => {
    const before = await currentGeneration(installation.database);
    const contentFilters = [block("secret-\\d+", "Secret"), block("(?i)code red")];
    const made = await make({ name: "no secrets", description: "For \u{1d4b3}", contentFilters });
    expect(made).toMatchObject({ name: "no secrets", description: "For \u{1d4b3}", contentFilters });
    expect(await get(made.id)).toEqual(made);
    expect(await currentGeneration(installation.database)).toBe(before);
    expect(await make()).toMatchObject({
      contentFilters: [],
      contentFilterBuiltins: [],
      appliesTo: AppliesTo.INPUT,
      mode: GuardrailMode.ENFORCE,
      onError: ErrorPolicy.CLOSED,
      workspaceDefault: false,
    });
  });

  test("returns built-in filters, sides, models and providers as they were configured", async () => {
    const settings: Settings = {
      contentFilters: [{ pattern: "x", label: "", action: FilterAction.REDACT }],
      contentFilterBuiltins: [
        builtin("email", FilterAction.FLAG),
        { ...builtin("regex-prompt-injection"), scanScope: ScanScope.USER_ONLY },
      ],
      appliesTo: AppliesTo.BOTH,
      mode: GuardrailMode.AUDIT,
      onError: ErrorPolicy.OPEN,
      routingPolicy: {
        allowedModels: ["acme/large"],
        enforceZdrXai: false,
        enforceZdrGroups: { acme: true },
        enablePaidModelTraining: false,
        allowedDataRegions: ["europe", "us"],
      },
    };
    const made = await make(settings);
    expect(made).toMatchObject(settings);
    const [hash] = (await addKeys(installation.database, 1)) as [string];
    await give(made.id, [hash]);
    expect((await resolveKey(installation.client, hash)).caller?.guardrail).toMatchObject(settings);
    const paths = ["routing_policy.allowed_models", "routing_policy.enforce_zdr_openai", "mode"];
    const { guardrail } = await change(made.id, { routingPolicy: { enforceZdrOpenai: true } }, paths);
    expect(guardrail).toMatchObject({ mode: GuardrailMode.ENFORCE, appliesTo: AppliesTo.BOTH });
    expect(guardrail?.routingPolicy).toMatchObject({
      ...settings.routingPolicy,
      allowedModels: [],
      enforceZdrOpenai: true,
    });
  });

  test.each<[string, Settings]>([
    ["a name of 200 code points", { name: "\u{1d4b3}".repeat(200) }],
    ["a description of 1,000", { description: "\u{1d4b3}".repeat(1_000) }],
    ["a pattern of 100,000 characters", { contentFilters: [block("x".repeat(100_000))] }],
    ["a label of 100", { contentFilters: [block("x", "\u{1d4b3}".repeat(100))] }],
    ["100 filters", { contentFilters: Array.from({ length: 100 }, (_, i) => block(`x${i}`)) }],
  ])("may have %s", async (_, settings) => {
    expect(await make(settings)).toMatchObject(settings);
  });

  const wrong: [Settings, string][] = [
    [{ name: "" }, "name: at least 1 character"],
    [{ name: "\u{1d4b3}".repeat(201) }, "name: at most 200 characters"],
    [{ description: "x".repeat(1_001) }, "description: at most 1000 characters"],
    [{ description: "a\0b" }, "description: must not contain NUL"],
    [{ contentFilters: [block("")] }, "content_filters.0.pattern: at least 1 character"],
    [{ contentFilters: [block("x".repeat(100_001))] }, "content_filters.0.pattern: at most 100000 characters"],
    [{ contentFilters: [block("x", "l".repeat(101))] }, "content_filters.0.label: at most 100 characters"],
    [{ contentFilters: Array.from({ length: 101 }, () => block("x")) }, "content_filters: at most 100 elements"],
    [
      { contentFilters: [block("x"), block("(?=x)x")] },
      "content_filters.1.pattern: look-around is not supported: patterns must match in linear time",
    ],
    [
      { contentFilters: [block("x"), block("[a-z]{3000}")] },
      "content_filters.1.pattern: too complex: more than 1050 states alive at once",
    ],
    [{ contentFilters: [block("x*")] }, "content_filters.0.pattern: must not match the empty string"],
    [{ contentFilters: [{ pattern: "x" }] }, "content_filters.0.action: must be one of block, redact, flag"],
    [
      { contentFilters: [{ pattern: "x", action: 7 as never }] },
      "content_filters.0.action: must be one of block, redact, flag",
    ],
    [{ contentFilterBuiltins: [builtin("iban")] }, "content_filter_builtins.0.slug: must be one of email, phone,"],
    [
      { contentFilterBuiltins: [builtin("email"), builtin("email")] },
      "content_filter_builtins.1.slug: email is named before it",
    ],
    [
      { contentFilterBuiltins: [{ ...builtin("email"), scanScope: ScanScope.USER_ONLY }] },
      "content_filter_builtins.0.scan_scope: only of regex-prompt-injection",
    ],
    [{ judgeRules: [{ rule: "x" }] }, "judge_rules.0.action: must be one of block, flag"],
    [{ judgeRules: [judged("", FilterAction.BLOCK)] }, "judge_rules.0.rule: at least 1 character"],
    [{ judgeRules: [judged("x", FilterAction.REDACT)] }, "judge_rules.0.action: must be one of block, flag"],
    [{ judgeRules: [judged("x", FilterAction.FLAG, 1.1)] }, "judge_rules.0.threshold: must be"],
    [{ detectors: [found("")] }, "detectors.0.detector: at least 1 character"],
    [{ detectors: [found("names", { category: "" })] }, "detectors.0.category: at least 1 character"],
    [{ detectors: [found("names", { action: 9 as never })] }, "detectors.0.action: must be one of"],
    [{ detectors: [found("names", { threshold: 0 })] }, "detectors.0.threshold: must be"],
    [{ detectors: [found("names", { label: "x".repeat(101) })] }, "detectors.0.label: at most 100 characters"],
    [{ detectors: Array.from({ length: 21 }, () => found("names")) }, "detectors: at most 20 elements"],
    [{ mode: 9 as never }, "mode: must be one of enforce, audit"],
    [{ routingPolicy: { allowedModels: [""] } }, "allowed_models.0: at least 1 character"],
    [{ routingPolicy: { ignoredProviders: ["x".repeat(257)] } }, "ignored_providers.0: at most 256 characters"],
    [{ routingPolicy: { allowedDataRegions: ["mars"] } }, "allowed_data_regions.0: must be one of global, europe, us"],
    [{ routingPolicy: { enforceZdrGroups: { "A B": true } } }, "enforce_zdr_groups: must be the author of models"],
  ];
  test.each(wrong)("is refused at creation and in a change for wrong settings: case %#", async (settings, message) => {
    const refusal = { ...refused(message), message: expect.stringContaining(message) as unknown };
    await expect(make(settings)).rejects.toMatchObject(refusal);
    const made = await make({ contentFilters: [block("kept")] });
    const paths = Object.keys(settings).flatMap((name) => pathsOf(name, settings));
    await expect(change(made.id, settings, paths)).rejects.toMatchObject(refusal);
    expect(await get(made.id)).toEqual(made);
  });
});

describe("the guardrail of a workspace", () => {
  const underOf = async (hash: string) => {
    const { caller } = await resolveKey(installation.client, hash);
    return [caller?.guardrail?.id, caller?.workspaceGuardrails.map(({ id }) => id)];
  };

  test("holds for every key of the workspace, also for new keys, in addition to the key's own guardrail", async () => {
    const [held, bare] = (await addKeys(installation.database, 2)) as [string, string];
    const own = await make({ name: "own" });
    await give(own.id, [held]);
    const { guardrail: first, generation } = await callAsAdministrator(installation, createGuardrail, {
      name: "first",
      workspaceDefault: true,
    });
    expect(await logged(generation)).toBeNull();
    const second = await make({ name: "second" });
    expect(await underOf(held)).toEqual([own.id, [first?.id]]);
    const changed = await change(second.id, { workspaceDefault: true }, ["workspace_default"]);
    expect(await logged(changed.generation)).toBeNull();
    const [late] = (await addKeys(installation.database, 1)) as [string];
    for (const hash of [bare, late]) expect(await underOf(hash)).toEqual([undefined, [first?.id, second.id]]);
    const elsewhere = hashKey(
      await addKey(installation.database, { workspaceId: await addWorkspace(installation.database) }),
    );
    expect(await underOf(elsewhere)).toEqual([undefined, []]);
    await give(second.id, [bare]);
    expect(await underOf(bare)).toEqual([second.id, [first?.id]]);
    expect(await logged((await remove(first?.id ?? "")).generation)).toBeNull();
    await change(second.id, {}, ["workspace_default"]);
    expect(await underOf(late)).toEqual([undefined, []]);
  });
});

describe("guardrail patterns of the largest size", () => {
  const large = (index: number) =>
    Array.from({ length: 2_500 }, (_, word) => `${((word * 7_919 + index) % 26 ** 4).toString(26)}q`).join("|");

  test("delay no lookup of a key", async () => {
    const [hash] = (await addKeys(installation.database, 1)) as [string];
    const contentFilters = Array.from({ length: 55 }, (_, index) => block(large(index)));
    let settled = false;
    const making = make({ contentFilters }).finally(() => (settled = true));
    const resolving = async () => {
      let resolved = 0;
      for (let round = 0; round < 10; round++) {
        await resolveKey(installation.client, hash);
        if (!settled) resolved++;
      }
      return resolved;
    };
    expect(await resolving()).toBe(10);
    expect(await making).toMatchObject({ contentFilters });
  }, 300_000);

  test("are compiled outside the serving thread, and their calls are answered in order", async () => {
    const done: [string, boolean[]][] = [];
    const sendRequest = async (name: string, patterns: readonly string[]) =>
      done.push([name, (await findPatternErrors(patterns)).map((complaint) => complaint === null)]);
    const many = Array.from({ length: 40 }, (_, index) => large(index));
    const asked = [sendRequest("first", [...many, "(x"]), sendRequest("second", ["y"])];
    let turns = 0;
    for (; done.length < 2; turns++) await nextTurn();
    await Promise.all(asked);
    expect(done).toEqual([
      ["first", [...many.map(() => true), false]],
      ["second", [true]],
    ]);
    // In the serving thread, all patterns would compile within a single turn of the event loop.
    expect(turns).toBeGreaterThan(10);
  });

  test("total at most 1,048,576 bytes, and a far larger call is refused before decoding", async () => {
    const filters = (bytes: number) => [
      ...Array.from({ length: 10 }, (_, index) => block(`${"y".repeat(99_999)}${index}`)),
      block("\u{1d4b3}".repeat(10_000)),
      block("z".repeat(bytes - 1_040_000)),
    ];
    await expect(make({ contentFilters: filters(1_048_576) })).resolves.toBeDefined();
    await expect(make({ contentFilters: filters(1_048_577) })).rejects.toMatchObject(
      refused("content_filters: at most 1048576 bytes in all patterns together"),
    );
    const long = { name: "x".repeat(5_000_000) };
    await expect(callAsAdministrator(installation, createGuardrail, long)).rejects.toMatchObject({ status: 413 });
    // A caller without a key is refused before the large body is read.
    await expect(callAsAdministrator(installation, createGuardrail, long, new Metadata())).rejects.toMatchObject({
      status: 401,
    });
  });
});

describe("a change of a guardrail", () => {
  test("changes the fields of the mask, and no others", async () => {
    const made = await make({ name: "before", description: "kept", contentFilters: [block("a"), block("b")] });
    const renamed = (await change(made.id, { name: "after", contentFilters: [] }, ["name"])).guardrail;
    expect(renamed).toMatchObject({ name: "after", description: "kept", contentFilters: made.contentFilters });
    expect(renamed?.createdAt).toEqual(made.createdAt);
    const cleared = (await change(made.id, {}, ["description", "content_filters"])).guardrail;
    expect([cleared?.description, cleared?.contentFilters, cleared?.name]).toEqual([undefined, [], "after"]);
    await expect(change(made.id, {}, ["limit"])).rejects.toMatchObject(refused("update_mask: unknown field limit"));
    await expect(change(made.id, {}, ["routing_policy.constructor"])).rejects.toMatchObject(
      refused("update_mask: unknown field routing_policy.constructor"),
    );
  });

  test("removes both halves of a budget, or neither of them", async () => {
    const { id } = await make({ limitUsd: "5", resetInterval: "daily" });
    const half = refused("reset_interval: goes together with limit_usd: both, or neither");
    for (const path of ["limit_usd", "reset_interval"])
      await expect(change(id, {}, [path])).rejects.toMatchObject(half);
    const { guardrail } = await change(id, {}, ["limit_usd", "reset_interval"]);
    expect([guardrail?.limitUsd, guardrail?.resetInterval]).toEqual([undefined, ""]);
  });

  test("is published to exactly the keys with this guardrail, and is in force at once", async () => {
    const made = await make({ contentFilters: [block("before")] });
    const [first, second, other] = (await addKeys(installation.database, 3)) as [string, string, string];
    await give(made.id, [first, second]);
    const { generation: before } = await give(await addGuardrail(installation.database), [other]);
    const { generation } = await change(made.id, { contentFilters: [block("after")] }, ["content_filters"]);
    expect(generation).toBe(before + 1n);
    expect((await logged(generation))?.toSorted()).toEqual([first, second].toSorted());
    const resolved = await resolveKey(installation.client, first);
    expect(resolved.caller?.guardrail?.contentFilters).toMatchObject([{ pattern: "after" }]);
    // A new description changes no decision, so the generation stays the same.
    expect((await change(made.id, { description: "new" }, ["description"])).generation).toBe(generation);
    expect((await change(made.id, { contentFilters: [block("after")] }, ["content_filters"])).generation).toBe(
      generation,
    );
    expect((await change(made.id, { name: "shown in receipts" }, ["name"])).generation).toBe(generation + 1n);
  });

  describe("a change of a guardrail during the rotation of a key that has it in addition to its own", () => {
    const { createKey, rotateKey } = KeyService.method;
    const keyWith = async (id: string): Promise<string> =>
      (await callAsAdministrator(installation, createKey, { name: "old", furtherGuardrails: [id] })).key?.hash ?? "";
    const rotate = (keyHash: string) =>
      callAsAdministrator(installation, rotateKey, { keyHash, overlapSeconds: 60 }).then(({ key }) => key);
    const wait = (text: string, count = 1) =>
      eventually(async () => (await waitingStatements(installation.database, text)) === count);

    test("is published to the new key", async () => {
      const { id } = await make({ contentFilters: [block("before")] });
      const old = await keyWith(id);
      const both = await installation.database.transaction().execute(async (transaction) => {
        // The new key exists, and is not visible to others.
        await lockGeneration(transaction);
        const rotating = rotate(old);
        await wait("policy_generation");
        const changing = change(id, { contentFilters: [block("after")] }, ["content_filters"]);
        await wait("", 2);
        return [rotating, changing] as const;
      });
      const [rotated, changed] = await Promise.all(both);
      expect((await logged(changed.generation))?.toSorted()).toEqual([old, rotated?.hash ?? ""].toSorted());
    });

    test("is waited for, also if the key got the guardrail after its rotation had begun", async () => {
      const [before, after] = [await make(), await make()];
      const old = await keyWith(before.id);
      const rotated = await installation.database.transaction().execute(async (guarding) => {
        const rotating = await installation.database.transaction().execute(async (listing) => {
          await listing
            .updateTable("api_keys")
            .set({ further_guardrails: [after.id] })
            .where("hash", "=", old)
            .execute();
          await guarding.selectFrom("guardrails").select("id").where("id", "=", after.id).forUpdate().execute();
          const running = rotate(old);
          await wait('"api_keys"');
          return { running };
        });
        await wait('from "guardrails"');
        return rotating;
      });
      expect((await rotated.running)?.furtherGuardrails).toEqual([after.id]);
    });
  });

  test("to a guardrail of very many keys is published as a change of all keys", async () => {
    const made = await make({ contentFilters: [block("before")] });
    const keyHashes = await addKeys(installation.database, maxNamedKeys);
    const fill = (hashes: string[]) =>
      sql`insert into guardrail_key_assignments (key_hash, guardrail_id)
          select hash, ${made.id} from unnest(${hashes}::text[]) as hash`.execute(installation.database);
    await fill(keyHashes);
    const named = await change(made.id, { name: "a" }, ["name"]);
    expect(await logged(named.generation)).toHaveLength(maxNamedKeys);
    await fill(await addKeys(installation.database, 1));
    const watching = new PolicyWatcher(installation.port);
    await watching.hear((message) => message.all);
    const { generation } = await change(made.id, { name: "b" }, ["name"]);
    expect(await logged(generation)).toBeNull();
    const told = await watching.hear((message) => message.generation === generation);
    expect([told.all, told.keyHashes]).toEqual([true, []]);
    watching.leave();
    const gone = await remove(made.id);
    expect(await logged(gone.generation)).toBeNull();
  });

  test("during concurrent assignments reaches every key with the guardrail", async () => {
    const made = await make({ contentFilters: [block("v0")] });
    for (let round = 1; round <= 20; round++) {
      const [hash] = (await addKeys(installation.database, 1)) as [string];
      const [given, changed] = await Promise.all([
        retryUntilWritten(() => give(made.id, [hash])),
        retryUntilWritten(() => change(made.id, { contentFilters: [block(`v${round}`)] }, ["content_filters"])),
      ]);
      // If the change came later, it named the key; if the assignment came later, its own entry names the key.
      if (given.generation < changed.generation) expect(await logged(changed.generation)).toContain(hash);
      else expect(await logged(given.generation)).toEqual([hash]);
    }
  });
});

describe("the deletion of a guardrail", () => {
  test("takes the guardrail from its keys in the same generation", async () => {
    const made = await make({ contentFilters: [block("x")] });
    const hashes = await addKeys(installation.database, 3);
    const { generation: before } = await give(made.id, hashes);
    const { generation } = await remove(made.id);
    expect(generation).toBe(before + 1n);
    expect((await logged(generation))?.toSorted()).toEqual(hashes.toSorted());
    expect((await resolveKey(installation.client, hashes[0] ?? "")).caller?.guardrail).toBeUndefined();
    await expect(get(made.id)).rejects.toMatchObject(notFound);
    await expect(remove(made.id)).rejects.toMatchObject(notFound);
    await expect(change(made.id, { name: "x" }, ["name"])).rejects.toMatchObject(notFound);
    await expect(give(made.id, hashes)).rejects.toMatchObject(notFound);
    const unused = await make();
    expect((await remove(unused.id)).generation).toBe(generation);
  });

  test("during concurrent assignments and removals leaves no key with a deleted guardrail, and no call fails", async () => {
    const keyHashes = await addKeys(installation.database, 60);
    const other = await addGuardrail(installation.database);
    const backwards = keyHashes.toReversed();
    for (let round = 0; round < 10; round++) {
      const made = await make({ contentFilters: [block("x")] });
      await give(made.id, keyHashes);
      const [moved, again] = await Promise.allSettled([
        retryUntilWritten(() => give(other, backwards.slice(0, 40))),
        retryUntilWritten(() => give(made.id, keyHashes.slice(20))),
        retryUntilWritten(() => remove(made.id)),
        retryUntilWritten(() => give(other, keyHashes.slice(0, 40))),
      ]);
      expect(moved).toMatchObject({ status: "fulfilled", value: { assignedCount: 40 } });
      // The concurrent change came either before the deletion or after it.
      if (again.status === "rejected") expect(again.reason).toMatchObject(notFound);
      const left = installation.database
        .selectFrom("guardrail_key_assignments")
        .selectAll()
        .where("guardrail_id", "=", made.id);
      expect(await left.execute()).toEqual([]);
    }
    const { rows } = await sql<{ deadlocks: number }>`
      select deadlocks::int from pg_stat_database where datname = current_database()`.execute(installation.database);
    expect(rows).toEqual([{ deadlocks: 0 }]);
  }, 300_000);
});

test("records of another workspace and of invalid ids are not found, and stay unchanged", async () => {
  const workspaceId = await addWorkspace(installation.database);
  const foreign = await addGuardrail(installation.database, workspaceId);
  const nothing = ["00000000-0000-4000-8000-0000000000ff", "", "../keys", "x".repeat(10_000), "a\0b"];
  const own = await make();
  for (const id of [foreign, own.id.toUpperCase(), ...nothing]) {
    await expect(get(id)).rejects.toMatchObject(notFound);
    await expect(change(id, { name: "taken" }, ["name"])).rejects.toMatchObject(notFound);
    await expect(remove(id)).rejects.toMatchObject(notFound);
  }
  const manager = bearerMetadata(await addKey(installation.database, { workspaceId, kind: KeyKind.MANAGEMENT }));
  const { guardrail } = await callAsAdministrator(installation, getGuardrail, { guardrailId: foreign }, manager);
  expect(guardrail).toMatchObject({ id: foreign, name: "test", workspaceId });
  const missing = { status: 404, message: "Workspace not found" };
  await expect(make({ workspaceId })).rejects.toMatchObject(missing);
  await expect(callAsAdministrator(installation, listGuardrails, { workspaceId })).rejects.toMatchObject(missing);
});

test("the list has the guardrails of the caller's workspace in pages, oldest first, with their total number", async () => {
  const workspaceId = await addWorkspace(installation.database);
  const manager = bearerMetadata(await addKey(installation.database, { workspaceId, kind: KeyKind.MANAGEMENT }));
  const list = (request: { offset?: number; limit?: number }) =>
    callAsAdministrator(installation, listGuardrails, request, manager);
  expect(await list({})).toMatchObject({ guardrails: [], totalCount: 0n });
  const made: string[] = [];
  for (let index = 0; index < 51; index++) made.push(await addGuardrail(installation.database, workspaceId));
  const ids = ({ guardrails }: { guardrails: GuardrailRecord[] }) => guardrails.map(({ id }) => id);
  const first = await list({});
  expect([ids(first), first.totalCount]).toEqual([made.slice(0, 50), 51n]);
  expect(ids(await list({ offset: 50, limit: 100 }))).toEqual(made.slice(50));
  expect((await list({ offset: 51 })).totalCount).toBe(51n);
  await expect(list({ limit: 101 })).rejects.toMatchObject(refused("limit: must be between 1 and 100"));
});
