/** Log probabilities of the tokens of a chunk, in the form of a response. */
import { type JsonObject, isObject, objects, text } from "../json.ts";

/** @param result `{chosenCandidates, topCandidates}`: one entry of each a token */
export function logprobsOf(result: unknown): readonly JsonObject[] {
  if (!isObject(result)) return [];
  const tops = objects(result.topCandidates);
  return objects(result.chosenCandidates).map((chosen, at) => ({
    ...entry(chosen),
    top_logprobs: objects(tops[at]?.candidates).map(entry),
  }));
}

const entry = ({ token, logProbability }: JsonObject): JsonObject => ({
  token: text(token),
  bytes: [...Buffer.from(text(token))],
  logprob: typeof logProbability === "number" ? logProbability : 0,
});
