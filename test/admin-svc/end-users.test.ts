/** UpdateEndUser: valid user strings, and the state after an update. */
import { create } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { createEndUser } from "@sluice/admin-svc/store/end-users.js";
import {
  type EndUser,
  EndUserService,
  UpdateEndUserRequestSchema,
} from "@sluice/proto/gen/sluice/admin/v1/end_user_service_pb.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { call } from "@sluice/proto/lib/rpc/dial.js";
import { sql } from "kysely";
import { connect } from "node:http2";
import { KeyKind } from "@sluice/proto/lib/ids/key.js";
import {
  type AdminInstallation,
  addKey,
  addWorkspace,
  callAsAdministrator,
  bearerMetadata,
  openInstallation,
  testAuthor,
  retryUntilWritten,
  timeoutMs,
} from "./installation.ts";

let installation: AdminInstallation;
beforeAll(async () => {
  installation = await openInstallation();
});
afterAll(() => installation.close());

async function update(user: string, isActive?: boolean): Promise<EndUser> {
  const request = create(UpdateEndUserRequestSchema, { user, ...(isActive !== undefined && { isActive }) });
  const metadata = bearerMetadata(installation.managementKey);
  const response = await call(installation.client, EndUserService.method.updateEndUser, request, metadata, timeoutMs);
  if (!response.endUser) throw new Error("no end user in the answer");
  return response.endUser;
}

const register = (user: string, workspaceId = defaultWorkspaceId) =>
  createEndUser(installation.database, testAuthor(workspaceId), user);

const microseconds = (timestamp: Timestamp | undefined): bigint =>
  timestamp ? timestamp.seconds * 1_000_000n + BigInt(timestamp.nanos / 1_000) : 0n;

test("an end user has the state that was set, with the time of its setting", async () => {
  await register("alice");
  const off = await update("alice", false);
  expect(off).toMatchObject({ user: "alice", isActive: false });
  const on = await update("alice", true);
  expect(on.isActive).toBe(true);
  expect(microseconds(on.createdAt)).toBe(microseconds(off.createdAt));
  expect(Math.abs(Number(microseconds(on.updatedAt) / 1_000n) - Date.now())).toBeLessThan(60_000);
});

test("updated_at rises with every write: also at once, without a change, and after the clock was set back", async () => {
  await register("busy");
  const answers: EndUser[] = [];
  for (let round = 0; round < 10; round++) {
    // Twenty writes to one row: on a busy machine the last one may wait longer than admin-svc allows.
    const writes = Array.from({ length: 20 }, (_, i) => retryUntilWritten(() => update("busy", i % 3 === 0)));
    answers.push(...(await Promise.all(writes)));
  }
  const times = answers.map((user) => microseconds(user.updatedAt));
  expect(new Set(times).size).toBe(200);
  expect(times.every((time) => time > microseconds(answers[0]?.createdAt))).toBe(true);

  await sql`update end_users set updated_at = now() + interval '1 hour' where "user" = 'busy'`.execute(
    installation.database,
  );
  const first = microseconds((await update("busy", true)).updatedAt);
  const second = microseconds((await update("busy", true)).updatedAt);
  expect(second).toBe(first + 1n);
});

test("is_active is required in a change of an end user", async () => {
  await register("undecided");
  await expect(update("undecided")).rejects.toMatchObject({
    reason: FaultReason.INVALID_REQUEST,
    message: "is_active: required",
  });
});

test("an end user of another workspace, an unknown one, and a name in another case are not found", async () => {
  await register("foreign", await addWorkspace(installation.database));
  await register("Case");
  for (const user of ["foreign", "nobody", "case", "CASE"]) {
    await expect(update(user, true)).rejects.toMatchObject({ status: 404, message: "End user not found" });
  }
});

const { listEndUsers, createEndUser: registering, getEndUser, deleteEndUser } = EndUserService.method;
const notFound = { status: 404, message: "End user not found" };

