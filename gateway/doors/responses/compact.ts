/** The door of POST /responses/compact: a turn with a compaction trigger at its end, and an answer that replaces the client's input. */
import { basePath } from "@sluice/proto/contract/operations/operation.js";
import { compactResponse } from "../../contract/operations/compaction.ts";
import type { TurnEnd, TurnEvent, Usage } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { scanObject } from "@sluice/proto/lib/json/scan.js";
import type { JsonMember } from "@sluice/proto/lib/json/span.js";
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import { serviceMetadataMembers } from "@sluice/proto/lib/responses/service-metadata.js";
import { textOf } from "@sluice/proto/lib/json/text.js";
import type { ResponseIdentity } from "@sluice/proto/lib/responses/identity.js";
import { usageJson, withheldUsageJson } from "@sluice/proto/lib/responses/usage.js";
import { responseFaults } from "../../edge/http/errors.ts";
import type { Door, WholeAnswer } from "../../edge/turns/door.ts";
import { readResponse } from "./door.ts";
import { readInputItems } from "./items.ts";

export const compactDoor: Door = {
  name: "responses",
  path: `${basePath}${compactResponse.path}`,
  unparsed: "input",
  repeats: true,
  decidingHeaders: [],
  refersToItems: true,
  faults: responseFaults,
  read(body, members, context) {
    const bodyWithTrigger = withTrigger(body, members);
    const { request, identity } = readResponse(bodyWithTrigger, scanObject(bodyWithTrigger, "body"), context);
    if (request.stream) throw invalid("stream", "a compaction is one object, never a stream");
    const whole = () => new CompactedObject(identity);
    return { request, whole, stream: whole as never };
  },
};

const trigger = '{"type":"compaction_trigger"}';

/** The body of POST /responses with the same effect. */
function withTrigger(body: Buffer, members: readonly JsonMember[]): Buffer {
  const kept = members.filter(({ key }) => key !== "input");
  const written = kept.map(({ key, start, end }) => `${JSON.stringify(key)}:${body.toString("utf8", start, end)}`);
  const items = readInputItems(body, members);
  if (items === "") throw invalid("input", "holds nothing to compact");
  return Buffer.from(`{${[...written, `"input":[${items},${trigger}]`].join(",")}}`);
}

class CompactedObject implements WholeAnswer {
  readonly #identity: ResponseIdentity;
  readonly #output: string[] = [];
  #end: TurnEnd | undefined = undefined;
  #usage: Usage | undefined = undefined;

  constructor(identity: ResponseIdentity) {
    this.#identity = identity;
  }

  get withheldUsageJson(): string | undefined {
    return this.#usage && withheldUsageJson(this.#usage);
  }

  apply(event: TurnEvent["event"]): void {
    if (event.case === "itemEnd") this.#output.push(textOf(event.value.itemJson));
    else if (event.case === "end") this.#end = event.value;
    else if (event.case === "usage") this.#usage = event.value;
  }

  json(): string | undefined {
    if (!this.#end) return undefined;
    const { id, createdAt, metadataAlias } = this.#identity;
    return (
      `{"id":"${id}","object":"response.compaction","created_at":${createdAt},"output":[${this.#output.join(",")}]` +
      `,"usage":${usageJson(this.#end.usage)}` +
      `${serviceMetadataMembers(this.#end.serviceMetadataJson, metadataAlias)}}`
    );
  }
}
