/** Rate limits by model: entries of a key, or of a workspace for all its keys together. */
import { create } from "@bufbuild/protobuf";
import { type ModelLimit, type ModelLimits, ModelLimitsSchema } from "../../gen/sluice/admin/v1/access_service_pb.ts";
import {
  maxConcurrentRequests,
  maxRequestsPerDay,
  maxRequestsPerMinute,
  maxTokensPerDay,
  maxTokensPerMinute,
} from "../../lib/limits/settings.ts";
import { type JsonObject, isObject } from "../../lib/validation/fields.ts";
import type { Problems } from "../../lib/validation/problems.ts";
import { array, childPath, described, integer, nullable, object, string } from "../../lib/validation/shape.ts";

/** An entry; limits that are not set are absent. */
export interface ModelLimitJson {
  readonly models: readonly string[];
  readonly requests_per_minute?: number;
  readonly tokens_per_minute?: number;
  readonly requests_per_day?: number;
  readonly tokens_per_day?: number;
  readonly concurrent_requests?: number;
}

/** Entries in the order in which they are shown; at least one. */
export type ModelLimitsJson = readonly ModelLimitJson[];

const limit = (max: number, description: string) => described(nullable(integer({ min: 1, max })), description);

/** Every limit of an entry, in the order in which they are shown. */
const limits = {
  requests_per_minute: limit(
    maxRequestsPerMinute,
    "Requests that use one of the models: as many at once, then evenly.",
  ),
  tokens_per_minute: limit(maxTokensPerMinute, "Tokens of input and output together, counted when a response ends."),
  requests_per_day: limit(maxRequestsPerDay, "As a minute's, over 24 hours: as many at once, then evenly."),
  tokens_per_day: limit(maxTokensPerDay, "As a minute's, over 24 hours."),
  concurrent_requests: limit(maxConcurrentRequests, "Requests that run at a time."),
};

const limitNames = Object.keys(limits) as readonly (keyof typeof limits)[];

const models = described(
  array(string({ min: 1, max: 256, identifier: true }), { min: 1, max: 100, entry: "model" }),
  "Slugs of models, in which `*` stands for any characters; they share the limits.",
);

function checkLimits(entry: JsonObject, path: string, problems: Problems): void {
  if (limitNames.every((name) => (entry[name] ?? null) === null)) {
    problems.add(path, `needs a limit: ${limitNames.join(", ")}`);
  }
}

/**
 * Name under which the use of an entry's models is counted. It does not depend on the order of the globs or on the
 * limits, so a changed limit keeps its counts.
 */
export const modelsName = (names: readonly string[]): string => [...new Set(names)].toSorted().join(" ");

function checkDistinct(entries: readonly unknown[], path: string, problems: Problems): void {
  const seen = new Set<string>();
  for (const [index, entry] of entries.entries()) {
    const given = isObject(entry) ? entry["models"] : undefined;
    if (!Array.isArray(given) || !given.every((name) => typeof name === "string")) continue;
    const name = modelsName(given);
    if (seen.has(name)) problems.add(childPath(childPath(path, index), "models"), "another entry has the same models");
    seen.add(name);
  }
}

/** Field for the limits of a key or a workspace; null clears them. @param whose noun for the description */
export const modelLimitsField = (whose: string) =>
  described(
    nullable(
      array(object({ models, ...limits }, { required: ["models"], strict: true, also: checkLimits }), {
        max: 20,
        entry: "entry",
        also: checkDistinct,
      }),
    ),
    `${whose} A request whose model is at a limit gets 429, or the next of its models. Given as a whole. Null: none.`,
  );

export const shownModelLimits = described(
  nullable(array(object({ models, ...limits }, { required: ["models"] }))),
  "Limits of models; null: none.",
);

/**
 * The entries without absent limits, with fields in a fixed order; null for none. @param given accepted by its shape
 */
export function storedModelLimits(given: unknown): ModelLimitsJson | null {
  if (!Array.isArray(given) || given.length === 0) return null;
  return given.map((entry: JsonObject) => {
    const present = limitNames.flatMap((name) =>
      typeof entry[name] === "number" ? [[name, entry[name]] as const] : [],
    );
    return { models: entry["models"] as string[], ...Object.fromEntries(present) };
  });
}

/** Converts the entries to a message. */
export const modelLimitsMessage = (given: ModelLimitsJson): ModelLimits =>
  create(ModelLimitsSchema, {
    entries: given.map((entry) => ({
      models: [...entry.models],
      ...(entry.requests_per_minute !== undefined && { requestsPerMinute: entry.requests_per_minute }),
      ...(entry.tokens_per_minute !== undefined && { tokensPerMinute: entry.tokens_per_minute }),
      ...(entry.requests_per_day !== undefined && { requestsPerDay: entry.requests_per_day }),
      ...(entry.tokens_per_day !== undefined && { tokensPerDay: BigInt(entry.tokens_per_day) }),
      ...(entry.concurrent_requests !== undefined && { concurrentRequests: entry.concurrent_requests }),
    })),
  });

/** Converts a message to its entries; null for none. */
export const modelLimitsJson = (message: ModelLimits | undefined): ModelLimitsJson | null =>
  storedModelLimits(message?.entries.map(entryJson));

const entryJson = (entry: ModelLimit): JsonObject => ({
  models: entry.models,
  requests_per_minute: entry.requestsPerMinute,
  tokens_per_minute: entry.tokensPerMinute,
  requests_per_day: entry.requestsPerDay,
  tokens_per_day: entry.tokensPerDay === undefined ? undefined : Number(entry.tokensPerDay),
  concurrent_requests: entry.concurrentRequests,
});
