/** The words of a guardrail in JSON, each with its enum value in messages and its properties. */
import {
  AppliesTo,
  ErrorPolicy,
  FilterAction,
  GuardrailMode,
  ScanScope,
} from "../../gen/sluice/admin/v1/access_service_pb.ts";
import { type Tone, EnumWords } from "./words.ts";

interface ActionTraits {
  readonly value: FilterAction;
  /** Past participle, by which receipts, trials and alerts name the decision. */
  readonly done: string;
  /** Effect of the action, as a clause for descriptions. */
  readonly does: string;
  readonly tone: Tone;
  /** Whether the action refuses a request, or ends an answer. */
  readonly stops: boolean;
  /** Whether the action replaces the matched part of a text; a rule in words has no such part. */
  readonly redacts: boolean;
}

/** Actions of a rule on matched text, most severe first. */
const actions = {
  block: {
    value: FilterAction.BLOCK,
    done: "blocked",
    does: "refuses with 403",
    tone: "danger",
    stops: true,
    redacts: false,
  },
  redact: {
    value: FilterAction.REDACT,
    done: "redacted",
    does: "replaces the match by a placeholder",
    tone: "warn",
    stops: false,
    redacts: true,
  },
  flag: { value: FilterAction.FLAG, done: "flagged", does: "reports it", tone: "warn", stops: false, redacts: false },
} as const satisfies Readonly<Record<string, ActionTraits>>;

export type FilterActionWord = keyof typeof actions;
export type AppliesToWord = "input" | "output" | "both";
export type ModeWord = "enforce" | "audit";
export type ErrorPolicyWord = "closed" | "open";
export type ScanScopeWord = "all_messages" | "user_only";

export const filterActions = new EnumWords<FilterActionWord, ActionTraits>(actions);

/** An action with its properties. */
export type RuleAction = ReturnType<typeof filterActions.of>;

/** Whether the action changes neither requests nor answers. */
export const onlyReports = ({ stops, redacts }: RuleAction): boolean => !stops && !redacts;

/**
 * The action for an enum value. A value unknown to this build counts as block: a newer admin-svc may send it, and to
 * ignore it would weaken the guardrail.
 */
export const actionOrBlock = (value: FilterAction): RuleAction =>
  filterActions.ofValue(value) ?? filterActions.of("block");

/** Actions allowed for a rule in words, which matches no particular part of a text. */
export const judgeActions: readonly RuleAction[] = filterActions.rows.filter(({ redacts }) => !redacts);

/** Console colours for the decisions of a guardrail about a text. */
export const decisions: Readonly<Record<string, Tone>> = {
  allowed: "good",
  ...Object.fromEntries(filterActions.rows.toReversed().map(({ done, tone }) => [done, tone])),
  error: "danger",
};

export const appliesTo = new EnumWords<AppliesToWord, { readonly value: AppliesTo }>({
  input: { value: AppliesTo.INPUT },
  output: { value: AppliesTo.OUTPUT },
  both: { value: AppliesTo.BOTH },
});

interface ModeTraits {
  readonly value: GuardrailMode;
  /** Whether the guardrail acts; otherwise it only reports what it would have done. */
  readonly acts: boolean;
}

export const modes = new EnumWords<ModeWord, ModeTraits>({
  enforce: { value: GuardrailMode.ENFORCE, acts: true },
  audit: { value: GuardrailMode.AUDIT, acts: false },
});

export const errorPolicies = new EnumWords<ErrorPolicyWord, { readonly value: ErrorPolicy }>({
  closed: { value: ErrorPolicy.CLOSED },
  open: { value: ErrorPolicy.OPEN },
});

export const scanScopes = new EnumWords<ScanScopeWord, { readonly value: ScanScope }>({
  all_messages: { value: ScanScope.ALL_MESSAGES },
  user_only: { value: ScanScope.USER_ONLY },
});
