/** Parses requests for the engine with data that only this process has: aliases of tool types, and keyed hashes that replace names. */
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { ConfigFile } from "@sluice/proto/config/config-file.js";
import type { Identities } from "../identity.ts";
import type { TurnRequest } from "../request.ts";
import type { Requester } from "../requester.ts";
import { type SlugLookup, parseTurn } from "./turn-request.ts";

/** The current configuration, read for each request because a reload replaces it. */
export interface ParserConfig {
  readonly file: Pick<ConfigFile, "compat">;
  readonly catalog: { namesOf(workspaceId: string): SlugLookup };
}

export class RequestParser {
  readonly #config: ParserConfig;
  readonly #identities: Identities;

  constructor(config: ParserConfig, identities: Identities) {
    this.#config = config;
    this.#identities = identities;
  }

  /** Parses a request. @throws Fault INVALID_REQUEST with every problem and its path */
  readonly parse = (
    request: RunTurnRequest,
    { keyHash, scanned }: Pick<Requester, "keyHash" | "scanned">,
    { workspaceId }: Pick<Caller, "workspaceId">,
  ): TurnRequest =>
    parseTurn(request, {
      scanned,
      owner: keyHash,
      names: this.#config.catalog.namesOf(workspaceId),
      aliases: this.#config.file.compat.tool_type_aliases,
      identityHash: this.#identities.hashUser(keyHash, request),
      promptCacheKey: this.#identities.hashCacheKey(keyHash, request),
    });
}
