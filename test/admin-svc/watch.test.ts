/** WatchPolicy: the messages to a watching process, their times, and the effect of its acknowledgement. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { runCli } from "@sluice/admin-svc/cli.js";
import { listAudit } from "@sluice/admin-svc/store/audit-list.js";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { revokeKey } from "@sluice/admin-svc/store/keys.js";
import { currentGeneration } from "@sluice/admin-svc/store/policy.js";
import { Access } from "@sluice/proto/lib/policy/access.js";
import { GuardrailService } from "@sluice/proto/gen/sluice/admin/v1/guardrail_service_pb.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { sql } from "kysely";
import { findShortest, measureElapsedMs } from "../support/clock.ts";
import { eventually } from "../support/processes.ts";
import { samplesOf } from "../support/metrics.ts";
import { startRpcProxy } from "../support/rpc-proxy.ts";
import {
  type AdminInstallation,
  addGuardrail,
  addKey,
  addKeys,
  callAsAdministrator,
  assignGuardrail,
  bearerMetadata,
  openInstallation,
  retryUntilWritten,
  resolveKey,
  serviceToken,
  testAuthor,
} from "./installation.ts";
import { PolicyWatcher } from "./watching.ts";

let installation: AdminInstallation;
beforeAll(async () => {
  installation = await openInstallation();
});
afterAll(() => installation.close());

const metric = async (name: string): Promise<number> => {
  return samplesOf(await installation.registry.metrics()).find((sample) => sample.name === name)?.value ?? 0;
};

const watchersGone = async (): Promise<void> => {
  while ((await metric("sluice_policy_watchers")) > 0) await new Promise((resolve) => setImmediate(resolve));
};

/** The next message that is no full invalidation, such as a heartbeat. */
const beatOf = (watching: PolicyWatcher) => watching.hear((message) => !message.all, watching.heard.length);

async function watched(work: (watching: PolicyWatcher) => Promise<void>, acknowledges = true): Promise<void> {
  const watching = new PolicyWatcher(installation.port, { acknowledges });
  try {
    await watching.hear((message) => message.all);
    await work(watching);
  } finally {
    watching.leave();
    await watchersGone();
  }
}

