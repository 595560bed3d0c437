/** A provider called through a package of the AI SDK. */
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import type { ProviderSettings } from "@sluice/proto/config/config-file.js";
import { throwIfAborted } from "../../../turn/abort.ts";
import { withExplainedFailure } from "../../../turn/answer-kinds.ts";
import type { TurnRequest } from "../../../turn/request.ts";
import type { DroppedField } from "../../../turn/trace.ts";
import type { Turn } from "../../../turn/turn.ts";
import { buildKeyReport } from "../credentials/key-report.ts";
import { KeyRing } from "../credentials/keys.ts";
import type { Refusal, Target } from "../dialect.ts";
import type { JsonObject } from "../json.ts";
import type { Destination, RequestPreview, Provider, ProviderDependencies } from "../provider.ts";
import { redactBody } from "../redacted-body.ts";
import { noHostedTools, refuseInput, refuseTools, unsupportedMessage } from "../translate/unsupported-inputs.ts";
import { buildTraceHeaders } from "../transport/trace-headers.ts";
import { openModels } from "./load.ts";
import { filePart } from "./parts.ts";
import { callOptions, sdkNames } from "./request.ts";
import { type ModelCall, runModel } from "./run.ts";
import { SdkReader } from "./stream.ts";
import { withPackedThoughts } from "../events/packed-thoughts.ts";

const targetOf = ({ upstreamModel, tier }: Destination): Target => ({ upstreamModel, tier, original: false });

/** Opens a provider. @throws ConfigError when its package was not loaded */
export function sdkProvider(
  settings: ProviderSettings,
  { version, packages, log, now }: ProviderDependencies,
): Provider {
  const { api_keys = [], timeouts } = settings;
  const { modelOf, version: sdkVersion } = openModels(settings, packages, version);
  const keys = new KeyRing(api_keys, now);
  const noteKey = buildKeyReport(settings.id, keys, log);

  function turn(destination: Destination): Turn {
    const { upstreamModel, tier } = destination;
    return (request, scope) => {
      const { trace, signal } = scope;
      throwIfAborted(signal);
      const onDropped = (path: string, reason: string) => void trace.droppedFields.push({ path, reason });
      const options = callOptions(request, targetOf(destination), onDropped, sdkVersion);
      const key = keys.take(upstreamModel);
      const call: ModelCall = {
        model: () => modelOf(upstreamModel, key.secret),
        options: settings.trace_context ? { ...options, headers: buildTraceHeaders(scope) } : options,
        timeouts,
        deadline: scope.attempt,
        signal,
        held: scope.held,
        stream: request.stream,
        reader: (emit) =>
          new SdkReader(request, tier, withPackedThoughts(request, emit), (feature, details) =>
            onDropped(pathOf(feature), details),
          ),
        sent: (body) => {
          if (request.echoUpstreamBody && request.stream) trace.bodies.push(bodyJson(body));
        },
        reported: (usage) => trace.report(usage),
        abandoned: () => trace.abandon(),
      };
      const explain = (error: unknown): Fault => {
        const failure = Fault.from(error);
        noteKey(key, upstreamModel, failure);
        return failure;
      };
      return withExplainedFailure(() => runModel(call), explain);
    };
  }

  /** The request as a preview shows it: the options of the call, because the body is known only once the package has sent it. */
  function preview(destination: Destination, request: TurnRequest): RequestPreview {
    const droppedFields: DroppedField[] = [];
    const onDropped = (path: string, reason: string) => void droppedFields.push({ path, reason });
    const options = callOptions(request, targetOf(destination), onDropped, sdkVersion);
    return { droppedFields, bodyJson: bodyJson(options) };
  }

  return {
    turn,
    preview,
    rest: ({ upstreamModel }) => keys.rest(upstreamModel),
    droppedFields: (destination, request) => preview(destination, request).droppedFields,
    refusal: (_, request) => refuseSdk(request),
  };
}

/** Paths in the request, by the names of settings in a package's warnings. */
const paths: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(sdkNames).map(([path, name]) => [name, path])),
  responseFormat: "text.format",
  reasoning: "reasoning.effort",
  toolChoice: "tool_choice",
};

const pathOf = (feature: string): string => paths[feature] ?? feature;

const bodyJson = (body: unknown): string => redactBody(typeof body === "string" ? body : JSON.stringify(body ?? {}));

export function refuseSdk(request: TurnRequest): Refusal | undefined {
  const refusal = refuseTools(request, noHostedTools) ?? refuseInput(request.input, partRefusal);
  if (refusal) return refusal;
  return request.outputModalities.includes("image")
    ? { path: "modalities", message: "no provider of this model gives images" }
    : undefined;
}

/**
 * Why a part cannot be sent. Media given by URL are refused, so Sluice downloads them safely: many packages would fetch
 * any address, or pass it on unread.
 */
function partRefusal(part: JsonObject): string | undefined {
  switch (part.type) {
    case "input_image":
      return filePart(part) ? undefined : unsupportedMessage("images that are not data URLs");
    case "input_file":
      return filePart(part) ? undefined : unsupportedMessage("files without file_data");
    case "input_video":
      return unsupportedMessage("video");
    case "encrypted_content":
      return unsupportedMessage("encrypted content");
    default:
      return undefined;
  }
}
