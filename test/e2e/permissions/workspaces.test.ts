/** Every operation of the contract with keys that may not perform it: those of another workspace, and those of applications. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { operations, recordOperations } from "@sluice/gateway/contract/operations/operations.js";
import { type Operation, parameterNames } from "@sluice/proto/contract/operations/operation.js";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { administer, newKey } from "./keys.ts";

let installation: Installation;
/** A management key of another workspace. */
let stranger: string;
/** Values of the path parameters by operation path: records of the default workspace. */
let records: Readonly<Record<string, string>>;

beforeAll(async () => {
  installation = await startInstallation({
    config: `
providers: [{id: sluice, dialect: echo}]
models: [{id: sluice/echo, endpoints: [{provider: sluice}]}]
alerts: [{name: ops, webhook: {url: "http://127.0.0.1:1/", secret: "whsec_${Buffer.alloc(32, 1).toString("base64")}"}}]
`,
  });
  const run = async (...args: string[]) => JSON.parse((await installation.admin(...args, "--json")).stdout) as object;
  await run("workspaces", "create", "--name", "research");
  const made = await run("keys", "create", "--management", "--workspace", "research", "--name", "stranger");
  stranger = (made as { readonly key: string }).key;
  const { hash } = await newKey(installation, { permissions: {} });
  const guardrail = await administer(installation, "PUT", "/guardrails/by-external-id/ours", { name: "ours" });
  await administer(installation, "PUT", "/keys/by-external-id/ours", { name: "ours" });
  await administer(installation, "POST", "/end-users", { user: "ours" });
  await administer(installation, "PUT", "/views/ours", { query: "tab=errors" });
  await administer(installation, "PUT", "/alert-rules/ours", { condition: "spend", threshold: 1, channels: ["ops"] });
  const { id } = (guardrail as { readonly data: { readonly id: string } }).data;
  await administer(installation, "POST", `/guardrails/${id}/assignments/keys`, { key_hashes: [hash] });
  records = {
    keys: hash,
    guardrails: id,
    workspaces: defaultWorkspaceId,
    providers: "sluice",
    external_id: "ours",
    user: "ours",
    views: "ours",
    "alert-rules": "ours",
  };
});
afterAll(() => installation?.stop());

/** The path with a record of the default workspace. */
const pathOf = ({ path, query }: Operation): string => {
  const [, kind = ""] = path.split("/");
  const filled = parameterNames(path).reduce(
    (text, name) => text.replace(`{${name}}`, records[name] ?? records[kind] ?? "none"),
    path,
  );
  return query?.fields["workspace_id"] ? `${filled}?workspace_id=${defaultWorkspaceId}` : filled;
};

async function ask(key: string, operation: Operation): Promise<{ status: number; text: string }> {
  const { method, body } = operation;
  const [sent] = Object.values(body?.examples ?? {});
  const answer = await fetch(`${installation.baseUrl}${pathOf(operation)}`, {
    method: method.toUpperCase(),
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(sent && { body: JSON.stringify(sent.value) }),
  });
  return { status: answer.status, text: await answer.text() };
}

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
      `/workspaces/${defaultWorkspaceId}`,
    ].map(async (path) => {
      const headers = { authorization: `Bearer ${installation.managementKey}` };
      const answer = await fetch(`${installation.baseUrl}${path}`, { headers });
      // The check of an alert rule changes two fields by itself.
      return [path, answer.status, (await answer.text()).replaceAll(/"(?:value|checked_at)":[^,]*/g, "")];
    }),
  );

const all = Object.entries<Operation>(recordOperations).filter(([, { key }]) => key !== "inference");

/** Lists and reports of the caller's own workspace, and records with names that each workspace chooses. */
const isOfOwn = ({ path, query }: Operation): boolean =>
  query?.fields["workspace_id"] === undefined &&
  parameterNames(path).every((name) => name === "external_id" || name === "name");

test("a management key of another workspace is refused every operation on a record, and changes none", async () => {
  const before = await snapshot();
  expect(before.map(([, status]) => status)).toEqual(before.map(() => 200));
  const allowed: string[] = [];
  for (const [id, operation] of all) {
    const { status, text } = await ask(stranger, operation);
    const needsAccount = operation.description.includes("Needs a management key of the account");
    const isRefused = status === 403 || status === 404;
    if (!isRefused && (needsAccount || !isOfOwn(operation))) allowed.push(`${id}: ${status}`);
    const [name = "", other = ""] = [records["keys"], records["guardrails"]];
    if (text.includes(`"${name}"`) || text.includes(`"${other}"`)) allowed.push(`${id}: ${text.slice(0, 200)}`);
  }
  expect(allowed).toEqual([]);
  expect(await snapshot()).toEqual(before);
});

test("an inference key is refused every operation of management keys", async () => {
  const before = await snapshot();
  const allowed: string[] = [];
  for (const [id, operation] of Object.entries<Operation>(operations)) {
    if (operation.key !== "management") continue;
    const { status } = await ask(installation.apiKey, operation);
    if (status !== 403) allowed.push(`${id}: ${status}`);
  }
  expect(allowed).toEqual([]);
  expect(await snapshot()).toEqual(before);
});
