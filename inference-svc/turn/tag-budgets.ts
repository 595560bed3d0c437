/** Budgets of the workspace for tags of a turn. */
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { parseTags, tagsText } from "@sluice/proto/lib/turns/tags.js";

/** A tag of a turn with a budget. */
export interface TagBudget {
  readonly name: string;
  readonly value: string;
  /** Names the budget among those of this process: workspace and tag. */
  readonly owner: string;
}

/** Values by names of tags; undefined stands for every value. */
type BudgetedTags = ReadonlyMap<string, ReadonlySet<string> | undefined>;

const everyValue = "*";
const known = new WeakMap<Caller, BudgetedTags>();

/** @param tags of the turn as text @returns undefined when there is none, as for nearly every turn */
export function tagBudgetsOf(caller: Caller, tags: string): readonly TagBudget[] | undefined {
  if (caller.budgetTags.length === 0 || tags === "") return undefined;
  let budgeted = known.get(caller);
  if (budgeted === undefined) known.set(caller, (budgeted = budgetedTags(caller)));
  const budgets: TagBudget[] = [];
  for (const [name, value] of parseTags(tags, "tags")) {
    if (!budgeted.has(name) || budgeted.get(name)?.has(value) === false) continue;
    budgets.push({ name, value, owner: `${caller.workspaceId} ${tagsText([[name, value]])}` });
  }
  return budgets.length === 0 ? undefined : budgets;
}

function budgetedTags({ budgetTags }: Caller): BudgetedTags {
  const values = new Map<string, Set<string> | undefined>();
  for (const [name, value] of budgetTags.flatMap((text) => parseTags(text, "budget_tags"))) {
    if (value === everyValue) values.set(name, undefined);
    else if (!values.has(name)) values.set(name, new Set([value]));
    else values.get(name)?.add(value);
  }
  return values;
}
