/** How tokens are drawn (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InferenceConfiguration.html). */
import type { TurnRequest } from "../../turn/request.ts";
import type { Lose } from "../dialect.ts";
import type { JsonObject } from "../json.ts";
import { samplers } from "../messages/samplers.ts";
import type { Family } from "./family.ts";

export interface Drawing {
  readonly inferenceConfig: JsonObject;
  /** Of the model. */
  readonly fields: JsonObject;
}

/** @param thinks whether thought was asked for */
export function drawing(request: TurnRequest, family: Family, thinks: boolean, lose: Lose): Drawing {
  if (family === "anthropic") {
    const { temperature, top_p: topP, top_k } = samplers(request, thinks, lose);
    return { inferenceConfig: { temperature, topP }, fields: { top_k } };
  }
  const { temperature, topP, topK } = request;
  if (temperature !== undefined && temperature > 1) lose("temperature", "sent as 1, which is the most");
  if (topK !== undefined && family !== "nova") lose("top_k", "the model is not known to take it");
  return {
    inferenceConfig: { temperature: temperature === undefined ? undefined : Math.min(1, temperature), topP },
    fields: topK !== undefined && family === "nova" ? { inferenceConfig: { topK } } : {},
  };
}
