/** What cannot be said in the format at all: leaving it out would change what was asked. */
import type { TurnRequest } from "../../turn/request.ts";
import type { Refusal, Target } from "../dialect.ts";
import { inputRefusal, toolRefusal } from "../refused.ts";
import { nativeRefusal, runsOf } from "./native.ts";
import { partRefusal } from "./parts.ts";

export const geminiRefusal = (request: TurnRequest, target: Target): Refusal | undefined =>
  toolRefusal(request, runsOf(target)) ?? nativeRefusal(request) ?? inputRefusal(request.input, partRefusal);