describe("messages of a policy watch", () => {
  test("begin with one that invalidates every key, at the current generation", () =>
    watched(async (watching) => {
      expect(watching.heard[0]).toMatchObject({
        all: true,
        keyHashes: [],
        generation: await currentGeneration(installation.database),
      });
    }));

  test("include a heartbeat each second, which invalidates nothing", () =>
    watched(async (watching) => {
      await beatOf(watching);
      // A busy machine may delay one heartbeat more than the next, so the measurement is repeated.
      await eventually(async () => {
        const twoMs = await measureElapsedMs(async () => {
          expect(await beatOf(watching)).toMatchObject({ keyHashes: [], generation: watching.heard[0]?.generation });
          expect(await beatOf(watching)).toMatchObject({ keyHashes: [] });
        });
        return twoMs > 1_500 && twoMs < 3_000;
      });
    }));

  test("name the changed keys of a write, at the generation of its answer", () =>
    watched(async (watching) => {
      const keyHashes = await addKeys(installation.database, 3);
      const id = await addGuardrail(installation.database);
      const { generation } = await assignGuardrail(
        installation.client,
        id,
        keyHashes,
        bearerMetadata(installation.managementKey),
      );
      const message = await watching.hear(({ keyHashes }) => keyHashes.length > 0);
      expect(message.generation).toBe(generation);
      expect([...message.keyHashes].sort()).toEqual([...keyHashes].sort());
    }));

  test("miss no key and never go back a generation during many concurrent writes", () =>
    watched(async (watching) => {
      const keyHashes = await addKeys(installation.database, 60);
      const id = await addGuardrail(installation.database);
      const admin = bearerMetadata(installation.managementKey);
      const answers = await Promise.all(
        keyHashes.map((keyHash) => retryUntilWritten(() => assignGuardrail(installation.client, id, [keyHash], admin))),
      );
      const last = answers.reduce((max, { generation }) => (generation > max ? generation : max), 0n);
      await watching.hear(({ generation }) => generation >= last);
      const generations = watching.heard.map(({ generation }) => generation);
      expect(generations).toEqual([...generations].sort((a, b) => Number(a - b)));
      for (const [index, { generation }] of answers.entries()) {
        const covering = watching.heard.filter((message) => message.keyHashes.includes(keyHashes[index] as string));
        expect(covering[0]?.generation).toBeGreaterThanOrEqual(generation);
      }
    }));

  test("report a write of the command line like one of another process", () =>
    watched(async (watching) => {
      const [keyHash] = (await addKeys(installation.database, 1)) as [string];
      const id = await addGuardrail(installation.database);
      const silent = { write: () => true };
      const options = { databaseUrl: installation.databaseUrl, stdout: silent, stderr: silent };
      expect(await runCli(["guardrails", "assign", id, keyHash], options)).toBe(0);
      expect(await watching.hear(({ keyHashes }) => keyHashes.includes(keyHash))).toMatchObject({
        generation: await currentGeneration(installation.database),
      });
    }));

  test("report another process's write at once, not at the next poll of the log", () =>
    watched(async (watching) => {
      const heardMs = async () => {
        // The log is read for each heartbeat, and then not again for a second.
        await beatOf(watching);
        return measureElapsedMs(async () => {
          const keyHash = hashKey(await addKey(installation.database));
          await watching.hear(({ keyHashes }) => keyHashes.includes(keyHash));
        });
      };
      expect(await findShortest(500, heardMs)).toBeLessThan(500);
    }));

  test("invalidate every key again when the log was trimmed, or restored to an earlier state", () =>
    watched(async (watching) => {
      let from = watching.heard.length;
      await sql`update policy_generation set generation = generation + 5`.execute(installation.database);
      await watching.hear(({ all }) => all, from);
      from = watching.heard.length;
      await sql`update policy_generation set generation = generation - 5`.execute(installation.database);
      const message = await watching.hear(({ all }) => all, from);
      expect(message.generation).toBe(await currentGeneration(installation.database));
    }));

  test("require the service token", async () => {
    const watching = new PolicyWatcher(installation.port, { token: "x".repeat(40) });
    expect(await watching.ended()).toBe(16);
    expect(watching.heard).toEqual([]);
    watching.leave();
  });
});

