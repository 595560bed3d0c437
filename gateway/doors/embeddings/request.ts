/** Parses the body of POST /embeddings into its RPC message. The input is copied from the client's bytes. */
import type { IncomingHttpHeaders } from "node:http";
import { embeddingsRequest } from "@sluice/proto/contract/request/embeddings.js";
import { type PreferencesJson, preferencesMessage } from "@sluice/proto/contract/request/preferences.js";
import type { EmbedRequest } from "@sluice/proto/gen/sluice/inference/v1/embed_pb.js";
import type { Compat, Limits } from "@sluice/proto/config/config-file.js";
import type { Access } from "@sluice/proto/lib/policy/access.js";
import type { JsonMember } from "@sluice/proto/lib/json/span.js";
import { Problems } from "@sluice/proto/lib/validation/problems.js";
import { readValue, subtreeBytes } from "../../edge/turns/json.ts";
import { readTags, readTimeout, wantsServiceMetadata } from "../../edge/turns/prepare.ts";
import { KnownFields } from "../../edge/turns/unknown-fields.ts";

/** Settings of the process for parsing embeddings requests. */
export interface EmbeddingsReading {
  readonly access: Pick<Access, "generation">;
  readonly limits: Pick<Limits, "body_bytes" | "turn_ms">;
  readonly compat: Compat;
}

const known = new KnownFields(Object.keys(embeddingsRequest.fields));

/** @throws Fault INVALID_REQUEST with every problem except those in the input, which inference-svc checks */
export function parseEmbeddings(
  { access, limits, compat }: EmbeddingsReading,
  headers: IncomingHttpHeaders,
  body: Buffer,
  members: readonly JsonMember[],
): EmbedRequest {
  const input = members.find(({ key }) => key === "input");
  const problems = new Problems();
  const fields = Object.fromEntries(
    members.flatMap(({ key, start, end }) =>
      Object.hasOwn(embeddingsRequest.fields, key) && key !== "input" ? [[key, readValue(body, { start, end })]] : [],
    ),
  ) as unknown as EmbeddingFields;
  embeddingsRequest.check({ ...fields, ...(input && { input: "" }) }, "", problems);
  problems.throwIfAny();
  return {
    $typeName: "sluice.inference.v1.EmbedRequest",
    model: fields.model,
    inputJson: subtreeBytes(body, input),
    encodingFormat: fields.encoding_format ?? "",
    dimensions: fields.dimensions ?? undefined,
    inputType: fields.input_type ?? "",
    user: fields.user ?? undefined,
    provider: fields.provider ? preferencesMessage(fields.provider) : undefined,
    serviceMetadata: wantsServiceMetadata(headers, compat),
    unknownFields: known.unknownAmong(members),
    policyGeneration: access.generation,
    tags: readTags(headers),
    deadlineMs: Math.min(readTimeout(headers) ?? Number.POSITIVE_INFINITY, limits.turn_ms),
  };
}

/** The fields of a body after the check of its shape. */
interface EmbeddingFields {
  readonly model: string;
  readonly encoding_format?: string | null;
  readonly dimensions?: number | null;
  readonly input_type?: string | null;
  readonly user?: string | null;
  readonly provider?: PreferencesJson | null;
}
