/** The provider's own search tool, which takes the place of Sluice's search in a request. */
import type { UserLocation, WebPlugin } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { HostedTool, TurnRequest } from "../../turn/request.ts";

const kind = "web_search";

/** The provider's search tool with the settings of the plugin `web`. */
export function nativeTool(settings: WebPlugin): HostedTool {
  const filters = {
    ...(settings.includeDomains.length > 0 && { allowed_domains: settings.includeDomains }),
    ...(settings.excludeDomains.length > 0 && { blocked_domains: settings.excludeDomains }),
  };
  const json = JSON.stringify({
    type: kind,
    ...(Object.keys(filters).length > 0 && { filters }),
    ...(settings.maxUses !== undefined && { max_uses: settings.maxUses }),
    ...(settings.maxResults !== undefined && { max_results: settings.maxResults }),
    ...(settings.userLocation && { user_location: placeOf(settings.userLocation) }),
  });
  return { type: "hosted", kind, spelling: kind, json, isOfPlugin: true };
}

/** Adds a tool to the request, unless the request has one of its kind. */
export const withTool = (request: TurnRequest, tool: HostedTool): TurnRequest =>
  request.tools.some((each) => each.type === "hosted" && each.kind.startsWith(kind))
    ? request
    : { ...request, tools: [...request.tools, tool] };

function placeOf({ city, country, region, timezone }: UserLocation): object {
  const known = Object.entries({ city, country, region, timezone }).filter(([, value]) => value !== "");
  return { type: "approximate", ...Object.fromEntries(known) };
}
