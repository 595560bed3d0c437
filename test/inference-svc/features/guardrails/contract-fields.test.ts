/**
 * Every text field of the contract, at every door: a guardrail's word is put into each in turn, as its JSON schema allows, and never reaches a
 * provider. Fields not read by guardrails are listed here, and in the page of guardrails.
 */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { parseChatRequest } from "@sluice/gateway/doors/chat/request.js";
import { parseEmbeddings } from "@sluice/gateway/doors/embeddings/request.js";
import { parseMessages } from "@sluice/gateway/doors/messages/request.js";
import { parseRequest } from "@sluice/gateway/doors/responses/request.js";
import { parseEmbedding } from "@sluice/inference-svc/turn/parse/embedding.js";
import { parseTurn } from "@sluice/inference-svc/turn/parse/turn-request.js";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import type { Turn } from "@sluice/inference-svc/turn/turn.js";
import { chatRequestShape } from "@sluice/gateway/contract/chat/request.js";
import { messagesRequest } from "@sluice/gateway/contract/messages/request.js";
import { embeddingsRequest } from "@sluice/proto/contract/request/embeddings.js";
import { requestShape } from "@sluice/proto/contract/request/request.js";
import { AppliesTo } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { configSchema } from "@sluice/proto/config/config-file.js";
import { scanObject } from "@sluice/proto/lib/json/scan.js";
import type { Shape } from "@sluice/proto/lib/validation/shape.js";
import { type Upstream, chatStream, startUpstream } from "../../../support/providers/upstream.ts";
import { type Engine, testConfig, newScope, openEngine, runTestTurn } from "../../asking.js";
import { blockFilter, guardrailOf } from "./gating.js";

const word = "plutonium";

/** Not read: ids, plain words of at most 128 characters, sealed content, and bytes in base64; the bytes of files are decoded and read. */
const unread =
  /(?:^|\.)(?:id|call_id|tool_call_id|tool_use_id|encrypted_content|signature|data|file_data|input_audio)$/;

type Json = Readonly<Record<string, unknown>>;
interface Variant {
  readonly path: string;
  readonly value: unknown;
}

/** Values by a JSON schema: one for each text field, with the word in it, and a minimum of other fields. */
class Variants {
  readonly #components = new Map<string, Json>();
  readonly #schema: Json;
  readonly #open: string[] = [];

  constructor(shape: Shape) {
    this.#schema = shape.schema(this.#components);
  }

