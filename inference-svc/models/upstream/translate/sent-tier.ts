/** The service tier of a request, for an endpoint configured without one. */
import type { TurnRequest } from "../../../turn/request.ts";
import type { OnDropped, Target } from "../dialect.ts";

/**
 * OpenAI's names of tiers; it serves all of them at the same endpoint
 * (https://platform.openai.com/docs/api-reference/responses/create). Without a tier, the settings of the operator's
 * project apply, so "default" is sent as well.
 */
const vendorTiers: Readonly<Record<string, string>> = {
  default: "default",
  flex: "flex",
  priority: "priority",
  fast: "priority",
  scale: "scale",
  ultrafast: "priority",
};

/**
 * The tier to send to a server of OpenAI's formats: the endpoint's tier, as configured and billed, or at OpenAI itself
 * the tier of the request.
 */
export function openAiTier(
  { serviceTier: wanted }: TurnRequest,
  { tier }: Target,
  isVendor: boolean,
  onDropped: OnDropped,
): string | undefined {
  if (tier !== "default") return tier;
  if (wanted === undefined || wanted === "auto") return undefined;
  if (!isVendor) {
    dropTier(wanted, tier, onDropped);
    return undefined;
  }
  if (wanted === "ultrafast") onDropped("service_tier", "sent as priority");
  return vendorTiers[wanted];
}

/** Reports a requested tier an endpoint of the default tier does not serve; "fast" is another name of priority. */
export function dropTier(wanted: string | undefined, tier: string, onDropped: OnDropped): void {
  if (tier !== "default" || wanted === undefined || wanted === "auto" || wanted === "default") return;
  onDropped("service_tier", `no endpoint of the tier ${wanted === "fast" ? "priority" : wanted} is configured`);
}
