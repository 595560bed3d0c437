/** Saved views of the explorer over gRPC, on a real Postgres. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { create } from "@bufbuild/protobuf";
import { maxViews, toViewJson, viewList } from "@sluice/proto/contract/records/views.js";
import { ViewSchema, ViewService } from "@sluice/proto/gen/sluice/admin/v1/view_service_pb.js";
import { KeyKind } from "@sluice/proto/lib/ids/key.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { throwProblems } from "@sluice/proto/lib/validation/problems.js";
import { deleteView, listViews, putView } from "@sluice/admin-svc/store/views.js";
import { removeWorkspace } from "@sluice/admin-svc/store/workspace-removal.js";
import { deleteWorkspace } from "@sluice/admin-svc/store/workspaces.js";
import {
  type AdminInstallation,
  addKey,
  addWorkspace,
  callAsAdministrator,
  openInstallation,
  testAuthor,
} from "./installation.ts";

const { method } = ViewService;

let installation: AdminInstallation;
beforeAll(async () => {
  installation = await openInstallation();
});
afterAll(() => installation?.close());

const put = (name: string, query: string) => callAsAdministrator(installation, method.putView, { name, query });
const audited = async () =>
  installation.database
    .selectFrom("audit_log")
    .select(["action", "target", "before", "after"])
    .where("action", "like", "views.%")
    .orderBy("sequence", "desc")
    .execute();

test("a view of the explorer is made, changed and deleted, and each change is in the audit log once", async () => {
  expect(await put("Errors", "tab=errors")).toMatchObject({ created: true, changed: true });
  expect(await put("Errors", "tab=errors")).toMatchObject({ created: false, changed: false });
  const changed = await put("Errors", "tab=errors&last=24h");
  expect(changed).toMatchObject({ created: false, changed: true, view: { query: "tab=errors&last=24h" } });
  expect(await callAsAdministrator(installation, method.listViews, {})).toMatchObject({
    views: [{ name: "Errors", query: "tab=errors&last=24h" }],
    totalCount: 1n,
  });
  await callAsAdministrator(installation, method.deleteView, { name: "Errors" });
  await expect(callAsAdministrator(installation, method.deleteView, { name: "Errors" })).rejects.toMatchObject({
    reason: FaultReason.NOT_FOUND,
  });
  expect(await audited()).toEqual([
    { action: "views.delete", target: "Errors", before: { query: "tab=errors&last=24h" }, after: null },
    { action: "views.put", target: "Errors", before: { query: "tab=errors" }, after: { query: "tab=errors&last=24h" } },
    { action: "views.put", target: "Errors", before: null, after: { query: "tab=errors" } },
  ]);
});

test.each([
  ["an empty name", "", ""],
  ["a name of 65 characters", "n".repeat(65), ""],
  ["a name with a space at its end", "n ", ""],
  ["the name .", ".", ""],
  ["the name ..", "..", ""],
  ["a query of more than 4 KiB", "n", "a".repeat(4_097)],
  ["a query of more than 4 KiB in the stored form", "n", `q=${"/".repeat(1_400)}`],
  ["a query that is not percent-encoded", "n", "model=<b>"],
  ["a query with an incomplete escape", "n", "model=%4"],
])("a view of the explorer with %s is refused", async (_, name, query) => {
  await expect(put(name, query)).rejects.toMatchObject({ reason: FaultReason.INVALID_REQUEST });
});

test.each([
  ["a query of more than 4 KiB", "n", "q=".padEnd(4_202, "a")],
  ["the name .", ".", ""],
])("a list with a view from an earlier build that has %s matches the published schema", (_, name, query) => {
  const view = toViewJson(
    create(ViewSchema, { name, query, createdBy: "cli", createdAt: { seconds: 1n }, updatedAt: { seconds: 1n } }),
  );
  const answer = { data: [view], total_count: 1, next_cursor: null };
  expect(() => throwProblems((problems) => viewList.check(answer, "", problems))).not.toThrow();
});

test("a workspace has at most 200 views, also when many are saved at once, and can still change them", async () => {
  const { database } = installation;
  const workspaceId = await addWorkspace(database);
  const author = testAuthor(workspaceId);
  for (let n = 0; n < maxViews - 5; n++) await putView(database, author, { name: `view ${n}`, query: "" });
  const saved = await Promise.all(
    Array.from({ length: 10 }, (_, n) => putView(database, author, { name: `more ${n}`, query: "" })),
  );
  expect(saved.filter((each) => each === "full")).toHaveLength(5);
  expect(await listViews(database, workspaceId)).toHaveLength(maxViews);
  expect(await putView(database, author, { name: "view 0", query: "by=key" })).toMatchObject({ changed: true });
});

test("views are visible only in their workspace, and are removed with it", async () => {
  const { database } = installation;
  const workspaceId = await addWorkspace(database);
  const author = testAuthor(workspaceId);
  await putView(database, author, { name: "shared name", query: "by=key" });
  await put("shared name", "by=model");
  expect(await listViews(database, workspaceId)).toMatchObject([{ query: "by=key" }]);
  expect(await deleteView(database, testAuthor(await addWorkspace(database)), "shared name")).toBe(false);
  await deleteWorkspace(database, author);
  await removeWorkspace(database, workspaceId);
  expect(await listViews(database, workspaceId)).toEqual([]);
});

test("an inference key can neither read nor save views", async () => {
  const key = await addKey(installation.database, { kind: KeyKind.INFERENCE });
  const caller = { ...installation, managementKey: key };
  for (const call of [
    () => callAsAdministrator(caller, method.listViews, {}),
    () => callAsAdministrator(caller, method.putView, { name: "n", query: "" }),
    () => callAsAdministrator(caller, method.deleteView, { name: "n" }),
  ])
    await expect(call()).rejects.toMatchObject({ reason: FaultReason.PERMISSION_DENIED });
});
