/** Budgets of the workspace for tags of a turn. */
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { parseTags, tagsText } from "@sluice/proto/lib/turns/tags.js";

/** A tag of a turn with a budget. */
export interface TagBudget {
  readonly name: string;
  readonly value: string;
  /** Names the account of the value among those of this process: workspace and tag. */
  readonly owner: string;
  /** Names the account of values without one of their own, which may pay for this one; undefined for a value with entries of its own. */
  readonly shared: string | undefined;
}

interface BudgetedValues {
  /** Values with entries of their own. */
  readonly named: Set<string>;
  /** Whether there is an entry for every value. */
  isOpen: boolean;
}

/** Values by names of tags. */
type BudgetedTags = ReadonlyMap<string, BudgetedValues>;

const everyValue = "*";
const known = new WeakMap<Caller, BudgetedTags>();

/** @param tags of the turn as text @returns undefined when there is none, as for nearly every turn */
export function tagBudgetsOf(caller: Caller, tags: string): readonly TagBudget[] | undefined {
  if (caller.budgetTags.length === 0 || tags === "") return undefined;
  let budgeted = known.get(caller);
  if (budgeted === undefined) known.set(caller, (budgeted = budgetedTags(caller)));
  const budgets: TagBudget[] = [];
  for (const [name, value] of parseTags(tags, "tags")) {
    const values = budgeted.get(name);
    if (values === undefined) continue;
    const isNamed = values.named.has(value);
    if (!isNamed && !values.isOpen) continue;
    const owner = tagAccount(caller, tagsText([[name, value]]));
    budgets.push({ name, value, owner, shared: isNamed ? undefined : sharedAccount(caller, name) });
  }
  return budgets.length === 0 ? undefined : budgets;
}

/** @param tag as text, as answers of the budgets name it. @returns the name of its account among those of this process */
export const tagAccount = ({ workspaceId }: Pick<Caller, "workspaceId">, tag: string): string =>
  `${workspaceId} ${tag}`;

const sharedAccount = (caller: Caller, name: string): string => tagAccount(caller, tagsText([[name, everyValue]]));

function budgetedTags({ budgetTags }: Caller): BudgetedTags {
  const budgeted = new Map<string, BudgetedValues>();
  for (const [name, value] of budgetTags.flatMap((text) => parseTags(text, "budget_tags"))) {
    const values = budgeted.get(name) ?? { named: new Set(), isOpen: false };
    budgeted.set(name, values);
    if (value === everyValue) values.isOpen = true;
    else values.named.add(value);
  }
  return budgeted;
}
