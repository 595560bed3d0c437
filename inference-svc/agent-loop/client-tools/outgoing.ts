/** Converts the client tools of a request for an endpoint: unchanged if the provider supports them, as functions otherwise. */
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import type { Endpoint } from "../../models/routing/catalog.ts";
import type { DialectSupport } from "../../models/routing/choose/candidates.ts";
import { bareRequest } from "../../turn/bare-request.ts";
import { hasHostedTools } from "../../turn/item-kinds.ts";
import { requestLayer } from "../../turn/layer-builders.ts";
import type { HostedTool, InputItem, Tool, ToolChoice, ToolReference, TurnRequest } from "../../turn/request.ts";
import type { Layer } from "../../turn/turn.ts";
import { toFunctionCall, toFunctionOutput } from "../../models/upstream/translate/tool-history.ts";
import { clientFunctions, findClientTool } from "./client-tools.ts";

/** Whether an endpoint takes a tool in its own form. */
type Takes = (tool: HostedTool) => boolean;

type Replacements = ReadonlyMap<HostedTool, Tool>;
const none: Replacements = new Map();

interface EndpointKit {
  readonly dialects: DialectSupport;
}

/** Converts client tools for one endpoint. Must be its first layer: the layers after it then see the tools as sent to the provider. */
export const clientToolsLayer = {
  id: "client-tools",
  applies: hasHostedTools,
  layer: (endpoint: Endpoint, { dialects }: EndpointKit): Layer => {
    const takes = takenBy(endpoint, dialects);
    return requestLayer((request, scope) => {
      const sent = replaceClientTools(request, takes);
      scope.state.get(clientFunctions).areSent = hasClientFunctions(request, sent);
      return sent;
    });
  },
};

/** Whether a client tool of the request is sent to the provider as a function. */
const hasClientFunctions = (request: TurnRequest, { tools }: TurnRequest): boolean =>
  request.tools.some((tool, index) => tool.type === "hosted" && tools[index]?.type === "function");

/** Dialect support for requests whose client tools may be sent as functions. */
export function supportClientTools(support: DialectSupport): DialectSupport {
  const known = new WeakMap<Endpoint, Takes>();
  const outgoing = (endpoint: Endpoint, request: TurnRequest): TurnRequest => {
    let takes = known.get(endpoint);
    if (takes === undefined) known.set(endpoint, (takes = takenBy(endpoint, support)));
    return replaceClientTools(request, takes);
  };
  return {
    refusal: (endpoint, request) => support.refusal(endpoint, outgoing(endpoint, request)),
    droppedFields: (endpoint, request) => support.droppedFields(endpoint, outgoing(endpoint, request)),
    dropsSearch: (endpoint, request) => support.dropsSearch?.(endpoint, outgoing(endpoint, request)) === true,
  };
}

/** Caches the answers by tool type, of which there are few. */
function takenBy(endpoint: Endpoint, support: DialectSupport): Takes {
  const known = new Map<string, boolean>();
  return (tool) => {
    const key = `${tool.kind} ${tool.spelling}`;
    let isTaken = known.get(key);
    if (isTaken === undefined) {
      isTaken = support.refusal(endpoint, bareRequest({ models: [endpoint.model], tools: [tool] })) === undefined;
      known.set(key, isTaken);
    }
    return isTaken;
  };
}

/** Cache of converted requests, by the form of their client tools: every endpoint of a model needs the same request several times. */
const replaced = new WeakMap<TurnRequest, Map<string, TurnRequest>>();
/** Cache of converted tool lists, which the steps of an agent share. */
const replacedTools = new WeakMap<readonly Tool[], Map<string, readonly Tool[]>>();

