/**
 * No field of a request is lost silently: every field of each door's published body, also a nested one, changes the provider's body, is named in
 * the receipt or in the warning header, or is refused by name. Fields that only the gateway uses are in the list below with their reasons.
 */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { openApi } from "@sluice/gateway/contract/operations/openapi.js";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { type FieldProbe, SchemaProbes, type Schemas, isUnknown } from "../../support/probes/schema-probes.ts";
import { readReportedChanges } from "../../recorded/receipts.ts";
import { toolDialects } from "../../support/tool-dialects.ts";
import { type Upstream, responsesAnswer, startUpstream } from "../../support/providers/upstream.ts";
import { probedDoors, fieldsWithoutEffect, probeRules } from "./silence/rules.ts";

const message = { type: "message", role: "assistant", content: [{ type: "output_text", text: "Fine." }] };
const cohereAnswer = {
  id: "1",
  finish_reason: "COMPLETE",
  message: { role: "assistant", content: [{ type: "text", text: "Fine." }] },
  usage: { tokens: { input_tokens: 3, output_tokens: 2 } },
};
const replies = {
  chat: toolDialects.chat.say("Fine.", false),
  responses: responsesAnswer({ ...message, id: "msg_1", status: "completed" }),
  messages: toolDialects.messages.say("Fine.", false),
  gemini: toolDialects.gemini.say("Fine.", false),
  converse: toolDialects.converse.say("Fine.", false),
  cohere: { chunks: [{ json: cohereAnswer }] },
};

/** A kind of provider. */
interface Kind {
  readonly dialect: keyof typeof replies;
  readonly provider?: object;
  readonly path?: string;
  readonly model?: string;
}

const aws = toolDialects.converse.provider;
const kinds: Readonly<Record<string, Kind>> = {
  chat: { dialect: "chat" },
  openai_chat: { dialect: "chat", provider: { vendor: "openai" } },
  responses: { dialect: "responses" },
  openai: { dialect: "responses", provider: { vendor: "openai" } },
  messages: { dialect: "messages" },
  anthropic: { dialect: "messages", provider: { vendor: "anthropic" } },
  gemini: { dialect: "gemini", path: "/v1beta" },
  converse: { dialect: "converse", path: "", provider: aws, model: "eu.anthropic.claude-sonnet-4-6" },
  llama: { dialect: "converse", path: "", provider: aws, model: "us.meta.llama4-maverick-17b-instruct-v1:0" },
  cohere: { dialect: "cohere", path: "" },
};

const upstreams: Record<string, Upstream> = {};
let installation: Installation;

beforeAll(async () => {
  for (const [id, { dialect }] of Object.entries(kinds))
    upstreams[id] = await startUpstream([replies[dialect]], { isLenient: true });
  const providers = Object.entries(kinds).map(([id, { dialect, path = "/v1", provider }]) => {
    return { id, dialect, base_url: `${upstreams[id]!.url}${path}`, ...provider };
  });
  const models = Object.entries(kinds).map(([id, { model = "m" }]) => ({
    id: `t/${id}`,
    input_modalities: ["text", "image", "file", "audio", "video"],
    max_output_tokens: 4_096,
    endpoints: [{ provider: id, upstream_model: model }],
  }));
  installation = await startInstallation({ config: JSON.stringify({ providers, models }) });
});
afterAll(async () => {
  await installation?.stop();
  await Promise.all(Object.values(upstreams).map((upstream) => upstream.stop()));
});

interface Outcome {
  readonly status: number;
  /** The body sent to the provider, or the reason for no call. */
  readonly sent: string;
  readonly told: readonly string[];
}

const asked = new Map<string, Promise<Outcome>>();

/** Probes of one object have a common body without the probed field. */
function askOnce(door: string, kind: string, body: object): Promise<Outcome> {
  const key = `${door} ${kind} ${JSON.stringify(body)}`;
  let outcome = asked.get(key);
  if (!outcome) asked.set(key, (outcome = sendRequest(door, kind, body)));
  return outcome;
}