describe("the acknowledgement of a policy change by its watchers", () => {
  test("is awaited by the answer to the write", () =>
    watched(async (watching) => {
      const [keyHash] = (await addKeys(installation.database, 1)) as [string];
      const id = await addGuardrail(installation.database);
      // The answer waits at most a second, so an attempt slower than this proves nothing.
      await eventually(async () => {
        const before = await metric("sluice_policy_unacknowledged_total");
        const from = watching.heard.length;
        let answered = false;
        const answer = assignGuardrail(
          installation.client,
          id,
          [keyHash],
          bearerMetadata(installation.managementKey),
        ).then((response) => {
          answered = true;
          return response;
        });
        const { generation } = await watching.hear(({ keyHashes }) => keyHashes.includes(keyHash), from);
        watching.acknowledge(generation - 1n);
        for (let n = 0; n < 5; n++) await resolveKey(installation.client, keyHash);
        const early = answered;
        watching.acknowledge(generation);
        expect((await answer).generation).toBe(generation);
        if ((await metric("sluice_policy_unacknowledged_total")) > before) return false;
        expect(early).toBe(false);
        return true;
      });
    }, false));

  test("delays the answer by a second when it is missing, and is counted and named in the audit log", () =>
    watched(async () => {
      const [keyHash] = (await addKeys(installation.database, 1)) as [string];
      const id = await addGuardrail(installation.database);
      const delayedMs = async () => {
        const before = await metric("sluice_policy_unacknowledged_total");
        let generation = 0n;
        const tookMs = await measureElapsedMs(async () => {
          ({ generation } = await assignGuardrail(
            installation.client,
            id,
            [keyHash],
            bearerMetadata(installation.managementKey),
          ));
        });
        expect(tookMs).toBeGreaterThan(950);
        expect(await metric("sluice_policy_unacknowledged_total")).toBe(before + 1);
        const late = { workspaceId: defaultWorkspaceId, target: String(generation), limit: 1 };
        expect((await listAudit(installation.database, late)).rows).toMatchObject([
          { actor: hashKey(installation.managementKey), action: "policy.late", after: { processes: ["test"] } },
        ]);
        return tookMs;
      };
      expect(await findShortest(1_500, delayedMs)).toBeLessThan(1_500);
    }, false));

  test("is expected from a disconnected watcher until it is back, and from no watcher that has ended", async () => {
    const unsure = async () => {
      const [keyHash] = (await addKeys(installation.database, 1)) as [string];
      const id = await addGuardrail(installation.database);
      const { generation } = await assignGuardrail(
        installation.client,
        id,
        [keyHash],
        bearerMetadata(installation.managementKey),
      );
      const about = { workspaceId: defaultWorkspaceId, target: String(generation), limit: 1 };
      return (await listAudit(installation.database, about)).rows.map(({ after }) => after);
    };
    const joined = async (process: string) => {
      const watching = new PolicyWatcher(installation.port, { process });
      // The service knows the name of the watcher once a heartbeat has followed the first message.
      await beatOf(watching);
      return watching;
    };
    const gone = async (process: string, depart: (watching: PolicyWatcher) => void) => {
      const watching = await joined(process);
      depart(watching);
      await watchersGone();
      watching.leave();
    };
    const before = await joined("test");
    expect(await unsure()).toEqual([]);
    before.halfClose();
    await watchersGone();
    before.leave();
    await gone("ended", (watching) => watching.halfClose());
    expect(await unsure()).toEqual([]);
    await gone("cut", (watching) => watching.leave());
    expect(await unsure()).toEqual([{ processes: [], cut_off: ["cut"] }]);
    const back = await joined("cut");
    expect(await unsure()).toEqual([]);
    back.halfClose();
    await watchersGone();
    back.leave();
  });

  test("is not awaited from a watcher that has left or can no longer acknowledge", async () => {
    for (const depart of [
      (watching: PolicyWatcher) => watching.leave(),
      (watching: PolicyWatcher) => watching.halfClose(),
    ]) {
      const answeredMs = async () => {
        const [keyHash] = (await addKeys(installation.database, 1)) as [string];
        const id = await addGuardrail(installation.database);
        let tookMs = 0;
        await watched(async (watching) => {
          tookMs = await measureElapsedMs(async () => {
            const answer = assignGuardrail(
              installation.client,
              id,
              [keyHash],
              bearerMetadata(installation.managementKey),
            );
            await watching.hear(({ keyHashes }) => keyHashes.includes(keyHash));
            depart(watching);
            await answer;
          });
        }, false);
        return tookMs;
      };
      expect(await findShortest(700, answeredMs)).toBeLessThan(700);
    }
  });
});

