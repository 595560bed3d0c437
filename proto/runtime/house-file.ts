/** The configuration file of the house: who can serve, what can be asked for, and the limits. One schema for every process. */
import { readFileSync } from "node:fs";
import { parseDocument } from "yaml";
import { z } from "zod";
import { ConfigError, readSettings } from "./config.ts";

const slug = z.string().regex(/^[A-Za-z0-9][\w.:/@-]*$/, "letters, digits and . _ - : / @");
/** USD per million tokens as a decimal string: floats cannot hold prices. */
const price = z.string().regex(/^\d+(\.\d{1,12})?$/, 'a decimal string such as "0.25"');
const modality = z.enum(["text", "image", "file", "audio", "video"]);

const provider = z.strictObject({
  id: slug.describe("Name by which endpoints refer to the provider."),
  name: z.string().min(1).optional().describe("Shown in service_metadata; the id when absent."),
  dialect: z.enum(["echo", "chat", "messages", "responses"]).describe("Wire format that the provider speaks."),
  base_url: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe("Up to and including the version segment, e.g. https://api.openai.com/v1."),
  api_keys: z
    .array(z.string().min(1))
    .optional()
    .describe("Sent in rotation, as the format sends keys; omit for servers that need none."),
  native_tools: z
    .array(z.string().min(1))
    .optional()
    .describe("Types of tools that the provider runs itself, beyond function tools; the format's own when absent."),
  region: z.string().min(1).default("global"),
  data_policy: z
    .strictObject({
      retention: z.enum(["none", "unknown"]).default("unknown").describe("none admits requests with provider.zdr."),
      training: z
        .boolean()
        .optional()
        .describe("false, together with retention none, admits requests with provider.data_collection deny."),
    })
    .optional(),
  timeouts: z
    .strictObject({
      connect_ms: z.int().min(1).max(60_000).default(2_000),
      headers_ms: z.int().min(1).max(3_600_000).default(300_000),
      first_event_ms: z.int().min(1).max(3_600_000).default(300_000),
      idle_ms: z.int().min(1).max(3_600_000).default(60_000),
    })
    .prefault({}),
});

const endpoint = z.strictObject({
  provider: slug,
  upstream_model: z
    .string()
    .min(1)
    .optional()
    .describe("The provider's name of the model; the model's id when absent."),
  tier: z.enum(["default", "priority", "flex", "scale", "ultrafast"]).default("default"),
  pricing: z
    .strictObject({
      prompt: price,
      completion: price,
      cache_read: price.optional(),
      cache_write: price.optional(),
      request: price.optional().describe("USD per request; nothing when absent."),
      image: price.optional().describe("USD per image; nothing when absent."),
      audio: price.optional().describe("USD per unit of audio; nothing when absent."),
    })
    .optional()
    .describe("Endpoints with a price share the load by it; those without follow in the order of the file."),
  quantization: z.string().default("unknown"),
  distillable: z.boolean().default(false).describe("Whether the author allows training of other models on the output."),
  supported_parameters: z
    .array(z.string())
    .optional()
    .describe(
      "What the endpoint knows; settings that it lacks are not sent and declared in the receipt. Beyond the names of the request, chat endpoints may name reasoning.max_tokens, reasoning_content, reasoning_details.<format>, cache_control, prompt_cache_key, prompt_cache_options and verbosity, which most servers do not take; messages endpoints reasoning.max_tokens where the model takes a budget of thought instead of an effort, and thinking.disabled or thinking.between_tools where it can be told not to think.",
    ),
});

const model = z.strictObject({
  id: slug,
  name: z.string().min(1).optional(),
  context_length: z.int().min(1).default(128_000),
  max_output_tokens: z.int().min(1).optional(),
  input_modalities: z.array(modality).default(["text"]),
  output_modalities: z.array(modality).default(["text"]),
  endpoints: z.array(endpoint).min(1).describe("Tried in this order where none has a price."),
  scores: z.record(z.string(), z.number()).optional(),
});

