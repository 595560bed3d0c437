/** A provider that is asked through a package of the AI SDK. */
import { Fault } from "@sluice/proto/runtime/fault.js";
import type { ProviderSettings } from "@sluice/proto/runtime/house-file.js";
import { throwIfAborted } from "../../turn/abort.ts";
import type { TurnRequest } from "../../turn/request.ts";
import type { Loss } from "../../turn/scope.ts";
import type { Patience, Turn } from "../../turn/turn.ts";
import type { Target } from "../dialect.ts";
import { keyNotes } from "../key-notes.ts";
import { KeyRing } from "../keys.ts";
import type { Destination, Provider, Surroundings, Told } from "../provider.ts";
import { redacted } from "../redacted.ts";
import { toldTrace } from "../told-trace.ts";
import { modelsOf } from "./load.ts";
import { callOptions } from "./options.ts";
import { sdkRefusal } from "./refusal.ts";
import { runModel } from "./run.ts";
import { SdkReader } from "./stream.ts";

const targetOf = ({ upstreamModel, tier }: Destination): Target => ({ upstreamModel, tier, original: false });

/** @throws ConfigError when the package has not been loaded */
export function sdkProvider(settings: ProviderSettings, { version, packages, log, now }: Surroundings): Provider {
  const { api_keys = [], timeouts } = settings;
  const { modelOf, version: sdkVersion } = modelsOf(settings, packages, version);
  const keys = new KeyRing(api_keys, now);
  const noteKey = keyNotes(settings.id, keys, log);

  function turn(destination: Destination, patience: Patience): Turn {
    const { upstreamModel, tier } = destination;
    return async (request, scope) => {
      const { trace, signal } = scope;
      throwIfAborted(signal);
      const lose = (path: string, reason: string) => void trace.losses.push({ path, reason });
      const options = callOptions(request, targetOf(destination), lose, sdkVersion);
      const key = keys.take(upstreamModel);
      try {
        return await runModel({
          model: () => modelOf(upstreamModel, key.secret),
          options: settings.trace_context ? { ...options, headers: toldTrace(scope) } : options,
          timeouts,
          patience,
          signal,
          stream: request.stream,
          reader: (emit) => new SdkReader(request, tier, emit, (feature, details) => lose(pathOf(feature), details)),
          asked: (body) => {
            if (request.echoUpstreamBody && request.stream) trace.bodies.push(bodyJson(body));
          },
          reported: (usage) => trace.report(usage),
          abandoned: () => trace.abandon(),
        });
      } catch (error) {
        const failure = Fault.from(error);
        noteKey(key, upstreamModel, failure);
        throw failure;
      }
    };
  }

  /** What the package makes of it is known only when it is asked. */
  function told(destination: Destination, request: TurnRequest): Told {
    const losses: Loss[] = [];
    const lose = (path: string, reason: string) => void losses.push({ path, reason });
    const options = callOptions(request, targetOf(destination), lose, sdkVersion);
    return { losses, bodyJson: bodyJson(options) };
  }

  return {
    turn,
    told,
    rest: ({ upstreamModel }) => keys.rest(upstreamModel),
    losses: (destination, request) => told(destination, request).losses,
    refusal: (_, request) => sdkRefusal(request),
  };
}

/** As in the request, of what packages say that they leave out. */
const paths: Readonly<Record<string, string>> = {
  topP: "top_p",
  topK: "top_k",
  frequencyPenalty: "frequency_penalty",
  presencePenalty: "presence_penalty",
  maxOutputTokens: "max_output_tokens",
  responseFormat: "text.format",
  reasoning: "reasoning.effort",
  toolChoice: "tool_choice",
};

const pathOf = (feature: string): string => paths[feature] ?? feature;

const bodyJson = (body: unknown): string => redacted(typeof body === "string" ? body : JSON.stringify(body ?? {}));
