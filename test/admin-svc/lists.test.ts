/** Lists by cursor over real gRPC: every record appears once while others are added and removed, and a cursor of another list is refused. */
import type { DescMethodUnary } from "@bufbuild/protobuf";
import type { Metadata } from "@grpc/grpc-js";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { pageOfAssignments } from "@sluice/admin-svc/store/assignments.js";
import type { Database } from "@sluice/admin-svc/store/database.js";
import { pageOfEndUsers } from "@sluice/admin-svc/store/end-users.js";
import { pageOfKeys } from "@sluice/admin-svc/store/key-list.js";
import type { Page, PagedRows } from "@sluice/admin-svc/store/page.js";
import { migrationConnectionLimits, openDatabase } from "@sluice/admin-svc/store/postgres/postgres.js";
import { KeyKind } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { AuditService } from "@sluice/proto/gen/sluice/admin/v1/audit_service_pb.js";
import { EndUserService } from "@sluice/proto/gen/sluice/admin/v1/end_user_service_pb.js";
import { GuardrailService } from "@sluice/proto/gen/sluice/admin/v1/guardrail_service_pb.js";
import { KeyService } from "@sluice/proto/gen/sluice/admin/v1/key_service_pb.js";
import { UsageService } from "@sluice/proto/gen/sluice/admin/v1/usage_service_pb.js";
import { WorkspaceService } from "@sluice/proto/gen/sluice/admin/v1/workspace_service_pb.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { type CompiledQuery, type Kysely, sql } from "kysely";
import pg from "pg";
import { createMigratedDatabase } from "../support/database.ts";
import { type PlanNode, nodesOf, planOf, statementsOf } from "../support/ledger/plans.ts";
import { fillLists } from "../support/lists/many-records.ts";
import {
  type AdminInstallation,
  addKey,
  addWorkspace,
  bearerMetadata,
  callAsAdministrator,
  openInstallation,
} from "./installation.ts";

let installation: AdminInstallation;
let workspaceId: string;
let manager: Metadata;
beforeAll(async () => {
  installation = await openInstallation();
  workspaceId = await addWorkspace(installation.database);
  manager = bearerMetadata(await addKey(installation.database, { workspaceId, kind: KeyKind.MANAGEMENT }));
});
afterAll(() => installation?.close());

interface List {
  readonly method: DescMethodUnary;
  readonly request?: object;
  /** Metadata of a caller whose workspace has these records. */
  readonly caller?: () => Metadata;
  readonly idOf: (record: never) => string;
  /** Adds a record, at the beginning or at the end of each sort order. */
  readonly add: (id: string, n: number) => Promise<unknown>;
  readonly remove: (id: string) => Promise<unknown>;
}

/** Time of record n: several records have the same time, name and amount. */
const at = (n: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, 0, n % 5));
const run = (statement: ReturnType<typeof sql>) => statement.execute(installation.database);
const uuid = (id: string) => sql`md5(${id})::uuid`;
const hash = (id: string) => sql`md5(${id}) || md5(${id})`;
const hashText = (found: { readonly name: string }) => found.name.split("/")[1] as string;

const addKeyRow = async (id: string, n: number) => {
  await run(sql`
    insert into api_keys (hash, workspace_id, name, kind, label, created_at)
    values (${hash(id)}, ${workspaceId}, ${`${n % 3 === 0 ? "KEY" : "key"} ${n % 4}/${id}`}, 'inference', 'sk-sl-list', ${at(n)})`);
  await run(sql`
    insert into key_totals values (${hash(id)}, ${workspaceId}, ${n % 4} / 3.0, ${n % 3 === 0 ? null : at(n)})
    on conflict (key_hash) do update set cost_usd = excluded.cost_usd, last_used_at = excluded.last_used_at`);
};
const removeKeyRow = async (id: string) => {
  await run(sql`delete from key_totals where key_hash = ${hash(id)}`);
  await run(sql`delete from api_keys where hash = ${hash(id)}`);
};

const keys: Omit<List, "request"> = {
  method: KeyService.method.listKeys,
  idOf: hashText,
  add: addKeyRow,
  remove: removeKeyRow,
};

const guardrails: List = {
  method: GuardrailService.method.listGuardrails,
  idOf: ({ name }: { readonly name: string }) => name,
  add: (id, n) =>
    run(sql`
      insert into guardrails (id, workspace_id, name, content_filters, created_at)
      values (${uuid(id)}, ${workspaceId}, ${id}, '[]', ${at(n)})`),
  remove: (id) => run(sql`delete from guardrails where id = ${uuid(id)}`),
};

