/** The 403 error for a request or answer blocked by a guardrail. */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { AppliedGuardrail } from "../../turn/applied-guardrails.ts";

/** A matched block rule, with the guardrail that contains it. */
export interface BlockRule extends AppliedGuardrail {
  readonly name: string;
}

/**
 * @param message default message, with the rule's name; the guardrail of the first rule may replace it
 * @param rules all matched block rules, at least one
 */
export const buildBlockFault = (message: string, rules: readonly BlockRule[]): Fault =>
  new Fault(FaultReason.GUARDRAIL_BLOCKED, rules[0]?.guardrail.blockedMessage ?? message, {
    origin: FaultOrigin.CLIENT,
    metadata: { patterns: [...new Set(rules.map(({ name }) => name))] },
  });