const limits = z.strictObject({
  body_bytes: z.int().min(1).max(33_554_432).default(33_554_432).describe("Largest body of POST /responses."),
  streams_per_key: z
    .int()
    .min(1)
    .default(64)
    .describe("Turns that one key may have open in one gateway at a time; above it 429."),
  status_gate_ms: z
    .int()
    .min(0)
    .max(60_000)
    .default(10_000)
    .describe("How long a stream waits for its first event before 200 is sent."),
  keep_alive_ms: z
    .int()
    .min(10)
    .max(60_000)
    .default(15_000)
    .describe("Longest silence on a stream before a comment is sent."),
  turn_ms: z.int().min(1).max(3_600_000).default(600_000).describe("Time limit of a turn without a stream."),
  stream_ms: z.int().min(1).max(3_600_000).default(1_800_000).describe("Time limit of a turn with a stream."),
});

const compat = z.strictObject({
  tool_type_aliases: z
    .array(z.string().regex(/^[a-z][a-z0-9_-]*:$/, 'a prefix such as "vendor:"'))
    .max(8)
    .default([])
    .describe(
      'Prefixes that mean the same as "service:" in types of tools and items; answers keep the spelling of the request.',
    ),
  fill_defaults: z
    .boolean()
    .default(false)
    .describe("Whether unset samplers are echoed as their defaults, for clients that do not take null."),
  emit_metadata_alias: z
    .string()
    .regex(/^[a-z][a-z0-9_]*$/)
    .nullable()
    .default(null)
    .describe("A second name under which service_metadata is given."),
});

const cors = z.strictObject({
  allow_origins: z
    .array(z.union([z.literal("*"), z.url({ protocol: /^https?$/ })]))
    .default([])
    .describe("Origins whose pages may call the gateway from a browser; none by default."),
});

export const houseSchema = z.strictObject({
  providers: z.array(provider).default([]),
  models: z.array(model).default([]),
  limits: limits.prefault({}),
  compat: compat.prefault({}),
  cors: cors.prefault({}),
});

/** What the gateway reads of the file. */
const edgeSchema = z.object({
  limits: limits.prefault({}),
  compat: compat.prefault({}),
  cors: cors.prefault({}),
});

export type HouseFile = z.infer<typeof houseSchema>;
export type ProviderSettings = HouseFile["providers"][number];
export type ModelSettings = HouseFile["models"][number];
export type EndpointSettings = ModelSettings["endpoints"][number];
export type Limits = HouseFile["limits"];
export type Compat = HouseFile["compat"];
export type EdgeSettings = z.infer<typeof edgeSchema>;

export interface LoadedHouse {
  readonly file: HouseFile;
  /** Ids of providers that were left out because every variable they name is unset. */
  readonly leftOut: readonly string[];
}

/**
 * Reads the file, replaces `${VAR}` and `${file:/path}` in every string, and checks all of it.
 * A provider whose variables are all unset is left out, together with the endpoints and models that only it serves.
 * @throws ConfigError with every problem and its path
 */
export function loadHouse(path: string, environment: NodeJS.ProcessEnv): LoadedHouse {
  const raw = parse(path);
  const leftOut = new Set<string>();
  const expanded: Record<string, unknown> = { ...raw };
  if (Array.isArray(raw.providers)) {
    expanded.providers = raw.providers.filter((entry: unknown) => {
      const { unset, set } = variablesOf(entry, environment);
      const unusable = unset.length > 0 && set.length === 0;
      if (unusable) leftOut.add(String((entry as { id?: unknown }).id));
      return !unusable;
    });
  }
  if (Array.isArray(raw.models)) expanded.models = prune(raw.models, leftOut);
  const problems: string[] = [];
  const complete = expand(expanded, environment, "", problems);
  if (problems.length > 0) throw new ConfigError(path, problems);
  const file = readSettings(houseSchema, complete, path);
  problems.push(...dangling(file));
  if (problems.length > 0) throw new ConfigError(path, problems);
  return { file, leftOut: [...leftOut] };
}