const assignments: List = {
  method: GuardrailService.method.listKeyAssignments,
  idOf: ({ keyName }: { readonly keyName: string }) => hashText({ name: keyName }),
  add: async (id, n) => {
    const guardrail = `of assignments ${n % 4}`;
    await run(sql`
      insert into guardrails (id, workspace_id, name, content_filters) values (${uuid(guardrail)}, ${workspaceId}, ${guardrail}, '[]')
      on conflict do nothing`);
    await addKeyRow(id, n);
    await run(sql`
      insert into guardrail_key_assignments (key_hash, guardrail_id, created_at) values (${hash(id)}, ${uuid(guardrail)}, ${at(n)})`);
  },
  remove: async (id) => {
    await run(sql`delete from guardrail_key_assignments where key_hash = ${hash(id)}`);
    await removeKeyRow(id);
  },
};

const endUsers: List = {
  method: EndUserService.method.listEndUsers,
  request: { includeInactive: true },
  idOf: ({ user }: { readonly user: string }) => user,
  add: (id) => run(sql`insert into end_users (workspace_id, "user") values (${workspaceId}, ${id})`),
  remove: (id) => run(sql`delete from end_users where workspace_id = ${workspaceId} and "user" = ${id}`),
};

const workspaces: List = {
  method: WorkspaceService.method.listWorkspaces,
  caller: () => bearerMetadata(installation.managementKey),
  idOf: ({ name }: { readonly name: string }) => name,
  add: (id, n) => run(sql`insert into workspaces (id, name, created_at) values (${uuid(id)}, ${id}, ${at(n)})`),
  remove: (id) => run(sql`delete from workspaces where id = ${uuid(id)}`),
};

const sorts = ["created", "name", "spent", "last_used"].flatMap((sort) => [sort, `-${sort}`]);
const lists: readonly (readonly [string, List])[] = [
  ...sorts.map((sort) => [`keys by ${sort}`, { ...keys, request: { sort } }] as const),
  ["keys with a text", { ...keys, request: { query: "KEY", sort: "-name", includeDisabled: true } }],
  ["guardrails", guardrails],
  ["assignments", assignments],
  ["end users", endUsers],
  ["workspaces", workspaces],
];

interface AnyPage {
  readonly totalCount: bigint;
  readonly nextCursor: string;
}

const readPage = async ({ method, request, caller, idOf }: List, page: object) => {
  const given = { ...request, ...page } as never;
  const answer = await callAsAdministrator(installation, method, given, caller?.() ?? manager);
  const { totalCount, nextCursor, ...fields } = answer as unknown as AnyPage & Record<string, unknown>;
  const records = Object.values(fields).find((field) => Array.isArray(field)) as never[];
  return { ids: records.map(idOf), totalCount, nextCursor };
};

test.each(lists)("pages of %s show each record once while others are added, removed and moved", async (name, list) => {
  const prefix = name.replaceAll(" ", "-");
  const standing = Array.from({ length: 30 }, (_, n) => `${prefix}-${n % 7}-${n}`);
  const doomed = Array.from({ length: 20 }, (_, n) => `${prefix}-${n % 7}-doomed-${n}`);
  for (const [n, id] of [...standing, ...doomed].entries()) await list.add(id, n);
  const added: string[] = [];
  const seen: string[] = [];
  let cursor = "";
  do {
    const page = await readPage(list, { limit: 4, cursor });
    seen.push(...page.ids);
    cursor = page.nextCursor;
    // Removes also the record to which the cursor points: the next page must not depend on that record.
    for (const id of [page.ids.at(-1) ?? "", doomed.pop() ?? ""].filter((each) => !standing.includes(each)))
      await list.remove(id);
    for (const n of [added.length, added.length + 1]) {
      added.push(`${prefix}-${n % 7}-added-${n}`);
      if (added.length < 20) await list.add(added.at(-1) as string, n);
    }
    // A moved key may be listed twice or not at all, and keys that are not moved exactly once.
    await run(
      sql`update key_totals set cost_usd = cost_usd + 1, last_used_at = now() where key_hash = ${hash(doomed[0] ?? "")}`,
    );
  } while (cursor !== "");
  expect(seen.filter((id) => standing.includes(id)).toSorted()).toEqual(standing.toSorted());
  const still = seen.filter((id) => id !== doomed[0]);
  expect(new Set(still).size).toBe(still.length);

  const whole = await readPage(list, { limit: 100 });
  const byOffset = await readPage(list, { limit: 100, offset: 3 });
  expect([byOffset.ids, byOffset.totalCount]).toEqual([whole.ids.slice(3), whole.totalCount]);
  expect([whole.nextCursor, whole.totalCount]).toEqual(["", BigInt(whole.ids.length)]);
  for (const id of whole.ids) if (id.startsWith(prefix)) await list.remove(id);
});

