/** Selects and sorts models by the query of GET /models. */
import type { Model } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import type { modelFilters, modelSorts } from "../../contract/catalogue/model-filters.ts";
import type { Accepted } from "@sluice/proto/lib/validation/shape.js";
import { toPublicParameters } from "./parameters.ts";
import { toAuthor } from "./parts.ts";

export type ModelQuery = Accepted<typeof modelFilters>;

/** @returns all models that match the query, sorted as it asks; the caller cuts out the page */
export function selectModels(models: readonly Model[], query: ModelQuery): Model[] {
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

function testsOf(query: ModelQuery): readonly Test[] {
  const { q, arch, context, zdr, distillable, output_modalities: output } = query;
  const found = q?.toLowerCase();
  return [
    ...(found === undefined ? [] : [({ id, name }: Model) => `${id}\n${name}`.toLowerCase().includes(found)]),
    ...(arch === undefined ? [] : [({ tokenizer }: Model) => tokenizer.toLowerCase() === arch.toLowerCase()]),
    ...someOf(query.model_authors, ({ id }) => [toAuthor(id)]),
    ...someOf(query.providers, ({ providers }) => providers),
    ...someOf(query.region, ({ regions }) => regions),
    ...allOf(query.supported_parameters, (model) =>
      toPublicParameters(model.supportedParameters, model.parametersUnknown).concat(model.supportedParameters),
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

/** A model without a known price is in no price range. */
function within(min: number | undefined, max: number | undefined, priceOf: (model: Model) => string): readonly Test[] {
  if (min === undefined && max === undefined) return [];
  return [
    (model) => {
      const price = priceOf(model);
      // Rounding corrects float errors, such as 0.1 * 3 differing from 0.3.
      const dollars = Number((Number(price) * million).toPrecision(12));
      return price !== "" && dollars >= (min ?? 0) && dollars <= (max ?? Number.POSITIVE_INFINITY);
    },
  ];
}

const cost = ({ promptPrice, completionPrice }: Model): number =>
  promptPrice === "" ? Number.POSITIVE_INFINITY : Number(promptPrice) + Number(completionPrice);

/** Values of a model by which a list is sorted, in ascending order. */
const sorts: Readonly<Record<(typeof modelSorts)[number], (model: Model) => number>> = {
  "pricing-low-to-high": (model) => Math.min(cost(model), Number.MAX_VALUE),
  "pricing-high-to-low": (model) => (model.promptPrice === "" ? Number.MAX_VALUE : -cost(model)),
  "context-high-to-low": ({ contextLength }) => -contextLength,
  newest: ({ created }) => -Number(created),
};
