/** Permissions for models hold in each field of a published request that names one. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { type Received, type Upstream, startUpstream } from "../../support/providers/upstream.ts";
import { schemaFields, followReference } from "../../support/schema-walk.ts";
import { callReply, textReply } from "../../support/tool-replies.ts";
import { waysInto } from "./doors.ts";
import { type Permissions, newKey } from "./keys.ts";
import { withNeighbours } from "./tool-cases.ts";

let upstream: Upstream;
let installation: Installation;

const args = { prompt: "Hi", question: "Hi", task: "Hi", query: "Hi", tasks: ["Hi"] };

/** A model that calls the functions in its request until it gets a result. */
function answer({ json }: Received) {
  const { tools = [], messages = [] } = json as {
    tools?: { function: { name: string } }[];
    messages?: { role: string }[];
  };
  const isFirst = !messages.some(({ role }) => role === "tool");
  return tools.length > 0 && isFirst
    ? callReply(...tools.map(({ function: { name } }) => ({ name, args })))
    : textReply("fine");
}

beforeAll(async () => {
  upstream = await startUpstream([textReply("fine")], { isLenient: true });
  upstream.script(answer);
  installation = await startInstallation({
    config: `
providers:
  - {id: acme, dialect: chat, base_url: "${upstream.url}/v1"}
models:
  - {id: acme/outer, endpoints: [{provider: acme}]}
  - {id: acme/denied, output_modalities: [text, image], endpoints: [{provider: acme, upstream_model: denied}]}
  - {id: acme/painter, output_modalities: [image], endpoints: [{provider: acme}]}
model_aliases: [{match: n1, model: acme/outer}]
internal_models: {advisor: {model: acme/outer}, image: {model: acme/painter}}
search: {engines: {searxng: {base_url: "${upstream.url}"}}}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});

const isNaming = (name: string): boolean => /(?:^|_)models?$/.test(name) && !/^(?:excluded|failed|pin)_/.test(name);

/** Items that show what models have answered. */
const isHistory = (path: string): boolean => path.startsWith("input") && !path.includes(".tools");

/** Not possible within a subagent, or a router that the configuration lacks. */
const unavailable = /<service:subagent>\.parameters\.tools|<jev-router>/;

/** Slugs of routers, by the plugin of each. */
const slugs: readonly (readonly [RegExp, string])[] = [
  [/<auto-router>/, "service/auto"],
  [/<auto-beta-router>/, "service/auto-beta"],
  [/<fusion>/, "service/fusion"],
];

const doors = ["/responses", "/chat/completions", "/messages", "WebSocket", "RunTurn", "CreateResponse"];

test.each(doors)("a key is refused forbidden models in every field of a request to %s", async (name) => {
  const { ask, base, schema } = waysInto(installation).find((way) => way.name === name)!;
  const keyWith = async (permissions: Permissions) => (await newKey(installation, { permissions })).key;
  const narrow = await keyWith({ models: ["acme/outer", "acme/painter"] });
  const free = await keyWith({});
  const leaks: string[] = [];
  const unproven: string[] = [];
  const fields = schemaFields(schema).filter(({ name: field, path }) => isNaming(field) && !isHistory(path));
  for (const { path, schema: shape, put } of fields) {
    const isList = JSON.stringify(followReference(shape)).includes('"array"');
    const model =
      path === "models" ? { model: undefined } : { model: slugs.find(([of]) => of.test(path))?.[1] ?? "acme/outer" };
    const filled = withNeighbours(put(isList ? ["acme/denied"] : "acme/denied"));
    const body = { ...base, ...model, ...filled, ...(path.startsWith("plugins") && model) };
    const called = async (key: string) => {
      const before = upstream.requests.length;
      const { status } = await ask(key, body);
      const calls = upstream.requests.slice(before).filter(({ json }) => json["model"] === "denied");
      return { status, count: calls.length };
    };
    const [denied, allowed] = [await called(narrow), await called(free)];
    if (denied.count > 0) leaks.push(`${path}: ${denied.status}`);
    // A field without an effect for any key would prove nothing, so it is reported.
    const isProven = allowed.count > 0 || (denied.status === 403 && allowed.status === 200);
    if (!isProven && !unavailable.test(path)) unproven.push(`${path}: ${denied.status}, ${allowed.status}`);
  }
  expect(leaks).toEqual([]);
  expect(unproven).toEqual([]);
  expect(fields.length).toBeGreaterThan(5);
});
