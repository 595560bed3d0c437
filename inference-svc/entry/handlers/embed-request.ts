/** Parses embeddings requests, both to run them and for their dry runs. */
import { create } from "@bufbuild/protobuf";
import { embeddingsRequest } from "@sluice/proto/contract/request/embeddings.js";
import { preferencesJson } from "@sluice/proto/contract/request/preferences.js";
import type { EmbedRequest } from "@sluice/proto/gen/sluice/inference/v1/embed_pb.js";
import { type RunTurnRequest, RunTurnRequestSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Problems } from "@sluice/proto/lib/validation/problems.js";
import type { CurrentConfig } from "../../engine/current-config.ts";
import type { Pipeline } from "../../engine/engine.ts";
import { parseEmbedding } from "../../turn/parse/embedding.ts";

/** Checks an embeddings request of a caller without a gateway. @throws Fault INVALID_REQUEST */
export function checkEmbedRequest(request: EmbedRequest): void {
  const problems = new Problems();
  const { model, encodingFormat, dimensions, inputType, user, provider } = request;
  embeddingsRequest.check(
    {
      model,
      input: "checked where it is read",
      encoding_format: encodingFormat || null,
      dimensions: dimensions ?? null,
      input_type: inputType || null,
      user: user ?? null,
      provider: provider ? preferencesJson(provider) : null,
    },
    "",
    problems,
  );
  problems.throwIfAny();
}

/** The fields of an embeddings request that all requests have in common: for admission, the receipt and the log line. */
export const toEmbedTurn = ({
  model,
  inputJson,
  user,
  serviceMetadata,
  unknownFields,
  tags,
}: EmbedRequest): RunTurnRequest =>
  create(RunTurnRequestSchema, {
    model,
    inputJson,
    serviceMetadata,
    unknownFields,
    tags,
    door: "embeddings",
    ...(user !== undefined && { user }),
  });

/** A parser of the original embeddings request: the engine's copy has only the common fields. */
export const embedParser =
  (request: EmbedRequest, config: Pick<CurrentConfig, "catalog">): Pipeline["parse"] =>
  (_, { scanned }, { workspaceId }) =>
    parseEmbedding(request, { scanned, names: config.catalog.namesOf(workspaceId) });