  all(): Variant[] {
    return [...this.#of(this.#schema, "")];
  }

  #resolved(schema: Json): Json {
    const ref = schema["$ref"];
    return typeof ref === "string" ? (this.#components.get(ref.slice(ref.lastIndexOf("/") + 1)) as Json) : schema;
  }

  *#of(schema: Json, path: string): Iterable<Variant> {
    const ref = schema["$ref"];
    if (typeof ref === "string") {
      // A shape nested within itself adds no new text fields.
      if (this.#open.filter((each) => each === ref).length > 1) return;
      this.#open.push(ref);
      yield* this.#of(this.#resolved(schema), path);
      this.#open.pop();
      return;
    }
    for (const each of [...((schema["anyOf"] as Json[]) ?? []), ...((schema["oneOf"] as Json[]) ?? [])])
      yield* this.#of(each, path);
    if (schema["enum"] || "const" in schema) return;
    const { type } = schema;
    if (type === "string" && takes(schema, word)) yield { path, value: word };
    else if (type === "array")
      for (const { path: inner, value } of this.#of((schema["items"] as Json) ?? {}, `${path}[]`))
        yield { path: inner, value: [value] };
    else if (type === "object") yield* this.#ofObject(schema, path);
    else if (type === undefined && !schema["anyOf"]) yield { path, value: { [word]: 1, inner: [word] } };
  }

  *#ofObject(schema: Json, path: string): Iterable<Variant> {
    const least = this.#least(schema) as Json;
    const properties = (schema["properties"] ?? {}) as Record<string, Json>;
    for (const [name, inner] of Object.entries(properties))
      for (const { path: at, value } of this.#of(inner, path === "" ? name : `${path}.${name}`))
        yield { path: at, value: { ...least, [name]: value } };
    const more = schema["additionalProperties"];
    if (typeof more !== "object" || more === null) return;
    if (takes((schema["propertyNames"] as Json) ?? {}, word))
      yield { path: `${path}.*`, value: { ...least, [word]: this.#least(more as Json) } };
    for (const { path: at, value } of this.#of(more as Json, `${path}.x`))
      yield { path: at, value: { ...least, x: value } };
  }

  /** The minimal value of the schema. */
  #least(given: Json, depth = 0): unknown {
    const schema = this.#resolved(given);
    if (depth > 12) return null;
    if ("const" in schema) return schema["const"];
    if (Array.isArray(schema["enum"])) return schema["enum"][0] as unknown;
    const [first] = ((schema["anyOf"] ?? schema["oneOf"]) as Json[] | undefined) ?? [];
    if (first) return this.#least(first, depth + 1);
    switch (Array.isArray(schema["type"]) ? schema["type"][0] : schema["type"]) {
      case "string":
        return ["a", "https://a.example/", "data:image/png;base64,iVBORw0KGgo=", "2026-01-01", "10"].find((text) =>
          takes(schema, text),
        );
      case "integer":
      case "number":
        return schema["minimum"] ?? ((schema["exclusiveMinimum"] as number | undefined) ?? 0) + 1;
      case "boolean":
        return true;
      case "array":
        return Array.from({ length: (schema["minItems"] as number | undefined) ?? 0 }, () =>
          this.#least(schema["items"] as Json, depth + 1),
        );
      case "object": {
        const properties = (schema["properties"] ?? {}) as Record<string, Json>;
        const required = (schema["required"] as string[] | undefined) ?? [];
        return Object.fromEntries(required.map((name) => [name, this.#least(properties[name] ?? {}, depth + 1)]));
      }
      default:
        return {};
    }
  }
}

const takes = ({ pattern, minLength = 0, maxLength = 1e9, allOf = [] }: Json, text: string): boolean =>
  [pattern, ...(allOf as Json[]).map((each) => each["pattern"])].every(
    (form) => typeof form !== "string" || new RegExp(form, "u").test(text),
  ) &&
  text.length >= (minLength as number) &&
  text.length <= (maxLength as number);

let provider: Upstream;
let engine: Engine;
const dialects = ["responses", "chat", "messages", "gemini"];

beforeAll(async () => {
  provider = await startUpstream([chatStream("Hello")]);
  engine = openEngine(
    testConfig({
      providers: dialects.map((id) => ({ id, dialect: id, base_url: `${provider.url}/v1`, api_keys: ["k"] })),
      models: dialects.flatMap((id) => [
        { id: `${id}/m`, endpoints: [{ provider: id }], input_modalities: ["text", "image", "file", "audio", "video"] },
        { id: `${id}/e`, endpoints: [{ provider: id }], output_modalities: ["embeddings"] },
      ]),
    }),
  );
});
afterAll(async () => {
  await engine.upstreams.close();
  await provider.stop();
});

type Reading = (body: Buffer) => RunTurnRequest;

const doors: Readonly<
  Record<string, { shape: Shape; base: object; read: (body: Buffer) => TurnRequest; turn: () => Turn }>
> = {
  responses: {
    shape: requestShape,
    base: { input: "Hi" },
    read: toTurn((body) => parseRequest(body, scanObject(body, "body"), { serviceMetadata: false }).request),
    turn: () => engine.turn,
  },
  chat: {
    shape: chatRequestShape,
    base: { messages: [{ role: "user", content: "Hi" }] },
    read: toTurn((body) => parseChatRequest(body, scanObject(body, "body"), { serviceMetadata: false }).request),
    turn: () => engine.turn,
  },
  messages: {
    shape: messagesRequest,
    base: { max_tokens: 9, messages: [{ role: "user", content: "Hi" }] },
    read: toTurn(
      (body) =>
        parseMessages(body, scanObject(body, "body"), { headers: {}, sessionId: undefined, serviceMetadata: false })
          .request,
    ),
    turn: () => engine.turn,
  },
  embeddings: {
    shape: embeddingsRequest,
    base: { input: "Hi" },
    read: (body) => {
      const reading = {
        access: { generation: 0n },
        limits: { body_bytes: 1e9, turn_ms: 1e6 },
        compat: configSchema.parse({}).compat,
      };
      const request = parseEmbeddings(reading, {}, body, scanObject(body, "body"));
      return parseEmbedding(request, { scanned: true, names: { resolve: (name) => name } });
    },
    turn: () => engine.embed,
  },
};

function toTurn(read: Reading): (body: Buffer) => TurnRequest {
  return (body) => parseTurn(read(body));
}

async function leaks(door: string, dialect: string, variant: Variant): Promise<"refused" | "sent" | "leaked"> {
  const { base, read, turn } = doors[door]!;
  const body = { ...base, ...(variant.value as object), model: `${dialect}/${door === "embeddings" ? "e" : "m"}` };
  if ("models" in body) return "refused";
  let request: TurnRequest;
  try {
    request = read(Buffer.from(JSON.stringify(body)));
  } catch (error) {
    if (error instanceof Fault && error.status < 500) return "refused";
    throw error;
  }
  const before = provider.requests.length;
  const scope = newScope({ guardrail: guardrailOf([blockFilter(word)], { appliesTo: AppliesTo.INPUT }) });
  await runTestTurn(turn(), request, scope);
  const sent = provider.requests.slice(before);
  if (sent.some(({ path, headers, body: said }) => `${path}${JSON.stringify(headers)}${said}`.includes(word)))
    return "leaked";
  return sent.length > 0 ? "sent" : "refused";
}

test.each(Object.keys(doors))(
  "no text of a request at the door %s reaches a provider past a guardrail",
  async (door) => {
    const variants = new Variants(doors[door]!.shape).all().filter(({ path }) => !unread.test(path));
    const leaked = new Set<string>();
    let sent = 0;
    for (const variant of variants) {
      // Items and tools are read in the same way for every format, so two formats are tested with all kinds.
      for (const dialect of /^(?:input|tools)\[\]/.test(variant.path) ? dialects.slice(0, 2) : dialects) {
        const outcome = await leaks(door, dialect, variant);
        if (outcome === "leaked") leaked.add(`${variant.path} (${dialect})`);
        if (outcome === "sent") sent++;
      }
    }
    process.stdout.write(`${door}: ${variants.length} texts of the contract, ${sent} requests sent without them\n`);
    expect(variants.length).toBeGreaterThan(5);
    expect([...leaked]).toEqual([]);
  },
);