/** What a process without providers reads of the file. Other sections are checked by the process that uses them. */
export const loadEdge = (path: string): EdgeSettings => readSettings(edgeSchema, parse(path), path);

function parse(path: string): Record<string, unknown> {
  const document = parseDocument(readFileSync(path, "utf8"), { prettyErrors: true });
  if (document.errors.length > 0)
    throw new ConfigError(
      path,
      document.errors.map((error) => error.message),
    );
  return (document.toJS({ maxAliasCount: 100 }) ?? {}) as Record<string, unknown>;
}

const reference = /\$\{(file:[^}]+|[A-Za-z_]\w*)\}/g;

function variablesOf(value: unknown, environment: NodeJS.ProcessEnv): { set: string[]; unset: string[] } {
  const names = [...JSON.stringify(value ?? null).matchAll(reference)].map((match) => match[1] as string);
  const set = names.filter((name) => name.startsWith("file:") || (environment[name] ?? "") !== "");
  return { set, unset: names.filter((name) => !set.includes(name)) };
}

function expand(value: unknown, environment: NodeJS.ProcessEnv, path: string, problems: string[]): unknown {
  if (typeof value === "string") {
    return value.replaceAll(reference, (_, name: string) => resolve(name, environment, path, problems));
  }
  if (Array.isArray(value)) {
    // Of several keys, those whose variable is unset are left out; a rotation of one is still a rotation.
    const present = value.filter(
      (entry) => !path.endsWith("api_keys") || variablesOf(entry, environment).unset.length === 0,
    );
    return present.map((entry, index) => expand(entry, environment, `${path}.${index}`, problems));
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [
      key,
      expand(entry, environment, path === "" ? key : `${path}.${key}`, problems),
    ]),
  );
}

function resolve(name: string, environment: NodeJS.ProcessEnv, path: string, problems: string[]): string {
  if (name.startsWith("file:")) {
    try {
      return readFileSync(name.slice(5), "utf8").trim();
    } catch {
      problems.push(`${path}: cannot read ${name.slice(5)}`);
      return "";
    }
  }
  const value = environment[name];
  if (value === undefined || value === "") problems.push(`${path}: variable ${name} is not set`);
  return value ?? "";
}

/** Before variables are replaced: what only a provider serves that is left out may name the same unset variables. */
function prune(models: readonly unknown[], leftOut: ReadonlySet<string>): unknown[] {
  return models.flatMap((entry) => {
    const endpoints = (entry as { endpoints?: unknown } | null)?.endpoints;
    if (!Array.isArray(endpoints)) return [entry];
    const left = endpoints.filter((item) => !leftOut.has(String((item as { provider?: unknown } | null)?.provider)));
    return left.length === 0 && endpoints.length > 0 ? [] : [{ ...(entry as object), endpoints: left }];
  });
}

function dangling(file: HouseFile): string[] {
  const problems: string[] = [];
  const known = new Set<string>();
  for (const [index, entry] of file.providers.entries()) {
    if (known.has(entry.id)) problems.push(`providers.${index}.id: ${entry.id} is used twice`);
    if (entry.dialect !== "echo" && entry.base_url === undefined) {
      problems.push(`providers.${index}.base_url: required for dialect ${entry.dialect}`);
    }
    known.add(entry.id);
  }
  const slugs = new Set<string>();
  for (const [index, entry] of file.models.entries()) {
    if (slugs.has(entry.id)) problems.push(`models.${index}.id: ${entry.id} is used twice`);
    slugs.add(entry.id);
    for (const [position, item] of entry.endpoints.entries()) {
      if (!known.has(item.provider)) {
        problems.push(`models.${index}.endpoints.${position}.provider: no provider is called ${item.provider}`);
      }
    }
  }
  return problems;
}