function replaceClientTools(request: TurnRequest, takes: Takes): TurnRequest {
  const replacements = findReplacements(request.tools, takes);
  if (replacements.size === 0) return request;
  const form = [...replacements].map(([{ kind }, { type }]) => `${kind} ${type}`).join();
  return remember(replaced, request, form, () => ({
    ...request,
    tools: remember(replacedTools, request.tools, form, () =>
      request.tools.map((tool) => (tool.type === "hosted" && replacements.get(tool)) || tool),
    ),
    input: replaceItems(request.input, replacements),
    ...(request.toolChoice !== undefined && { toolChoice: replaceChoice(request.toolChoice, replacements) }),
  }));
}

function remember<Key extends object, Value>(
  known: WeakMap<Key, Map<string, Value>>,
  key: Key,
  form: string,
  make: () => Value,
): Value {
  let forms = known.get(key);
  if (forms === undefined) known.set(key, (forms = new Map<string, Value>()));
  let value = forms.get(form);
  if (value === undefined) forms.set(form, (value = make()));
  return value;
}

function findReplacements(tools: readonly Tool[], takes: Takes): Replacements {
  let replacements: Map<HostedTool, Tool> | undefined;
  for (const tool of tools) {
    if (tool.type !== "hosted" || tool.asFunction === undefined) continue;
    const form = outgoingForm(tool, tool.asFunction, takes);
    if (form !== tool) (replacements ??= new Map()).set(tool, form);
  }
  return replacements ?? none;
}

/** @param asFunction the tool as a function */
function outgoingForm(tool: HostedTool, asFunction: Tool, takes: Takes): Tool {
  const engine = findEngine(tool);
  const kind = findClientTool(tool.kind)?.kinds[0] ?? tool.kind;
  const native: HostedTool =
    kind === tool.kind ? tool : { type: "hosted", kind, spelling: kind, json: `{"type":"${kind}"}` };
  if (engine !== "service") {
    if (takes(tool)) return tool;
    if (takes(native)) return native;
  }
  return engine === "native" ? tool : asFunction;
}

/** The parameter `engine` of `service:apply_patch`. */
function findEngine({ json }: HostedTool): unknown {
  const { parameters } = JSON.parse(json) as { readonly parameters?: unknown };
  return isObject(parameters) ? parameters["engine"] : undefined;
}

/** Converts calls of client tools, and their outputs, into calls and outputs of functions. */
function replaceItems(input: readonly InputItem[], replacements: Replacements): readonly InputItem[] {
  const names = new Map<string, string>();
  const outputTypes = new Set<string>();
  for (const [{ kind }, form] of replacements) {
    const tool = findClientTool(kind);
    if (tool === undefined || form.type !== "function") continue;
    names.set(tool.callType, form.name);
    outputTypes.add(tool.outputType);
  }
  /** Call ids by item id: the output of a local shell may name the item of its call instead of the call id. */
  const callIds = new Map<unknown, unknown>();
  const replaceItem = (item: InputItem): InputItem => {
    const name = names.get(item.type);
    const call = name === undefined ? undefined : toFunctionCall(item);
    if (call) {
      callIds.set(item["id"], call.callId);
      return { type: "function_call", call_id: call.callId, name, arguments: call.argumentsJson, status: "completed" };
    }
    const answer = outputTypes.has(item.type) ? toFunctionOutput(item) : undefined;
    if (answer === undefined) return item;
    return {
      type: "function_call_output",
      call_id: callIds.get(answer.callId) ?? answer.callId,
      output: answer.output,
    };
  };
  return names.size === 0 ? input : input.map(replaceItem);
}

function replaceChoice(choice: ToolChoice, replacements: Replacements): ToolChoice {
  if (typeof choice === "string") return choice;
  const replaceReference = (reference: ToolReference): ToolReference => {
    const [, form] = [...replacements].find(([{ kind }]) => kind === reference.type) ?? [];
    if (form === undefined) return reference;
    return form.type === "hosted" ? { type: form.kind } : { type: "function", name: form.name };
  };
  if (choice.type === "tool") return { ...choice, tool: replaceReference(choice.tool) };
  return { ...choice, tools: choice.tools.map(replaceReference) };
}
