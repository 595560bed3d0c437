/** Inactive end users, with `end_users: {enforce: true}` in the configuration file. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Client } from "@grpc/grpc-js";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { openDatabase, writeConnectionLimits } from "@sluice/admin-svc/store/postgres/postgres.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { faultOf, runTurn, turnRequest } from "../../support/answers/run-turn.ts";

describe("with end_users.enforce", () => {
  let installation: Installation;
  let client: Client;
  beforeAll(async () => {
    installation = await startInstallation({
      config: `
providers:
  - {id: sluice, dialect: echo}
models:
  - {id: sluice/echo, endpoints: [{provider: sluice}]}
end_users: {enforce: true}
`,
    });
    client = dial(`127.0.0.1:${installation.ports.inference}`);
  });
  afterAll(async () => {
    client?.close();
    await installation?.stop();
  });

  async function send(method: string, path: string, body: object | undefined, key: string) {
    const answer = await fetch(`${installation.baseUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: answer.status, body: (await answer.json()) as { key: string; error?: { message: string } } };
  }

  const manage = (method: string, path: string, body?: object) => send(method, path, body, installation.managementKey);
  const setActive = (user: string, isActive: boolean) =>
    manage("PATCH", `/end-users/${encodeURIComponent(user)}`, { is_active: isActive });
  const sendRequest = async (user: string | undefined, { key = installation.apiKey, path = "/responses" } = {}) => {
    const body = { model: "sluice/echo", input: "Hello", ...(user !== undefined && { user }) };
    const answer = await send("POST", path, body, key);
    return [answer.status, answer.body.error?.message ?? undefined];
  };
  const refusal = "user: this end user is not active; an administrator can activate it";

  test("a deactivated end user is 403 from the very next request on, until reactivated", async () => {
    await manage("POST", "/end-users", { user: "left" });
    expect(await sendRequest("left")).toEqual([200, undefined]);
    for (let round = 0; round < 3; round++) {
      expect((await setActive("left", false)).status).toBe(200);
      expect(await sendRequest("left")).toEqual([403, refusal]);
      expect((await setActive("left", true)).status).toBe(200);
      expect(await sendRequest("left")).toEqual([200, undefined]);
    }
  });

  test("dry runs and gRPC callers get the same refusal, and other end users are served", async () => {
    await manage("POST", "/end-users", { user: "gone" });
    await setActive("gone", false);
    expect(await sendRequest("gone", { path: "/responses/dry-run" })).toEqual([403, refusal]);
    const direct = runTurn(client, installation.apiKey, turnRequest("sluice/echo", "Hello", { user: "gone" }));
    direct.begun.catch(() => {});
    expect(await faultOf(direct)).toMatchObject({ fault: { status: 403, message: refusal } });
    for (const user of [undefined, "GONE", "never registered"])
      expect(await sendRequest(user)).toEqual([200, undefined]);
  });

  test("a key for an inactive end user is 403, until the key is for another end user", async () => {
    await manage("POST", "/end-users", { user: "owner" });
    const made = (await manage("POST", "/keys", { name: "owned", external: { user: "owner" } })).body;
    const hash = hashKey(made.key);
    expect(await sendRequest(undefined, made)).toEqual([200, undefined]);
    await setActive("owner", false);
    expect(await sendRequest(undefined, made)).toEqual([403, "The end user that this API key is for is not active"]);
    await manage("PATCH", `/keys/${hash}`, { external: null });
    expect(await sendRequest(undefined, made)).toEqual([200, undefined]);
  });

  test("a change on the command line is in force as well", async () => {
    await installation.admin("end-users", "create", "by-hand");
    await installation.admin("end-users", "deactivate", "by-hand");
    await eventually(async () => (await sendRequest("by-hand"))[0] === 403);
    await installation.admin("end-users", "activate", "by-hand");
    await eventually(async () => (await sendRequest("by-hand"))[0] === 200);
  });

  test("more inactive end users than fit on one page are all known", async () => {
    expect(await registerInactive(installation, 2_500)).toBe(2_500);
    await manage("POST", "/end-users", { user: "turns the page" });
    await setActive("turns the page", false);
    for (const user of ["bulk 0001", "bulk 1250", "bulk 2500"]) expect(await sendRequest(user)).toEqual([403, refusal]);
    expect(await sendRequest("bulk 2501")).toEqual([200, undefined]);
  });
});

/** Registers inactive end users, `bulk 0001` and so on. @returns how many */
async function registerInactive({ databaseUrl }: Installation, count: number): Promise<number> {
  const database = openDatabase(databaseUrl, writeConnectionLimits, () => {});
  const values = Array.from({ length: count }, (_, n) => ({
    workspace_id: defaultWorkspaceId,
    user: `bulk ${String(n + 1).padStart(4, "0")}`,
    is_active: false,
  }));
  const { numInsertedOrUpdatedRows } = await database.insertInto("end_users").values(values).executeTakeFirstOrThrow();
  await database.destroy();
  return Number(numInsertedOrUpdatedRows);
}