async function sendRequest(door: string, kind: string, body: object): Promise<Outcome> {
  const { requests } = upstreams[kind]!;
  const before = requests.length;
  const answer = await fetch(`${installation.baseUrl}${door}`, {
    method: "POST",
    headers: { "x-api-key": installation.apiKey, "content-type": "application/json", "x-service-metadata": "enabled" },
    body: JSON.stringify({ model: `t/${kind}`, ...body }),
  });
  const text = await answer.text();
  if (answer.status !== 200) return { status: answer.status, sent: `${answer.status}`, told: [text] };
  // Names of Anthropic's betas are sent in a header.
  const { path = "", body: sent = "", headers = {} } = requests[before] ?? {};
  const told = readReportedChanges(text, answer.headers);
  const warnings = (answer.headers.get("x-sluice-warning") ?? "")
    .split(", ")
    .map((each) => each.replace(/^unknown field /, ""));
  return {
    status: 200,
    sent: `${path} ${String(headers["anthropic-beta"])} ${sent}`,
    told: [...told.paths, ...warnings],
  };
}

const { schemas } = openApi().components as unknown as { readonly schemas: Schemas };

/** A cache mark is listed at its final part, within the same message, item or tool; `enabled` is a synonym of the effort. */
const placeOf = (path: string): string =>
  path
    .replace(/^((?:input|messages|tools|system)\.\d+)\..*cache_control.*$/, "$1")
    .replace(/^reasoning\.enabled$/, "reasoning.effort");

function isNamed(place: string, told: readonly string[]): boolean {
  const path = placeOf(place);
  return told.some((each) => {
    const name = each.split(/[:; ]/)[0]!;
    // A tool that was converted to another form is listed by its type.
    const whole = name.replace(/^(tools\.\d+)\.type$/, "$1");
    return name !== "" && (isWithin(path, whole) || isWithin(whole, path));
  });
}
const isWithin = (path: string, outer: string): boolean => path === outer || path.startsWith(`${outer}.`);

/** Whether an error names the field, or a field around it. */
function refusalNames(path: string, text: string): boolean {
  const parts = path.split(".");
  return parts.some((_, index) => text.includes(parts.slice(0, index + 1).join(".")));
}

async function fateOf(door: string, kind: string, { path, bodies }: FieldProbe): Promise<string> {
  const outcomes: Outcome[] = [];
  for (const body of bodies) outcomes.push(await askOnce(door, kind, body));
  const served = outcomes.filter(({ status }) => status === 200);
  const refused = outcomes.filter(({ status }) => status !== 200);
  const silent = refused.find(({ told }) => !refusalNames(path, told[0]!));
  if (silent) return `refused without its name: ${silent.told[0]}`;
  if (served.length === 0) return "refused";
  if (new Set(served.map(({ sent }) => sent)).size > 1) return "carried";
  if (served.some(({ told }) => isNamed(path, told))) return "named";
  return refused.length > 0 ? "refused" : `lost; told ${served.at(-1)!.told.join(", ")}`;
}

const goodFates: ReadonlySet<string> = new Set(["carried", "named", "refused"]);

/** Doors list unknown fields; formats with verbatim tools and settings also send such fields. */
const kindsOfUnknown: ReadonlySet<string> = new Set(["chat", "openai", "anthropic"]);

/** Each field is sent to a third of the kinds of providers, and neighbouring fields to the others; with SILENCE=all each is sent to all. */
const allKinds = process.env["SILENCE"] === "all";

describe.each(probedDoors)("a request at %s", (door, name, body) => {
  const probes = new SchemaProbes({ schemas, ...probeRules })
    .of(schemas[name]!, body)
    .filter(({ label }) => !fieldsWithoutEffect.some(({ fields }) => fields.test(label)));

  async function findLost(kind: string): Promise<readonly string[]> {
    const lost: string[] = [];
    const offset = Object.keys(kinds).indexOf(kind);
    for (const [index, probe] of probes.entries()) {
      if (isUnknown(probe) && !kindsOfUnknown.has(kind)) continue;
      if (!allKinds && (index + offset) % 3 !== 0) continue;
      const fate = await fateOf(door, kind, probe);
      if (!goodFates.has(fate)) lost.push(`${kind}: ${probe.label}: ${fate}`);
    }
    return lost;
  }

  test("loses no field without a report on its way to a provider", async () => {
    const lost = await Promise.all(Object.keys(kinds).map(findLost));
    expect(lost.flat()).toEqual([]);
  }, 300_000);
});