describe("the registration of an end user", () => {
  test("makes the user active and visible, and happens once, even with concurrent attempts", async () => {
    const tries = Array.from({ length: 20 }, () =>
      retryUntilWritten(() => callAsAdministrator(installation, registering, { user: "contested" })),
    );
    const outcomes = await Promise.allSettled(tries);
    const made = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value.endUser] : []));
    expect(made).toMatchObject([{ user: "contested", isActive: true }]);
    for (const outcome of outcomes) {
      if (outcome.status === "fulfilled") continue;
      expect(outcome.reason).toMatchObject({ reason: FaultReason.CONFLICT, status: 409, shouldRetry: false });
    }
    expect((await callAsAdministrator(installation, getEndUser, { user: "contested" })).endUser).toEqual(made[0]);
  });

  test("changes nothing for an inactive end user", async () => {
    await register("sleeping");
    const before = await update("sleeping", false);
    await expect(callAsAdministrator(installation, registering, { user: "sleeping" })).rejects.toMatchObject({
      status: 409,
    });
    expect((await callAsAdministrator(installation, getEndUser, { user: "sleeping" })).endUser).toEqual(before);
  });

  test("is separate in each workspace", async () => {
    const workspaceId = await addWorkspace(installation.database);
    const manager = bearerMetadata(await addKey(installation.database, { workspaceId, kind: KeyKind.MANAGEMENT }));
    await callAsAdministrator(installation, registering, { user: "shared" }, manager);
    await expect(callAsAdministrator(installation, getEndUser, { user: "shared" })).rejects.toMatchObject(notFound);
    await expect(callAsAdministrator(installation, deleteEndUser, { user: "shared" })).rejects.toMatchObject(notFound);
    expect((await callAsAdministrator(installation, listEndUsers, { user: "shared" })).totalCount).toBe(0n);
    expect((await callAsAdministrator(installation, registering, { user: "shared" })).endUser?.isActive).toBe(true);
    const theirs = await callAsAdministrator(installation, listEndUsers, {}, manager);
    expect([theirs.endUsers.map(({ user }) => user), theirs.totalCount]).toEqual([["shared"], 1n]);
  });

  test("is removed by a deletion, which can be repeated and undone", async () => {
    await register("leaving");
    for (let round = 0; round < 2; round++) {
      await callAsAdministrator(installation, deleteEndUser, { user: "leaving" });
      expect((await callAsAdministrator(installation, getEndUser, { user: "leaving" })).endUser?.isActive).toBe(false);
    }
    expect((await update("leaving", true)).isActive).toBe(true);
    await expect(callAsAdministrator(installation, deleteEndUser, { user: "nobody" })).rejects.toMatchObject(notFound);
  });
});

describe("the list of end users", () => {
  test("has the active ones of a workspace in pages, in the order of code points", async () => {
    const workspaceId = await addWorkspace(installation.database);
    const manager = bearerMetadata(await addKey(installation.database, { workspaceId, kind: KeyKind.MANAGEMENT }));
    const list = (request: { offset?: number; limit?: number; user?: string; includeInactive?: boolean }) =>
      callAsAdministrator(installation, listEndUsers, request, manager);
    expect(await list({})).toMatchObject({ endUsers: [], totalCount: 0n });
    const users = [".", "..", "Z", "a", "a+b c%", "\u{1d4b3}", ...Array.from({ length: 50 }, (_, i) => `b${100 + i}`)];
    for (const user of users) await register(user, workspaceId);
    const asManager = { user: "a" };
    await callAsAdministrator(installation, deleteEndUser, asManager, manager);
    const names = ({ endUsers }: { endUsers: EndUser[] }) => endUsers.map(({ user }) => user);
    const sorted = users
      .filter((user) => user !== "a")
      .toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));

    const first = await list({});
    expect([names(first), first.totalCount]).toEqual([sorted.slice(0, 50), 55n]);
    expect(names(await list({ offset: 50, limit: 100 }))).toEqual(sorted.slice(50));
    expect((await list({ includeInactive: true, limit: 1 })).totalCount).toBe(56n);
    for (const user of [".", "..", "a+b c%", "\u{1d4b3}"]) {
      const found = await list({ user });
      expect([names(found), found.totalCount]).toEqual([[user], 1n]);
    }
    expect((await list({ user: "a" })).totalCount).toBe(0n);
    expect((await list({ user: "a", includeInactive: true })).endUsers).toMatchObject([{ user: "a", isActive: false }]);
    expect((await list({ user: "z" })).totalCount).toBe(0n);
    await expect(list({ user: "" })).rejects.toMatchObject({ message: "user: at least 1 character" });
    await expect(list({ limit: 101 })).rejects.toMatchObject({ message: "limit: must be between 1 and 100" });
  });
});

