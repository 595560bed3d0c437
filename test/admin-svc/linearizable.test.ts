/**
 * Concurrent assignments, removals, revocations and deletions: for every key, one order explains all answers. Readers query the database and two
 * processes with cached policies. Reads of such a process are checked against the writes only, since another process may receive a change a
 * moment earlier, while the write is still unanswered.
 */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { GuardrailService } from "@sluice/proto/gen/sluice/admin/v1/guardrail_service_pb.js";
import { KeyService } from "@sluice/proto/gen/sluice/admin/v1/key_service_pb.js";
import { Access } from "@sluice/proto/lib/policy/access.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { Random } from "../support/random.ts";
import { type SequentialModel, type TimedOperation, isLinearizable } from "../support/answers/linearizable.ts";
import { samplesOf } from "../support/metrics.ts";
import {
  type AdminInstallation,
  addGuardrail,
  addKeys,
  callAsAdministrator,
  assignGuardrail,
  bearerMetadata,
  openInstallation,
  resolveKey,
  serviceToken,
  unassignGuardrail,
} from "./installation.ts";

/** The part of an operation that concerns a single key. */
type Input =
  | { readonly kind: "assign" | "unassign"; readonly guardrail: string }
  | { readonly kind: "delete"; readonly guardrail: string }
  | { readonly kind: "revoke" }
  | { readonly kind: "read"; readonly by: string };

/** Outcome for a key: `missing` is a 404, a number is the count of keys in the answer, and anything else is the guardrail read. */
type Output = "done" | "missing" | "revoked" | "none" | number | { readonly holds: string };

interface KeyState {
  readonly holds: string | undefined;
  readonly revoked: boolean;
  readonly deleted: readonly string[];
}

const sameAs = (expected: Output, output: Output | undefined): boolean =>
  output === undefined || output === "done" || JSON.stringify(output) === JSON.stringify(expected);

/** State of a key, with its operations one after the other. */
const key: SequentialModel<KeyState, Input, Output> = {
  initial: { holds: undefined, revoked: false, deleted: [] },
  keyOf: (state) => JSON.stringify(state),
  step(state, input, output) {
    const { holds, revoked, deleted } = state;
    const after = (expected: Output, change: Partial<KeyState> = {}) =>
      sameAs(expected, output) ? { ...state, ...change } : undefined;
    if (input.kind === "read") {
      if (revoked) return after("revoked");
      return after(holds === undefined ? "none" : { holds });
    }
    if (input.kind === "revoke") return revoked ? after("missing") : after("done", { revoked: true });
    const { kind, guardrail } = input;
    if (deleted.includes(guardrail)) return output === "done" || typeof output === "number" ? undefined : state;
    if (output === "missing") return undefined;
    if (kind === "delete") {
      return after("done", {
        deleted: [...deleted, guardrail].sort(),
        holds: holds === guardrail ? undefined : holds,
      });
    }
    if (revoked) return after(0);
    if (kind === "assign") return after(1, { holds: guardrail });
    return holds === guardrail ? after(1, { holds: undefined }) : after(0);
  },
};

let installation: AdminInstallation;
beforeAll(async () => {
  installation = await openInstallation();
});
afterAll(() => installation?.close());

type Histories = Map<string, TimedOperation<Input, Output>[]>;

/** Runs the operation, and records its input and output for each of the keys. */
async function note(
  histories: Histories,
  keyHashes: readonly string[],
  input: Input,
  run: () => Promise<Output>,
): Promise<void> {
  const calledAt = performance.now();
  let output: Output | undefined;
  try {
    output = await run();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    if (error.reason === FaultReason.NOT_FOUND) output = "missing";
    else if (!error.shouldRetry) throw error;
  }
  const returnedAt = output === undefined ? Number.POSITIVE_INFINITY : performance.now();
  for (const keyHash of keyHashes) histories.get(keyHash)?.push({ input, output, calledAt, returnedAt });
}

interface Round {
  readonly histories: Histories;
  readonly random: Random;
  readonly keyHashes: readonly string[];
  readonly guardrails: readonly string[];
  readonly processes: ReadonlyMap<string, Access>;
}

