/** The query of GET /models: which models, in which order, which page of them. */
import type { Model } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { type modelSorts, modelFilters } from "@sluice/proto/contract/model-filters.js";
import type { ObjectShape } from "@sluice/proto/runtime/validation/shape.js";
import { checked } from "@sluice/proto/runtime/validation/problems.js";
import { parametersOf } from "./parameters.ts";
import { authorOf } from "./parts.ts";

export interface Query {
  readonly q?: string;
  readonly model_authors?: string;
  readonly arch?: string;
  readonly supported_parameters?: string;
  readonly input_modalities?: string;
  readonly output_modalities?: string;
  readonly context?: number;
  readonly min_price?: number;
  readonly max_price?: number;
  readonly min_output_price?: number;
  readonly max_output_price?: number;
  readonly providers?: string;
  readonly region?: string;
  readonly zdr?: "true" | "false";
  readonly distillable?: "true" | "false";
  readonly sort?: (typeof modelSorts)[number];
  readonly offset?: number;
  readonly limit?: number;
}

const numeric = new Set(
  Object.entries(modelFilters.fields).flatMap(([name, shape]) =>
    ["integer", "number"].includes(String(shape.schema(new Map())["type"])) ? [name] : [],
  ),
);

/** An empty value is unset, and what is no filter is ignored. @throws Fault INVALID_REQUEST naming every parameter that is wrong */
export function readQuery(url: string, filters: ObjectShape): Query {
  const at = url.indexOf("?");
  const given = new URLSearchParams(at === -1 ? "" : url.slice(at + 1));
  const query: Record<string, unknown> = {};
  for (const [name, value] of given) {
    if (value === "" || !Object.hasOwn(filters.fields, name)) continue;
    query[name] = numeric.has(name) && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;
  }
  checked((problems) => filters.check(query, "", problems));
  return query;
}

/** Those that the query means, in its order; not yet a page. */
export function select(models: readonly Model[], query: Query): Model[] {
  const tests = testsOf(query);
  const selected = models.filter((model) => tests.every((passes) => passes(model)));
  const sort = query.sort && sorts[query.sort];
  return sort ? selected.toSorted((a, b) => sort(a) - sort(b)) : selected;
}

type Test = (model: Model) => boolean;

const listOf = (text: string): string[] =>
  text
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");

const someOf = (text: string | undefined, valuesOf: (model: Model) => readonly string[]): Test[] => {
  if (text === undefined) return [];
  const wanted = listOf(text);
  return [(model) => valuesOf(model).some((value) => wanted.includes(value))];
};

const allOf = (text: string | undefined, valuesOf: (model: Model) => readonly string[]): Test[] => {
  if (text === undefined) return [];
  const wanted = listOf(text);
  return [(model) => wanted.every((value) => valuesOf(model).includes(value))];
};

function testsOf(query: Query): readonly Test[] {
  const { q, arch, context, zdr, distillable, output_modalities: output } = query;
  const found = q?.toLowerCase();
  return [
    ...(found === undefined ? [] : [({ id, name }: Model) => `${id}\n${name}`.toLowerCase().includes(found)]),
    ...(arch === undefined ? [] : [({ tokenizer }: Model) => tokenizer.toLowerCase() === arch.toLowerCase()]),
    ...someOf(query.model_authors, ({ id }) => [authorOf(id)]),
    ...someOf(query.providers, ({ providers }) => providers),
    ...someOf(query.region, ({ regions }) => regions),
    ...allOf(query.supported_parameters, (model) =>
      parametersOf(model.supportedParameters, model.parametersUnknown).concat(model.supportedParameters),
    ),
    ...allOf(query.input_modalities, ({ inputModalities }) => inputModalities),
    ...allOf(output === "all" ? undefined : output, ({ outputModalities }) => outputModalities),
    ...(context === undefined ? [] : [({ contextLength }: Model) => contextLength >= context]),
    ...within(query.min_price, query.max_price, ({ promptPrice }) => promptPrice),
    ...within(query.min_output_price, query.max_output_price, ({ completionPrice }) => completionPrice),
    ...(zdr === "true" ? [({ zeroRetention }: Model) => zeroRetention] : []),
    ...(distillable === undefined ? [] : [(model: Model) => model.distillable === (distillable === "true")]),
  ];
}

const million = 1_000_000;

/** What has no known price is neither cheap nor dear. */
function within(
  least: number | undefined,
  most: number | undefined,
  priceOf: (model: Model) => string,
): readonly Test[] {
  if (least === undefined && most === undefined) return [];
  return [
    (model) => {
      const price = priceOf(model);
      // Floats: 0.1 * 3 is not 0.3, and nobody means that.
      const dollars = Number((Number(price) * million).toPrecision(12));
      return price !== "" && dollars >= (least ?? 0) && dollars <= (most ?? Number.POSITIVE_INFINITY);
    },
  ];
}

const cost = ({ promptPrice, completionPrice }: Model): number =>
  promptPrice === "" ? Number.POSITIVE_INFINITY : Number(promptPrice) + Number(completionPrice);

/** The least first. */
const sorts: Readonly<Record<(typeof modelSorts)[number], (model: Model) => number>> = {
  "pricing-low-to-high": (model) => Math.min(cost(model), Number.MAX_VALUE),
  "pricing-high-to-low": (model) => (model.promptPrice === "" ? Number.MAX_VALUE : -cost(model)),
  "context-high-to-low": ({ contextLength }) => -contextLength,
  newest: ({ created }) => -Number(created),
};