describe("the string of an end user", () => {
  const composed = "caf\u00e9";
  const decomposed = "cafe\u0301";

  test.each([
    "x",
    "\u{1d4b3}".repeat(512),
    "a b",
    "a\r\nb",
    "a/b%2F?#",
    ".",
    "..",
    "\u202eabc",
    "__proto__",
    "'; drop table end_users; --",
  ])("is valid: example %#", async (user) => {
    expect((await callAsAdministrator(installation, registering, { user })).endUser?.user).toBe(user);
    expect((await callAsAdministrator(installation, getEndUser, { user })).endUser?.user).toBe(user);
    expect((await update(user, false)).user).toBe(user);
  });

  test("is not normalised", async () => {
    await register(composed);
    await expect(update(decomposed, true)).rejects.toMatchObject({ status: 404 });
    await register(decomposed);
    expect((await update(composed, false)).isActive).toBe(false);
    expect((await update(decomposed, true)).isActive).toBe(true);
  });

  const space = "user: must not begin or end with white space";
  const refused: [string, string][] = [
    ["", "user: at least 1 character"],
    ["x".repeat(513), "user: at most 512 characters"],
    ["\u{1d4b3}".repeat(513), "user: at most 512 characters"],
    [`e${"\u0301".repeat(512)}`, "user: at most 512 characters"],
    ["a\0b", "user: must not contain NUL"],
    [" a", space],
    ["a\n", space],
    ["\u00a0a", space],
    ["a\u3000", space],
    ["a\u2028", space],
    ["a\u0085", space],
    ["\ufeffa", space],
    ["a\ufeff", space],
    ["\u200ba", space],
  ];
  test.each(refused)("is refused when it is %j", async (user, message) => {
    const refusal = { reason: FaultReason.INVALID_REQUEST, message };
    await expect(update(user, true)).rejects.toMatchObject(refusal);
    await expect(callAsAdministrator(installation, registering, { user })).rejects.toMatchObject(refusal);
    await expect(callAsAdministrator(installation, getEndUser, { user })).rejects.toMatchObject(refusal);
    await expect(callAsAdministrator(installation, deleteEndUser, { user })).rejects.toMatchObject(refusal);
    await expect(callAsAdministrator(installation, listEndUsers, { user })).rejects.toMatchObject(refusal);
  });

  test("is refused on the wire when it has a lone surrogate", async () => {
    const { status, body } = await postJson('{"user":"a\\ud800b","isActive":true}');
    expect(status).toBe(400);
    expect(JSON.parse(body)).toMatchObject({ code: "invalid_argument" });
  });
});

test("admin-svc also serves clients of the Connect protocol", async () => {
  await register("connect");
  const { status, body } = await postJson('{"user":"connect","isActive":false}');
  expect(status).toBe(200);
  // Protobuf's JSON leaves out false fields.
  expect(JSON.parse(body)).toMatchObject({ endUser: { user: "connect" } });
  const row = await installation.database
    .selectFrom("end_users")
    .select("is_active")
    .where("user", "=", "connect")
    .executeTakeFirst();
  expect(row).toEqual({ is_active: false });
});

/** Sends a call in the Connect protocol with exactly this body. */
function postJson(text: string): Promise<{ status: number; body: string }> {
  const session = connect(`http://127.0.0.1:${installation.port}`);
  return new Promise((resolve, reject) => {
    session.on("error", reject);
    const request = session.request({
      ":method": "POST",
      ":path": "/sluice.admin.v1.EndUserService/UpdateEndUser",
      "content-type": "application/json",
      authorization: `Bearer ${installation.managementKey}`,
    });
    let status = 0;
    let body = "";
    request.on("response", (headers) => (status = headers[":status"] ?? 0));
    request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    request.on("end", () => {
      session.close();
      resolve({ status, body });
    });
    request.end(text);
  });
}