async function write({ histories, random, keyHashes, guardrails }: Round): Promise<void> {
  const admin = bearerMetadata(installation.managementKey);
  const guardrail = random.pick(guardrails);
  const one = random.pick(keyHashes);
  const drawn = random.next();
  if (drawn < 0.03) {
    return note(histories, [one], { kind: "revoke" }, async () => {
      await callAsAdministrator(installation, KeyService.method.deleteKey, { keyHash: one });
      return "done";
    });
  }
  if (drawn < 0.06) {
    return note(histories, keyHashes, { kind: "delete", guardrail }, async () => {
      await callAsAdministrator(installation, GuardrailService.method.deleteGuardrail, { guardrailId: guardrail });
      return "done";
    });
  }
  const named = random.chance(0.5) ? [one] : keyHashes.filter(() => random.chance(0.6)).concat(one);
  const kind = drawn < 0.65 ? "assign" : "unassign";
  return note(histories, [...new Set(named)], { kind, guardrail }, async () => {
    const distinct = [...new Set(named)];
    const count =
      kind === "assign"
        ? (await assignGuardrail(installation.client, guardrail, distinct, admin)).assignedCount
        : (await unassignGuardrail(installation.client, guardrail, distinct, admin)).unassignedCount;
    return distinct.length === 1 ? count : "done";
  });
}

async function read({ histories, random, keyHashes, processes }: Round): Promise<void> {
  const keyHash = random.pick(keyHashes);
  const [by, access] = random.pick<[string, Access | undefined]>([["database", undefined], ...processes]);
  await note(histories, [keyHash], { kind: "read", by }, async () => {
    const { caller } = access ? await access.resolve(keyHash) : await resolveKey(installation.client, keyHash);
    if (!caller) return "revoked";
    return caller.guardrail ? { holds: caller.guardrail.id } : "none";
  });
}

async function play(random: Random, processes: ReadonlyMap<string, Access>): Promise<Histories> {
  const keyHashes = await addKeys(installation.database, 4);
  const guardrails: string[] = [];
  for (let n = 0; n < 3; n++) guardrails.push(await addGuardrail(installation.database));
  const histories: Histories = new Map(keyHashes.map((keyHash) => [keyHash, []]));
  const round: Round = { histories, random, keyHashes, guardrails, processes };
  const client = async (step: typeof read, steps: number) => {
    for (let n = 0; n < steps; n++) await step(round);
  };
  await Promise.all([
    ...Array.from({ length: 4 }, () => client(write, 12)),
    ...Array.from({ length: 4 }, () => client(read, 25)),
  ]);
  return histories;
}

const unacknowledged = async (): Promise<number> =>
  samplesOf(await installation.registry.metrics()).find(({ name }) => name === "sluice_policy_unacknowledged_total")
    ?.value ?? 0;

test("concurrent changes of keys are linearizable: in twenty rounds, one order explains every reader's answers", async () => {
  const processes = new Map<string, Access>();
  for (const name of ["one", "two"]) {
    const client = dial(`127.0.0.1:${installation.port}`);
    const access = new Access({
      client,
      token: serviceToken,
      process: name,
      log: installation.log,
      registry: new Registry(),
    });
    await access.watch();
    processes.set(name, access);
  }
  let judged = 0;
  for (let seed = 1; judged < 20; seed++) {
    const before = await unacknowledged();
    const histories = await play(new Random(seed), processes);
    // A write answered without all acknowledgements guarantees nothing about other processes' reads.
    if ((await unacknowledged()) > before) continue;
    judged++;
    for (const [keyHash, history] of histories) {
      for (const reader of ["database", ...processes.keys()]) {
        const seen = history.filter(({ input }) => input.kind !== "read" || input.by === reader);
        expect([seed, keyHash, reader, isLinearizable(seen, key)]).toEqual([seed, keyHash, reader, true]);
      }
    }
  }
  for (const access of processes.values()) access.stop();
  // A slow machine discards many rounds, so rounds are repeated.
}, 1_200_000);
