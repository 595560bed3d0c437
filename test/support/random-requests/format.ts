/** A format of requests to models, as the fuzzer generates, reads and answers it. */
import type { FaultForm } from "@sluice/gateway/edge/http/errors.js";
import type { DoorContext, DoorTurn } from "@sluice/gateway/edge/turns/door.js";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import type { Dialect } from "@sluice/inference-svc/models/upstream/dialect.js";
import type { JsonMember } from "@sluice/proto/lib/json/span.js";
import type { Random } from "../random.ts";
import type { JsonObject } from "./json.ts";

/** The content of an answer, however it was written: texts, then calls. */
export type AnswerWords = readonly string[];

export const fuzzDoorContext: DoorContext = {
  sessionId: undefined,
  serviceMetadata: false,
  headers: {},
  remember: undefined,
  compat: { emit_metadata_alias: null, fill_defaults: false } as unknown as DoorContext["compat"],
};

export interface AcceptedRequest {
  readonly turn: TurnRequest;
  /** The door's folds for the answer; absent if the operation does not answer with a turn. */
  readonly answer?: DoorTurn;
}

export interface FuzzedFormat {
  /**
   * Reads a body.  @param throughWire whether the request is converted to its form between the processes and back  @throws Fault if the body is
   * refused; any other error is a bug
   */
  readonly accept: (body: Buffer, members: readonly JsonMember[], throughWire: boolean) => AcceptedRequest;
  readonly faults: Pick<FaultForm, "body">;
  /** Dialects into which the turn is translated. */
  readonly dialects: readonly Dialect[];
  /** Names of schemas in the document; WebSocket frames have none for errors. */
  readonly schemas: { readonly request: string; readonly error?: (status: number) => string };
  /** Fields of the body. */
  readonly fields: ReadonlySet<string>;
  /** Name of the field with the conversation, and a short conversation in the format. */
  readonly conversation: { readonly field: string; readonly short: unknown };
  /** Fields that make a server refuse nearly every request, and so are generated less often. */
  readonly rare: ReadonlySet<string>;
  /** Makes the parts of a random body refer to one another as in a real one, so it passes the first checks. */
  readonly repair: (body: JsonObject, random: Random) => void;
  /** Differences between the beginning of an answer and the document; absent if an answer does not repeat its request. */
  readonly problemsOfBeginning?: (body: Buffer, members: readonly JsonMember[]) => readonly string[];
  /** Reads an answer as a client does. @throws for an answer that differs from the document; absent for the format whose events other tests check */
  readonly folds?: { readonly whole: (json: string) => AnswerWords; readonly stream: (text: string) => AnswerWords };
}
