/** Every operation that names a record, called by every role of another workspace, answers as for a record that does not exist. */
import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { recordOperations } from "@sluice/gateway/contract/operations/operations.js";
import { type Operation, parameterNames } from "@sluice/proto/contract/operations/operation.js";
import { askConsole } from "../../support/console.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { administer, newKey } from "./keys.ts";

let installation: Installation;

/** Names of records by the parameter, or the kind of path, that takes them. */
type Names = Readonly<Record<string, string>>;

/** Names that occur in no other word of an answer. */
const foreignName = "of-the-default-workspace";
const absentName = "of-nobody-at-all";

/** Names of records of the default workspace, names of the same form without a record, and names of records of the callers' workspace. */
let foreign: Names;
let absent: Names;
let own: Names;

interface Answer {
  readonly status: number;
  readonly text: string;
}

interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
}

type Caller = (request: Request) => Promise<Answer>;

const withKey =
  (key: () => string): Caller =>
  async ({ method, path, headers, body }) => {
    const answer = await fetch(`${installation.baseUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${key()}`, "content-type": "application/json", ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: answer.status, text: await answer.text() };
  };

const asPerson =
  (role: string): Caller =>
  async ({ method, path, headers, body }) => {
    const person = { "x-forwarded-email": `${role}@research.example`, ...headers };
    const answer = await askConsole(new URL(installation.baseUrl).origin, method, path, person, body);
    return { status: answer.status, text: JSON.stringify(answer.body) };
  };

const keys = { manager: "", application: "" };
const callers: Readonly<Record<string, Caller>> = {
  viewer: asPerson("viewer"),
  operator: asPerson("operator"),
  admin: asPerson("admin"),
  "management key": withKey(() => keys.manager),
  "API key": withKey(() => keys.application),
};
const owner = withKey(() => installation.managementKey);

beforeAll(async () => {
  installation = await startInstallation({
    config: `
providers: [{id: ${foreignName}, dialect: echo}]
models: [{id: acme/echo, endpoints: [{provider: ${foreignName}}]}]
alerts: [{name: ops, webhook: {url: "http://127.0.0.1:1/", secret: "whsec_${Buffer.alloc(32, 1).toString("base64")}"}}]
console:
  trusted_header:
    from: [127.0.0.1]
    roles:
      - {user: viewer@research.example, role: viewer, workspace: research}
      - {user: operator@research.example, role: operator, workspace: research}
      - {user: admin@research.example, role: admin, workspace: research}
`,
  });
  const run = async (...args: string[]) => JSON.parse((await installation.admin(...args, "--json")).stdout) as object;
  await run("workspaces", "create", "--name", "research");
  const make = async (...args: string[]) =>
    (await run("keys", "create", "--workspace", "research", ...args)) as {
      readonly key: string;
      readonly hash: string;
    };
  keys.manager = (await make("--management", "--name", "manager")).key;
  const application = await make("--name", "application");
  keys.application = application.key;
  own = {
    keys: application.hash,
    guardrails: await newGuardrail(keys.manager, "own"),
    user: "own",
    external_id: "own",
  };
  foreign = await foreignRecords();
  absent = {
    keys: randomBytes(32).toString("hex"),
    guardrails: randomUUID(),
    workspaces: randomUUID(),
    providers: absentName,
    external_id: absentName,
    user: absentName,
    views: absentName,
    "alert-rules": absentName,
    session: absentName,
    generation: foreign["generation"]?.replace(/.{6}$/, "000000") ?? "",
    request: foreign["request"]?.replace(/.{6}$/, "000000") ?? "",
  };
});
afterAll(() => installation?.stop());

async function newGuardrail(key: string, name: string): Promise<string> {
  const answer = await withKey(() => key)({
    method: "PUT",
    path: `/guardrails/by-external-id/${name}`,
    body: { name },
  });
  return (JSON.parse(answer.text) as { readonly data: { readonly id: string } }).data.id;
}

