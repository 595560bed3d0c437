/**
 * `engine: native` requests the provider's own search. Sluice's tool is then replaced by the search tool providers
 * know; the plugin `web` adds the same tool.
 */
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import type { HostedTool, ToolChoice, ToolReference, TurnRequest } from "../turn/request.ts";

const ours = "service:web_search";
const theirs = "web_search";

/** @param runs whether a provider of the request runs the tool itself */
export function withProviderSearch(
  request: TurnRequest,
  runs: (tool: HostedTool, request: TurnRequest) => boolean,
): TurnRequest {
  const made = new Map<HostedTool, HostedTool>();
  for (const tool of request.tools) {
    if (tool.type !== "hosted" || !/web_search/.test(tool.kind) || !tool.json.includes('"native"')) continue;
    const converted = providerSearch(tool);
    const isRun = (entry: HostedTool) => runs(entry, replaceTools(request, new Map([[tool, entry]])));
    if (converted && isRun(converted) && !(tool.kind === ours && isRun(tool))) made.set(tool, converted);
  }
  if (made.size === 0) return request;
  const isConverted = [...made.keys()].some(({ kind }) => kind === ours);
  const { toolChoice } = request;
  return {
    ...replaceTools(request, made),
    ...(isConverted && toolChoice !== undefined && { toolChoice: choiceOf(toolChoice) }),
  };
}

const replaceTools = (request: TurnRequest, made: ReadonlyMap<HostedTool, HostedTool>): TurnRequest => ({
  ...request,
  tools: request.tools.map((tool) => (tool.type === "hosted" ? (made.get(tool) ?? tool) : tool)),
});

/** The provider's search tool, without the setting `engine`; undefined when another engine is requested. */
function providerSearch(tool: HostedTool): HostedTool | undefined {
  const fields = JSON.parse(tool.json) as JsonObject;
  const settings = tool.kind === ours ? fields["parameters"] : fields;
  if (!isObject(settings) || settings["engine"] !== "native") return undefined;
  const { engine: _, ...kept } = settings;
  if (tool.kind !== ours) return { ...tool, json: JSON.stringify(kept) };
  const { allowed_domains: allowed, excluded_domains: blocked, user_location: place, ...others } = kept;
  const json = JSON.stringify({
    type: theirs,
    ...others,
    ...(allowed || blocked ? { filters: { allowed_domains: allowed, blocked_domains: blocked } } : {}),
    ...(isObject(place) && { user_location: { ...place, type: "approximate" } }),
  });
  return { ...tool, kind: theirs, json };
}

function choiceOf(choice: ToolChoice): ToolChoice {
  if (typeof choice === "string") return choice;
  const renamed = (reference: ToolReference): ToolReference =>
    reference.type === ours ? { ...reference, type: theirs } : reference;
  return choice.type === "tool"
    ? { ...choice, tool: renamed(choice.tool) }
    : { ...choice, tools: choice.tools.map(renamed) };
}