describe("a process that watches policies", () => {
  const clients: ReturnType<typeof dial>[] = [];
  // An open client keeps the worker of the test runner alive.
  afterAll(() => {
    for (const client of clients) client.close();
  });

  const openAccess = async (process: string, port = installation.port): Promise<Access> => {
    const client = dial(`127.0.0.1:${port}`);
    clients.push(client);
    const access = new Access({
      client,
      token: serviceToken,
      process,
      log: installation.log,
      registry: new Registry(),
    });
    await access.watch();
    return access;
  };

  test("enforces an assignment once it is acknowledged, each of 50 times, in both of two processes", async () => {
    const keyHash = hashKey(await addKey(installation.database));
    const guardrails = [await addGuardrail(installation.database), await addGuardrail(installation.database)];
    const processes = [await openAccess("one"), await openAccess("two")];
    for (let i = 0; i < 50; i++) {
      for (const access of processes) await access.resolve(keyHash);
      const id = guardrails[i % 2] as string;
      const before = await metric("sluice_policy_unacknowledged_total");
      const { generation } = await assignGuardrail(
        installation.client,
        id,
        [keyHash],
        bearerMetadata(installation.managementKey),
      );
      // The answer waits a second at most, so a slower one guarantees nothing.
      if ((await metric("sluice_policy_unacknowledged_total")) > before) {
        await eventually(() => processes.every((access) => access.generation >= generation));
      }
      for (const access of processes) {
        expect(access.generation).toBeGreaterThanOrEqual(generation);
        expect((await access.resolve(keyHash)).caller?.guardrail?.id).toBe(id);
      }
    }
    for (const access of processes) access.stop();
    await watchersGone();
  });

  test("keeps one copy of a guardrail for all its keys, and a new copy after a change", async () => {
    const keyHashes = await addKeys(installation.database, 3);
    const id = await addGuardrail(installation.database);
    await assignGuardrail(installation.client, id, keyHashes, bearerMetadata(installation.managementKey));
    const access = await openAccess("sharing");
    const held = async () => {
      const found = await Promise.all(keyHashes.map(async (keyHash) => access.resolve(keyHash)));
      return new Set(found.map(({ caller }) => caller?.guardrail));
    };
    const [before, ...others] = await held();
    expect([before?.id, others]).toEqual([id, []]);
    const change = { guardrail: { id, name: "changed" }, updateMask: { paths: ["name"] } };
    const { method } = GuardrailService;
    await callAsAdministrator(installation, method.updateGuardrail, change, bearerMetadata(installation.managementKey));
    // The answer waits at most a second for this process: too short on a busy machine.
    await eventually(async () => [...(await held())].every((guardrail) => guardrail?.name === "changed"));
    const [after, ...more] = await held();
    expect([after?.id, more]).toEqual([id, []]);
    access.stop();
    await watchersGone();
  });

  test("stops accepting a key within a second of its revocation by another process", async () => {
    const access = await openAccess("one");
    const forgottenMs = async () => {
      const keyHash = hashKey(await addKey(installation.database));
      expect((await access.resolve(keyHash)).caller).toBeDefined();
      const change = await revokeKey(installation.database, testAuthor(), keyHash);
      const tookMs = await measureElapsedMs(() => eventually(() => access.generation >= (change?.generation ?? 0n)));
      expect((await access.resolve(keyHash)).caller).toBeUndefined();
      return tookMs;
    };
    expect(await findShortest(1_000, forgottenMs)).toBeLessThan(1_000);
    access.stop();
    await watchersGone();
  });

  test("admits no request with an answer in flight during a key's revocation", async () => {
    const proxy = await startRpcProxy(installation.port);
    const access = await openAccess("one", proxy.port);
    const keyHash = hashKey(await addKey(installation.database));
    const release = proxy.hold("ResolveKey");
    const held = proxy.held();
    const resolved = access.resolve(keyHash);
    await held;
    const change = await revokeKey(installation.database, testAuthor(), keyHash);
    await eventually(() => access.generation >= (change?.generation ?? 0n));
    release();
    expect((await resolved).caller).toBeUndefined();
    access.stop();
    await proxy.stop();
    await watchersGone();
  });
});

test("a killed LISTEN connection is reopened, and missed changes are published", () =>
  watched(async (watching) => {
    const listeners = () =>
      sql<{ pid: number }>`
        select pid from pg_stat_activity
         where datname = current_database() and query like '%policy_log l on%' and pid <> pg_backend_pid()`.execute(
        installation.database,
      );
    for (let round = 0; round < 3; round++) {
      const before = (await listeners()).rows.map(({ pid }) => pid);
      expect(before).toHaveLength(1);
      await sql`select pg_terminate_backend(${before[0]})`.execute(installation.database);
      // The change is written by another process while the LISTEN connection is closed.
      const keyHash = hashKey(await addKey(installation.database));
      const message = await watching.hear(({ keyHashes }) => keyHashes.includes(keyHash));
      expect(message.generation).toBe(await currentGeneration(installation.database));
      expect((await listeners()).rows.map(({ pid }) => pid)).not.toContain(before[0]);
    }
  }));

test("a drain of admin-svc ends the watches without waiting for them", async () => {
  const other = await openInstallation();
  const watching = new PolicyWatcher(other.port);
  await watching.hear((message) => message.all);
  await other.close();
  expect(await watching.ended()).toBe(0);
  watching.leave();
});
