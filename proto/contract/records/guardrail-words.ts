/** The words of a guardrail in JSON, each with its enum value in messages. */
import {
  AppliesTo,
  ErrorPolicy,
  FilterAction,
  GuardrailMode,
  ScanScope,
} from "../../gen/sluice/admin/v1/access_service_pb.ts";

/** Words of a field, the default first. */
export class EnumWords<Word extends string, Value extends number> {
  readonly all: readonly Word[];
  readonly #values: Readonly<Record<Word, Value>>;

  constructor(values: Readonly<Record<Word, Value>>) {
    this.#values = values;
    this.all = Object.keys(values) as Word[];
  }

  valueOf(word: Word): Value {
    return this.#values[word];
  }

  /** Undefined for an unset value, and for a value added by a newer build. */
  wordOf(value: Value): Word | undefined {
    return this.all.find((word) => this.#values[word] === value);
  }
}

export type FilterActionWord = "block" | "redact" | "flag";
export type AppliesToWord = "input" | "output" | "both";
export type ModeWord = "enforce" | "audit";
export type ErrorPolicyWord = "closed" | "open";
export type ScanScopeWord = "all_messages" | "user_only";

export const filterActions = new EnumWords<FilterActionWord, FilterAction>({
  block: FilterAction.BLOCK,
  redact: FilterAction.REDACT,
  flag: FilterAction.FLAG,
});

export const appliesTo = new EnumWords<AppliesToWord, AppliesTo>({
  input: AppliesTo.INPUT,
  output: AppliesTo.OUTPUT,
  both: AppliesTo.BOTH,
});

export const modes = new EnumWords<ModeWord, GuardrailMode>({
  enforce: GuardrailMode.ENFORCE,
  audit: GuardrailMode.AUDIT,
});

export const errorPolicies = new EnumWords<ErrorPolicyWord, ErrorPolicy>({
  closed: ErrorPolicy.CLOSED,
  open: ErrorPolicy.OPEN,
});

export const scanScopes = new EnumWords<ScanScopeWord, ScanScope>({
  all_messages: ScanScope.ALL_MESSAGES,
  user_only: ScanScope.USER_ONLY,
});
