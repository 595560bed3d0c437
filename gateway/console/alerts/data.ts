/** Alert rules: titles of their conditions, and the calls that read and change rules. */
import { type Schemas, api, unwrapAnswer } from "../api/client.ts";
import { everyPage } from "../api/lists.ts";
import { type View, explorerAddress } from "../explorer/address.ts";

export type AlertRule = Schemas["AlertRule"];
export type RuleSettings = Schemas["AlertRuleSettings"];
type Condition = RuleSettings["condition"];

/** Conditions of an alert rule, each with its title and the unit of its threshold. */
export const conditions: readonly (readonly [Condition, title: string, unit: string])[] = [
  ["spend", "Spend above", "USD"],
  ["spend_change", "Spend up on the window before by", "%"],
  ["error_rate", "Error rate above", "%"],
  ["latency_p95", "p95 of the duration above", "ms"],
  ["first_token_p95", "p95 of the first token above", "ms"],
  ["provider_down", "Provider down", ""],
  ["budget_forecast", "Budget reached before its reset: forecast above", "%"],
];

export const conditionOf = (condition: Condition) =>
  conditions.find(([word]) => word === condition) ?? ([condition, condition, ""] as const);

export const loadRules = () => everyPage((query) => unwrapAnswer(api.GET("/alert-rules", { params: { query } })));

export const loadChannels = async () => (await unwrapAnswer(api.GET("/alert-channels"))).data;

const at = (name: string) => ({ params: { path: { name } } });

export const putRule = (name: string, body: RuleSettings) =>
  unwrapAnswer(api.PUT("/alert-rules/{name}", { ...at(name), body }));

export const deleteRule = (name: string) => unwrapAnswer(api.DELETE("/alert-rules/{name}", at(name)));

export const testRule = async (name: string) =>
  (await unwrapAnswer(api.POST("/alert-rules/{name}/test", at(name)))).data;

export const loadHistory = async (name: string) =>
  (await unwrapAnswer(api.GET("/alert-rules/{name}/history", at(name)))).data;

type Filters = NonNullable<RuleSettings["filters"]>;

const filterNames = [
  "key",
  "model",
  "provider",
  "user",
  "status",
  "error",
  "guardrail",
  "door",
  "operation",
  "task",
  "session",
  "tags",
] as const satisfies readonly (keyof Filters & keyof View)[];

/** The filters of an explorer view that an alert rule can have. */
export const filtersOfView = (view: View): Filters =>
  Object.fromEntries(filterNames.flatMap((name) => (view[name] === "" ? [] : [[name, view[name]]]))) as Filters;

/** Address of the explorer with the filters of an alert rule. */
export const viewOf = ({ filters }: Pick<AlertRule, "filters">): string => explorerAddress({ ...filters, last: "24h" });

/** A figure of an alert in the unit of its condition. */
export function formatFigure(condition: Condition, value: number | null): string {
  if (value === null) return "–";
  const rounded = Number(value.toPrecision(4)).toLocaleString("en-US");
  const [, , unit] = conditionOf(condition);
  return unit === "USD" ? `$${rounded}` : unit === "" ? rounded : `${rounded} ${unit}`;
}
