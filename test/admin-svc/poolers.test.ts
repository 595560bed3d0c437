/** Connection poolers: session pooling works without settings, and transaction pooling is detected at the start. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { prepareSchema } from "@sluice/admin-svc/prepare.js";
import { runtimeRole } from "@sluice/admin-svc/store/postgres/roles.js";
import { NoSessionError } from "@sluice/admin-svc/store/postgres/sessions.js";
import { KeyService } from "@sluice/proto/gen/sluice/admin/v1/key_service_pb.js";
import { openLog } from "@sluice/proto/lib/log/log.js";
import { type TestDatabase, createDatabase } from "../support/database.ts";
import { type PoolerOptions, Pooler } from "../support/pooler.ts";
import { freePort } from "../support/runner/free-ports.ts";
import { callAsAdministrator, openInstallation } from "./installation.ts";

const log = openLog("test", "silent");

let created: TestDatabase;
beforeEach(async () => {
  created = await createDatabase();
});
afterEach(() => created.drop());

async function throughPooler<Result>(
  options: Omit<PoolerOptions, "databaseUrl">,
  work: (url: string) => Promise<Result>,
): Promise<Result> {
  const pooler = new Pooler({ databaseUrl: created.url, ...options });
  try {
    return await work(await pooler.open());
  } finally {
    await pooler.close();
  }
}

test.each([2, 3, 8])("a transaction pooler with %d sessions is refused before any migration", async (sessions) => {
  const prepare = throughPooler({ mode: "transaction", sessions }, (url) => prepareSchema(url, log));
  await expect(prepare).rejects.toThrow(NoSessionError);
  await expect(prepare).rejects.toThrow("pool_mode = session");
});

test("a session pooler is accepted like a direct connection", async () => {
  await expect(throughPooler({ mode: "session", sessions: 6 }, (url) => prepareSchema(url, log))).resolves.toBe(
    runtimeRole,
  );
});

/** Debian installs the program in a folder missing from some PATHs. */
const program = ["pgbouncer", "/usr/sbin/pgbouncer"].find((name) => spawnSync(name, ["--version"]).status === 0);

/** Runs PgBouncer with its required settings and the mode, and nothing else. */
async function throughPgBouncer<Result>(
  databaseUrl: string,
  settings: string,
  work: (url: string) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), "sluice-pgbouncer-"));
  const port = await freePort();
  const { hostname, port: serverPort, username, password, pathname } = new URL(databaseUrl);
  const account = `user=${username}${password && ` password=${password}`}`;
  await writeFile(
    join(folder, "pgbouncer.ini"),
    `[databases]\n${pathname.slice(1)} = host=${hostname} port=${serverPort} ${account}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =\nauth_type = any\n${settings}\n`,
  );
  await chmod(folder, 0o755);
  // PgBouncer refuses to run as root.
  const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const bouncer = spawn(program as string, [join(folder, "pgbouncer.ini")], {
    ...nobody,
    stdio: ["ignore", "ignore", "pipe"],
  });
  try {
    let text = "";
    for await (const chunk of bouncer.stderr as AsyncIterable<Buffer>)
      if ((text += chunk).includes("process up")) break;
    bouncer.stderr.resume();
    const url = new URL(databaseUrl);
    url.host = `127.0.0.1:${port}`;
    return await work(url.href);
  } finally {
    bouncer.kill("SIGKILL");
    await once(bouncer, "exit");
    await rm(folder, { recursive: true });
  }
}

const installed = program === undefined ? describe.skip : describe;
installed("PgBouncer, where it is installed", () => {
  test("in session mode works with its defaults", async () => {
    let installation: Awaited<ReturnType<typeof openInstallation>> | undefined;
    let served: () => void = () => {};
    const done = new Promise<void>((resolve) => (served = resolve));
    let running: Promise<void> | undefined;
    installation = await openInstallation(
      (url) =>
        new Promise((resolve, reject) => {
          running = throughPgBouncer(url, "pool_mode = session\ndefault_pool_size = 40", async (through) => {
            resolve(through);
            await done;
          });
          running.catch(reject);
        }),
    );
    const { secret } = await callAsAdministrator(installation, KeyService.method.createKey, { name: "pooled" });
    expect(secret).toMatch(/^sk-sl-/);
    await installation.close();
    served();
    await running;
  });

  test.each(["transaction", "transaction\nserver_round_robin = 1", "statement"])(
    "in %s mode is refused",
    async (mode) => {
      const prepare = throughPgBouncer(created.url, `pool_mode = ${mode}`, (url) => prepareSchema(url, log));
      await expect(prepare).rejects.toThrow(NoSessionError);
    },
  );
});
