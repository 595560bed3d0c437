/** Embed: computes the vectors of texts, for clients with an API key and for Sluice's gateways. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type EmbedRequest,
  type EmbedResponse,
  EmbedResponseSchema,
} from "@sluice/proto/gen/sluice/inference/v1/embed_pb.js";
import type { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { newId } from "@sluice/proto/lib/ids/id.js";
import type { Admission } from "@sluice/proto/lib/limits/limiter.js";
import { callerKeyHash, isServiceToken, requestIdIn, serviceTokenHeader } from "@sluice/proto/lib/rpc/caller.js";
import { traceHeadersOf } from "@sluice/proto/lib/tracing/rpc.js";
import { overloadedFault } from "../../engine/admission.ts";
import type { CurrentConfig } from "../../engine/current-config.ts";
import { ForwardedAnswer } from "../../turn/answer-kinds.ts";
import { TurnAbort } from "../../turn/signal.ts";
import type { Answer, Batch, Turn } from "../../turn/turn.ts";
import { readVectors } from "../../models/upstream/embedding/translator.ts";
import type { EngineTurn, WireBatch } from "../../engine/wire.ts";
import { admitDirectly } from "./direct-admission.ts";
import type { DirectTurnDeps } from "./direct-call.ts";
import { recordRefusal } from "./direct-refusals.ts";
import { checkEmbedRequest, embedParser, toEmbedTurn } from "./embed-request.ts";
import { deadlineExceeded, timeLimitMs } from "./time-limit.ts";

export interface EmbedDeps extends DirectTurnDeps {
  /** Runs an embeddings request through its layers. */
  readonly embed: Turn;
  readonly config: DirectTurnDeps["config"] & Pick<CurrentConfig, "catalog">;
}

type Handler = ServiceImpl<typeof InferenceService>["embed"];

export const embedHandler =
  (deps: EmbedDeps): Handler =>
  async (request, context) => {
    const { requestHeader, responseHeader, signal } = context;
    if (deps.pressure.refuses()) throw overloadedFault();
    const keyHash = callerKeyHash(requestHeader, deps.token);
    // A gateway has already checked the scalars, scanned the input and counted the request; other clients are not trusted to have done so.
    const isGateway = isServiceToken(requestHeader.get(serviceTokenHeader), deps.token);
    const turn = toEmbedTurn(request);
    let admission: Admission | undefined;
    try {
      checkEmbedRequest(request);
      if (!isGateway) ({ admission } = await admitDirectly(deps, keyHash, responseHeader));
    } catch (error) {
      recordRefusal(deps, { keyHash, request: turn, context }, error);
      throw error;
    }
    admission?.countTokens(turn);
    const limitMs = Math.min(
      context.timeoutMs() ?? Number.POSITIVE_INFINITY,
      (isGateway && request.deadlineMs) || Number.POSITIVE_INFINITY,
      timeLimitMs(deps.config, turn),
    );
    const generationId = newId("gen-");
    const call = new EmbedCall(request, generationId);
    const timer = setTimeout(() => call.cancel(deadlineExceeded()), limitMs);
    const leave = () => call.cancel(signal.reason);
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave);
    try {
      await deps.engine.run(
        turn,
        {
          keyHash,
          requestId: requestIdIn(requestHeader) ?? newId("req_"),
          generationId,
          policyGeneration: isGateway ? request.policyGeneration : deps.access.generation,
          deadline: performance.now() + limitMs,
          trace: traceHeadersOf(requestHeader),
          scanned: isGateway,
        },
        call,
        {
          parse: embedParser(request, deps.config),
          turn: (parsed, scope) => call.collect(deps.embed(parsed, scope)),
        },
      );
      if (signal.aborted) throw signal.reason;
      return call.answer;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", leave);
      admission?.meter?.note(call.events);
      admission?.leave(signal.aborted);
      deps.beforeSending();
    }
  };

/** Receives the events of one embeddings call, and collects its vectors. */
class EmbedCall implements EngineTurn {
  readonly #abort = new TurnAbort();
  readonly #model: string;
  readonly #generationId: string;
  #vectors: readonly string[] = [];
  /** Events received: the start, and the end with usage and receipt. */
  readonly events: WireBatch["events"] = [];

  constructor({ model }: EmbedRequest, generationId: string) {
    this.#model = model;
    this.#generationId = generationId;
  }

  get signal(): TurnAbort {
    return this.#abort;
  }

  cancel(reason: unknown): void {
    this.#abort.abort(reason);
  }

  accepted(): void {}

  take({ events }: WireBatch): undefined {
    this.events.push(...events);
  }

  collect(answer: Answer): Answer {
    return new VectorsTaken(answer, (vectors) => {
      this.#vectors = vectors;
    });
  }

  get answer(): EmbedResponse {
    const response = create(EmbedResponseSchema, {
      embeddingsJson: this.#vectors.map((json) => Buffer.from(json)),
      model: this.#model,
      generationId: this.#generationId,
    });
    for (const { event } of this.events) {
      if (event.case === "start") response.model = event.value.model;
      if (event.case !== "end") continue;
      if (event.value.usage) response.usage = event.value.usage;
      response.serviceMetadataJson = event.value.serviceMetadataJson;
    }
    return response;
  }
}

/** Takes the vectors out of an answer, because the contract has no event for them. */
class VectorsTaken extends ForwardedAnswer {
  readonly #take: (vectors: readonly string[]) => void;

  constructor(answer: Answer, take: (vectors: readonly string[]) => void) {
    super(answer);
    this.#take = take;
  }

  protected override passed(batch: Batch): Batch {
    const vectors = readVectors(batch);
    if (vectors.length > 0) this.#take(vectors);
    return batch.filter(({ type }) => type !== "item.end");
  }
}