async function foreignRecords(): Promise<Names> {
  const { hash } = await newKey(installation, { permissions: {} });
  const guardrails = await newGuardrail(installation.managementKey, foreignName);
  await administer(installation, "PUT", `/keys/by-external-id/${foreignName}`, { name: foreignName });
  await administer(installation, "PUT", `/workspaces/by-external-id/${foreignName}`, { name: foreignName });
  await administer(installation, "POST", "/end-users", { user: foreignName });
  await administer(installation, "PUT", `/views/${foreignName}`, { query: `user=${foreignName}` });
  const rule = { condition: "spend", threshold: 1, channels: ["ops"] };
  await administer(installation, "PUT", `/alert-rules/${foreignName}`, rule);
  const turn = await fetch(`${installation.baseUrl}/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "acme/echo", input: "Hi", user: foreignName, session_id: foreignName }),
  });
  await turn.text();
  const [generation, request] = ["x-generation-id", "x-request-id"].map((name) => turn.headers.get(name) ?? "");
  await eventually(async () => (await owner({ method: "GET", path: `/generation?id=${generation}` })).status === 200);
  return {
    keys: hash,
    guardrails,
    workspaces: defaultWorkspaceId,
    providers: foreignName,
    external_id: foreignName,
    user: foreignName,
    views: foreignName,
    "alert-rules": foreignName,
    session: foreignName,
    generation: generation ?? "",
    request: request ?? "",
  };
}

/** Kinds of records, by the field of a query or a body with their ids. */
const named: Readonly<Record<string, string>> = {
  workspace_id: "workspaces",
  key: "keys",
  api_key_hash: "keys",
  key_hashes: "keys",
  user: "user",
  session: "session",
  session_id: "session",
  id: "generation",
  request_id: "request",
  guardrail: "guardrails",
  guardrail_id: "guardrails",
  external_id: "external_id",
  target: "keys",
  actor: "keys",
};

/** A place of a request that names a record. */
interface Slot {
  readonly label: string;
  readonly request: (names: Names) => Request;
}

const kindOf = (path: string, parameter: string): string =>
  parameter === "external_id" || parameter === "user" ? parameter : (path.split("/")[1] ?? "");

const pathOf = (path: string, names: Names): string =>
  parameterNames(path).reduce((text, name) => text.replace(`{${name}}`, names[kindOf(path, name)] ?? "none"), path);

const headerSlot = "x-sluice-workspace";

function slotsOf([id, { method, path, query, body }]: readonly [string, Operation]): readonly Slot[] {
  const verb = method.toUpperCase();
  const [example] = Object.values(body?.examples ?? {});
  const sent = example ? { body: example.value as object } : {};
  const plain = { method: verb, path: pathOf(path, own ?? {}), ...sent };
  const slot = (label: string, request: Slot["request"]): Slot => ({ label: `${id} ${label}`, request });
  const fields = (body?.shape as { readonly fields?: object } | undefined)?.fields ?? {};
  return [
    ...(path.includes("{") && !path.includes("{author}")
      ? [slot("path", (names) => ({ ...plain, path: pathOf(path, names) }))]
      : []),
    ...Object.keys(query?.fields ?? {})
      .filter((name) => Object.hasOwn(named, name))
      .map((name) =>
        slot(`?${name}`, (names) => ({
          ...plain,
          path: `${pathOf(path, own)}?${name}=${names[named[name] as string]}${id === "listActivity" ? "&limit=1" : ""}`,
        })),
      ),
    ...Object.keys(fields)
      .filter((name) => Object.hasOwn(named, name) && name !== "key" && name !== "id" && name !== "guardrail")
      .map((name) =>
        slot(`body.${name}`, (names) => {
          const value = names[named[name] as string];
          const filled = { ...sent.body, [name]: name === "key_hashes" ? [value] : value };
          return { ...plain, path: pathOf(path, own), body: filled };
        }),
      ),
    slot(headerSlot, (names) => ({
      ...plain,
      path: pathOf(path, own),
      headers: { [headerSlot]: names["workspaces"] as string },
    })),
  ];
}

const operations = Object.entries<Operation>(recordOperations);

/** Ids, keys and times: any two records and requests have others. */
const varying =
  /req_\w+|[0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|sk-sl-[\w.]+|\d{4}-\d\d-\d\dT[\d:.]+Z/g;

/** The answer without names, ids, keys and times; of a change that succeeded only the status. */
function comparable({ status, text }: Answer, isRead: boolean): string {
  if (status < 300 && !isRead) return String(status);
  const names = [...Object.values(foreign), ...Object.values(absent)];
  return `${status} ${names.reduce((rest, name) => rest.replaceAll(name, "*"), text).replaceAll(varying, "*")}`;
}

/** The check of an alert rule changes these fields by itself. */
const withoutChecks = (text: string): string => text.replaceAll(/"(?:value|checked_at)":[^,]*/g, "");

/** All records of the default workspace that an operation could change. */
const snapshot = () =>
  Promise.all(
    [
      "/keys?include_disabled=true",
      "/guardrails",
      "/guardrails/assignments/keys",
      "/end-users",
      "/views",
      "/alert-rules",
      "/workspaces",
    ].map(async (path) => withoutChecks((await owner({ method: "GET", path })).text)),
  );

describe.each(Object.keys(callers))("as %s of another workspace", (name) => {
  test("a caller gets the same answer as for a missing record, in every operation, and changes nothing", async () => {
    const call = callers[name] as Caller;
    const before = await snapshot();
    const differing: string[] = [];
    for (const operation of operations) {
      for (const { label, request } of slotsOf(operation)) {
        const isRead = operation[1].method === "get";
        const there = comparable(await call(request(foreign)), isRead);
        const nowhere = comparable(await call(request(absent)), isRead);
        if (there !== nowhere) differing.push(`${label}: ${there.slice(0, 300)} instead of ${nowhere.slice(0, 300)}`);
      }
    }
    expect(differing).toEqual([]);
    expect(await snapshot()).toEqual(before);
  });
});

test("the owner of a record gets other answers than a caller of another workspace", async () => {
  const alike: string[] = [];
  let count = 0;
  for (const operation of operations.filter(([, { method, key }]) => method === "get" && key !== "inference")) {
    for (const { label, request } of slotsOf(operation)) {
      // A report filtered by a record is empty if no call used the record, so its answer to the owner proves nothing.
      if (!label.endsWith(" path") && !label.startsWith("getGeneration ")) continue;
      count++;
      const there = comparable(await owner(request(foreign)), true);
      if (there === comparable(await owner(request(absent)), true)) alike.push(label);
    }
  }
  expect(count).toBeGreaterThan(8);
  expect(alike).toEqual([]);
});
