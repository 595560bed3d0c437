/** Queries of GET /models and GET /models/count. Lists are separated by commas, prices are USD per million tokens. */
import { type Shape, described, integer, number, object, string, word } from "@sluice/proto/lib/validation/shape.js";

const text = (description: string): Shape<string> => described(string({ max: 1_024 }), description);
const listed = (description: string): Shape<string> => text(`${description} A list, separated by commas.`);
const dollars = (description: string): Shape<number> =>
  described(number({ min: 0 }), `${description} USD per million tokens.`);

export const modelSorts = ["pricing-low-to-high", "pricing-high-to-low", "context-high-to-low", "newest"] as const;

const selecting = {
  q: text("Models with this in their slug or name, letters of either case."),
  model_authors: listed("Models of these authors: the slug up to its slash."),
  arch: text("Models whose tokenizer is of this family, such as GPT, letters of either case."),
  supported_parameters: listed("Models that know all of these settings."),
  input_modalities: listed("Models that read all of these."),
  output_modalities: listed("Models that produce all of these; `all` admits every model."),
  context: described(integer({ min: 0 }), "Models with a window of that many tokens at least."),
  min_price: dollars("Models whose input costs that much at least."),
  max_price: dollars("Models whose input costs that much at most."),
  min_output_price: dollars("Models whose output costs that much at least."),
  max_output_price: dollars("Models whose output costs that much at most."),
  providers: listed("Models that one of these providers serves, by id."),
  region: text("Models that a provider of this region serves."),
  zdr: described(word("true", "false"), "`true`: models that a provider serves which is declared to keep nothing."),
  distillable: described(
    word("true", "false"),
    "Whether an endpoint of the model is declared to allow that other models learn from its output.",
  ),
} as const;

/** Parameters for selecting models. */
export const modelSelection = object(selecting);

/** Parameters for selecting, sorting and paging models. */
export const modelFilters = object({
  ...selecting,
  sort: described(
    word(...modelSorts),
    "By the price of input and output together, the window, or the day on which they came out; models of which that is not known come last.",
  ),
  offset: described(integer({ min: 0 }), "How many to skip."),
  limit: described(integer({ min: 1, max: 1_000 }), "How many to list at most; all when absent."),
});
