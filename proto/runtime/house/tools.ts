/** `tools`: what happens to tools that no provider of a model runs. */
import { z } from "zod";

export const tools = z.strictObject({
  unavailable: z
    .enum(["drop", "refuse"])
    .default("drop")
    .describe(
      "What becomes of web_search, in any spelling, where no provider of the model runs it: drop leaves it out and names it in not_sent, refuse answers 400. Other tools that nobody runs are always refused.",
    ),
});