const refused = (message: string) => ({ reason: FaultReason.INVALID_REQUEST, status: 400, message });
const sealed = (values: unknown) => Buffer.from(JSON.stringify(values)).toString("base64url");
const textsOf = (cursor: string) => JSON.parse(Buffer.from(cursor, "base64url").toString()) as string[];

test("an invalid cursor, or one of another list, workspace, order or filter, is 400", async () => {
  for (let n = 0; n < 3; n++) await keys.add(`refused-${n}`, n);
  const notOne = refused("cursor: must be the next_cursor of a page");
  const foreign = refused("cursor: belongs to another list, order or filter");
  const all: readonly List[] = [{ ...keys, request: {} }, guardrails, assignments, endUsers, workspaces];
  const byTime = [AuditService.method.listAudit, UsageService.method.listGenerations].map(
    (method): List => ({ ...workspaces, method }),
  );
  const { nextCursor } = await readPage({ ...keys, request: {} }, { limit: 1 });
  for (const list of [...all, ...byTime]) {
    for (const cursor of ["1", "%", "bm9wZQ", sealed({}), sealed([]), sealed(["x"]), sealed([1, 2]), "x".repeat(9_000)])
      await expect(readPage(list, { cursor })).rejects.toMatchObject(notOne);
    if (list !== all[0]) await expect(readPage(list, { cursor: nextCursor })).rejects.toMatchObject(foreign);
  }
  await expect(readPage({ ...keys, request: {} }, { cursor: nextCursor, offset: 1 })).rejects.toMatchObject(
    refused("offset: cannot be given with a cursor"),
  );
  for (const request of [{ sort: "-created" }, { sort: "spent" }, { query: "key" }, { includeDisabled: true }])
    await expect(readPage({ ...keys, request }, { cursor: nextCursor })).rejects.toMatchObject(foreign);
  const elsewhere = { ...keys, request: {}, caller: () => bearerMetadata(installation.managementKey) };
  await expect(readPage(elsewhere, { cursor: nextCursor })).rejects.toMatchObject(foreign);
  // Without the check, values of another form would cause an error of the database.
  const [mark] = textsOf(nextCursor);
  for (const place of [["x", "y"], ["1", "\0"], ["9".repeat(18), "y"], ["1"], ["1", "y", "z"], ["", ""]])
    await expect(readPage({ ...keys, request: {} }, { cursor: sealed([mark, ...place]) })).rejects.toMatchObject(
      foreign,
    );
  expect((await readPage({ ...keys, request: {} }, { cursor: sealed([mark, "1".repeat(17), "y"]) })).ids).toEqual([]);
});

const records = 6_000;
/**
 * A page of ten records reads each of them a few times, by the index of its order and by its id, in addition to records with the sort value of
 * the previous page's last one.
 */
const maxRows = 100;

const rowsRead = (plan: PlanNode): number =>
  nodesOf(plan)
    .filter((node) => node["Node Type"].endsWith("Scan") && node.Plans === undefined)
    .map((node) => (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0)) * node["Actual Loops"])
    .reduce((sum, rows) => sum + rows, 0);

test("a page by cursor reads few rows of a long list, except in the order of last use, which has no index", async () => {
  const created = await createMigratedDatabase();
  const database = openDatabase(created.url, migrationConnectionLimits, () => {});
  const client = new pg.Client({ connectionString: created.url });
  await client.connect();
  try {
    await fillLists(database, records);
    const { rows } = await sql<{ id: string }>`select workspace_id as id from api_keys limit 1`.execute(database);
    const of = { workspaceId: rows[0]?.id as string };
    const keysBy = (sort: string) => (connected: Kysely<Database>, page: Page) =>
      pageOfKeys(connected, { ...of, includeDisabled: true, sort: sort as "name" }, page);
    const large: Readonly<
      Record<string, (connected: Kysely<Database>, page: Page) => Promise<PagedRows<unknown> | undefined>>
    > = {
      ...Object.fromEntries(sorts.map((sort) => [sort, keysBy(sort)])),
      assignments: (connected, page) => pageOfAssignments(connected, of, page),
      active: (connected, page) => pageOfEndUsers(connected, { ...of, includeInactive: false }, page),
    };
    for (const [name, list] of Object.entries(large)) {
      const middle = await list(database, { offset: records / 20, limit: 100 });
      const page = { offset: 0, limit: 10, cursor: middle?.nextCursor };
      const statements = await statementsOf(created.url, (connected) => list(connected, page));
      const read = rowsRead(await planOf(client, statements.at(-1) as CompiledQuery));
      if (!name.endsWith("last_used")) expect([name, read < maxRows, read]).toEqual([name, true, read]);
    }
  } finally {
    await client.end();
    await database.destroy();
    await created.drop();
  }
});
