/** What the receipt says of the tools that the house ran. */
import type { Stage } from "../turn/scope.ts";
import type { Offer } from "./toolbox.ts";

type Offers = ReadonlyMap<string, Offer>;

const toolsOf = (offers: Offers): readonly string[] => [
  ...new Set([...offers.values()].map(({ tool }) => tool.kinds[0])),
];

/** @param steps calls that the model made @param reason why there were no more */
export const stageOf = (offers: Offers, steps: number, reason: string): Stage => ({
  type: "server_tools",
  name: "server-tools",
  summary: `${steps} ${steps === 1 ? "call" : "calls"}: ${reason.replaceAll("_", " ")}`,
  data: { mode: "sdk", tools: toolsOf(offers), steps, stop_reason: reason },
});

export const notRun = (offers: Offers): Stage => ({
  type: "server_tools",
  name: "server-tools",
  summary: "Not run: a dry run asks nobody",
  data: { mode: "sdk", tools: toolsOf(offers), steps: 0, stop_reason: "not_run" },
});
