/** Writes the members of `usage` that all API formats have: the cost, and the use of server tools. */
import type { Cost, ServerToolUse, Usage } from "../../gen/sluice/inference/v1/turn_pb.ts";
import { toDollars } from "../ledger/money.ts";

/** The members as JSON, each with a comma before it. */
export const chargeMembers = ({ estimated, cost, serverToolUse }: Usage): string =>
  `,"is_byok":false${estimated ? ',"is_estimated":true' : ""}${cost ? costMembers(cost) : ""}` +
  (serverToolUse ? `,"server_tool_use_details":${serverToolUseJson(serverToolUse)}` : "");

/** Cost of the turn in USD. */
export const totalCost = ({ inputPicoUsd, outputPicoUsd, serverToolsPicoUsd }: Cost): number =>
  toDollars(inputPicoUsd + outputPicoUsd + serverToolsPicoUsd);

/** The cost in USD as JSON members; it consists of the providers' prices only. */
function costMembers(cost: Cost): string {
  const { inputPicoUsd, outputPicoUsd, serverToolsPicoUsd } = cost;
  return (
    `,"cost":${totalCost(cost)}` +
    `,"cost_details":{"upstream_inference_cost":${toDollars(inputPicoUsd + outputPicoUsd)}` +
    `,"upstream_inference_input_cost":${toDollars(inputPicoUsd)}` +
    `,"upstream_inference_output_cost":${toDollars(outputPicoUsd)}` +
    `${serverToolsPicoUsd > 0n ? `,"server_tool_cost":${toDollars(serverToolsPicoUsd)}` : ""}}`
  );
}

const serverToolUseJson = (use: ServerToolUse): string =>
  JSON.stringify({
    web_search_requests: use.webSearchRequests,
    tool_calls_requested: use.toolCallsRequested,
    tool_calls_executed: use.toolCallsExecuted,
  });
