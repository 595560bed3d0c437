/** `tools`: settings of tools not run by a model's provider. */
import { z } from "zod";

export const tools = z.strictObject({
  unavailable: z
    .enum(["drop", "refuse"])
    .default("drop")
    .describe(
      "Handling of web_search, in any spelling, when neither a provider of the model nor an engine of search.engines runs it: drop omits it and lists it in not_sent, refuse answers 400. POST /messages knows neither: there the search is offered, and each call of it fails in its result block. Other tools that no provider runs are always refused.",
    ),
});
