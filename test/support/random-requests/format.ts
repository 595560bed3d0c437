/** A format of requests to models, as the fuzz generates, reads and answers it. */
import type { FaultForm } from "@sluice/gateway/edge/http/errors.js";
import type { DoorContext, DoorTurn } from "@sluice/gateway/edge/turns/door.js";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import type { Dialect } from "@sluice/inference-svc/models/upstream/dialect.js";
import type { JsonMember } from "@sluice/proto/lib/json/span.js";
import type { Random } from "../random.ts";
import type { JsonObject } from "./json.ts";

/** The words of an answer, however it was written: texts, then calls. */
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
  /** The forms of the answer; absent where the operation does not answer with a turn. */
  readonly answer?: DoorTurn;
}

export interface FuzzedFormat {
  /**
   * Reads a body.
   * @param throughWire whether the request is converted to its form between the processes
   * @throws Fault when the body is refused; anything else is a bug
   */
  readonly accept: (body: Buffer, members: readonly JsonMember[], throughWire: boolean) => AcceptedRequest;
  readonly faults: Pick<FaultForm, "body">;
  /** The provider formats used for sending the turn. */
  readonly dialects: readonly Dialect[];
  /** Names of the schemas in the document; refusing frames have none. */
  readonly schemas: { readonly request: string; readonly error?: (status: number) => string };
  /** Fields of the body. */
  readonly fields: ReadonlySet<string>;
  /** Field of the conversation, and a short one in the format. */
  readonly conversation: { readonly field: string; readonly short: unknown };
  /** Fields refused in nearly every request: they come up less often than others. */
  readonly rare: ReadonlySet<string>;
  /** Makes the parts of a random body refer to one another like those of a real one, so that it passes the first checks. */
  readonly repair: (body: JsonObject, random: Random) => void;
  /** Differences between the beginning of an answer and the document; absent where an answer does not repeat its request. */
  readonly problemsOfBeginning?: (body: Buffer, members: readonly JsonMember[]) => readonly string[];
  /** Reads an answer like a client. @throws for an answer unlike the document's; absent for the format whose events are checked by other tests */
  readonly folds?: { readonly whole: (json: string) => AnswerWords; readonly stream: (text: string) => AnswerWords };
}
