/** Parameters shared by several tools, with their limits. */
import {
  array,
  boolean,
  constant,
  described,
  integer,
  named,
  nullable,
  number,
  object,
  string,
  tagged,
  word,
} from "../../lib/validation/shape.ts";
import type { JsonObject } from "../../lib/validation/fields.ts";
import type { Problems } from "../../lib/validation/problems.ts";
import { effort } from "../request/settings.ts";

export const atLeastOne = integer({ min: 1 });
export const maxCompletionTokens = described(atLeastOne, "Tokens that one answer may have.");
export const temperature = number({ min: 0, max: 2 });
export const toolReasoning = object({ effort: nullable(effort), max_tokens: nullable(atLeastOne) });
export const analysisModels = described(
  array(string({ min: 1 }), { min: 1, max: 8, entry: "model" }),
  "Slugs of the models that answer in parallel.",
);

export const searchEngine = described(
  word("auto", "native", "searxng", "tavily", "brave", "exa", "firecrawl", "perplexity", "parallel"),
  "auto when absent: the provider's own search where it has one, else the engine of this service.",
);
export const maxResults = integer({ min: 1, max: 25 });
export const searchContextSize = word("low", "medium", "high");

/** A pattern without any matching address would exclude nothing. */
const domain = string({
  min: 1,
  pattern: {
    form: /^(?:[Hh][Tt][Tt][Pp][Ss]?:\/\/)?(?:\*\.)?(?:[^\s*/?#@:\\<>^|%[\]]+|\[[\da-fA-F:.]+\])(?::\d{1,5})?(?:[/?#][^\s*]*)?$/,
    message: "must be a domain such as example.com, *.example.com or example.com/docs",
  },
});
export const domains = described(array(domain), "Domains such as example.com, *.example.com or host/path.");

/** `defer_loading` of tool search, which must stay false because no other tool would find it. */
export const neverDeferred = nullable(constant(false, "must be false: tool search itself cannot be deferred"));

export const locationFields = {
  city: nullable(string()),
  country: nullable(string()),
  region: nullable(string()),
  timezone: nullable(string()),
};
export const userLocation = object(
  { type: word("approximate"), ...locationFields },
  { description: "About where the user is." },
);
export const typedUserLocation = object(
  { type: word("approximate"), ...locationFields },
  { required: ["type"], description: "About where the user is." },
);

const handles = array(string({ min: 1 }), { max: 20, entry: "handle" });
const day = string({ pattern: { form: /^\d{4}-\d{2}-\d{2}$/, message: "must be a date such as 2026-01-31" } });
const set = (object: JsonObject, name: string): boolean => object[name] !== undefined && object[name] !== null;

export const xSearch = named(
  "XSearch",
  object(
    {
      allowed_x_handles: nullable(handles),
      excluded_x_handles: nullable(handles),
      from_date: nullable(day),
      to_date: nullable(day),
      enable_image_understanding: nullable(boolean),
      enable_video_understanding: nullable(boolean),
    },
    {
      description: "Search in posts. allowed_x_handles and excluded_x_handles exclude each other.",
      also: (object, path, problems: Problems) => {
        if (!set(object, "allowed_x_handles") || !set(object, "excluded_x_handles")) return;
        problems.add(`${path}.excluded_x_handles`, "not together with allowed_x_handles");
      },
    },
  ),
);

const fileIds = array(string({ min: 1 }));

const networkPolicy = tagged(
  "type",
  {
    disabled: object({ type: word("disabled") }, { required: ["type"] }),
    allowlist: object(
      {
        type: word("allowlist"),
        allowed_domains: array(string({ min: 1 }), { min: 1, max: 50, entry: "domain" }),
      },
      { required: ["type", "allowed_domains"] },
    ),
  },
  { listed: true },
);

const memoryLimit = word("1g", "4g", "16g", "64g");

export const autoContainer = object(
  {
    type: word("auto"),
    file_ids: nullable(fileIds),
    memory_limit: nullable(memoryLimit),
    network_policy: nullable(networkPolicy),
  },
  { required: ["type"] },
);

const containerAuto = object(
  {
    type: word("container_auto"),
    file_ids: nullable(fileIds),
    memory_limit: nullable(memoryLimit),
    network_policy: nullable(networkPolicy),
  },
  { required: ["type"] },
);

const reference = (id: ReturnType<typeof string>) =>
  object(
    {
      type: word("container_reference"),
      container_id: id,
      file_ids: nullable(fileIds),
      network_policy: nullable(networkPolicy),
    },
    { required: ["type", "container_id"] },
  );

/** Container of a shell of the service. */
export const environment = tagged(
  "type",
  {
    container_auto: containerAuto,
    container_reference: reference(
      string({ pattern: { form: /^[\w-]{1,20}$/, message: "1 to 20 letters, digits, _ and -" } }),
    ),
  },
  { listed: true },
);

/** Container of a provider's shell, by ids of the provider. */
export const nativeEnvironment = tagged(
  "type",
  {
    container_auto: containerAuto,
    container_reference: reference(string({ min: 1 })),
    local: object({ type: word("local") }, { required: ["type"] }),
  },
  { listed: true },
);

function isTimeZone(name: string): boolean {
  // Newer engines also accept offsets such as +01:00, which are not time zone names.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

export const timezone = {
  ...described(string(), "IANA name such as Europe/Vienna; UTC when absent."),
  check: (value: unknown, path: string, problems: Problems) => {
    if (typeof value !== "string") problems.add(path, "must be a string");
    else if (!isTimeZone(value)) problems.add(path, "must be an IANA time zone such as Europe/Vienna");
  },
};
